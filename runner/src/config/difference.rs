//! What differs between two readings of the settings, and which of it a running runner takes in.

use std::collections::BTreeMap;

use super::{
    Config,
    capabilities::{PLUGINS, SECRETS},
    cron::CRON,
    keys::{KIND, Key, Named, TABLES},
    queue::QUEUE,
    reload::Reload,
    value::quote,
};
use crate::api::Difference;

/// What differs, in the order of `config show`.
#[must_use]
pub fn differences(before: &Config, after: &Config) -> Vec<Difference> {
    let mut found = Vec::new();
    for table in TABLES {
        for key in table.keys {
            let values = (shown(key, before), shown(key, after));
            found.extend(difference(table.name, table.reload, key.name, values));
        }
    }
    of_named(&mut found, &KIND, &before.kinds, &after.kinds);
    of_named(&mut found, &QUEUE, &before.queues, &after.queues);
    of_named(&mut found, &CRON, &before.cron, &after.cron);
    of_named(&mut found, &PLUGINS, &before.plugin, &after.plugin);
    of_named(&mut found, &SECRETS, &before.secrets, &after.secrets);
    found
}

fn of_named<S: Default>(
    found: &mut Vec<Difference>,
    tables: &Named<S>,
    before: &BTreeMap<String, S>,
    after: &BTreeMap<String, S>,
) {
    let default = S::default();
    let added = after.keys().filter(|name| !before.contains_key(*name));
    for name in before.keys().chain(added) {
        let title = format!("{}.{}", tables.name, plain(name));
        let (before, after) = (before.get(name), after.get(name));
        let known = found.len();
        for key in tables.keys {
            // What is not there is as if it were the default, but for what has none.
            let shown = |settings: Option<&S>| match settings {
                None if tables.must.contains(&key.name) => None,
                settings => shown(key, settings.unwrap_or(&default)),
            };
            let values = (shown(before), shown(after));
            found.extend(difference(&title, tables.reload, key.name, values));
        }
        // A table without keys still says something: that queue, that plugin.
        let said = |settings: Option<&S>| settings.map(|_| "an empty table".to_owned());
        if found.len() == known && before.is_some() != after.is_some() {
            found.push(Difference {
                key: title,
                before: said(before),
                after: said(after),
                at_once: true,
            });
        }
    }
}

fn shown<S>(key: &Key<S>, settings: &S) -> Option<String> {
    let value = (key.get)(settings)?;
    Some(value.as_toml(key.form))
}

fn difference(
    title: &str,
    reload: Reload,
    key: &str,
    (before, after): (Option<String>, Option<String>),
) -> Option<Difference> {
    (before != after).then(|| Difference {
        key: format!("{title}.{key}"),
        before,
        after,
        at_once: reload.takes(key),
    })
}

/// A name as it stands in a table's title: in quotes where it must.
pub(super) fn plain(name: &str) -> String {
    match name.contains(['.', ':']) {
        true => quote(name),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::parse;

    fn told(before: &str, after: &str) -> Vec<String> {
        let read = |text: &str| parse(Path::new("s.toml"), text).unwrap();
        let found = differences(&read(before), &read(after));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_key_is_told_with_both_values_and_when_it_counts() {
        for (before, after, says) in [
            ("", "", &[][..]),
            (
                "[queue.mail]\nweight = 2\nconcurrency = 4",
                "[queue.mail]\nweight = 2\nconcurrency = 8",
                &["queue.mail.concurrency: 4 -> 8"],
            ),
            (
                "[runner]\nworkers = 2\n[limits]\ntimeout = \"30s\"\nmemory = \"64MiB\"",
                "[runner]\nworkers = 3\n[limits]\ntimeout = \"5s\"\nmemory = \"32MiB\"",
                &[
                    "runner.workers: 2 -> 3 (from the next start on)",
                    "limits.timeout: \"30s\" -> \"5s\"",
                    "limits.memory: \"64MiB\" -> \"32MiB\" (from the next start on)",
                ],
            ),
            (
                "",
                "[kind.\"a.b\"]\ntimeout = \"1s\"\n[kind.c]\nmax_attempts = 2",
                &[
                    "kind.\"a.b\".timeout: nothing -> \"1s\"",
                    "kind.c.max_attempts: nothing -> 2",
                ],
            ),
            (
                "[kind.c]\nmax_attempts = 2\n[queues]\nfirst = [\"a\"]",
                "[plugin.p]\n[queues]\nfirst = [\"a\", \"b\"]",
                &[
                    "queues.first: [\"a\"] -> [\"a\", \"b\"]",
                    "kind.c.max_attempts: 2 -> nothing",
                    "plugin.p: nothing -> an empty table",
                ],
            ),
            (
                "[log]\nlevel = \"warn\"",
                "[log]\nlevel = \"debug\"\nformat = \"json\"",
                &[
                    "log.format: \"text\" -> \"json\" (from the next start on)",
                    "log.level: \"warn\" -> \"debug\"",
                ],
            ),
        ] {
            assert_eq!(told(before, after), says, "{before:?} to {after:?}");
        }
    }
}
