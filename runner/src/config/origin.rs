//! Where each value comes from, and the settings as who looks at a runner sees them.

use std::{collections::BTreeMap, fmt};

use super::{
    Config, Refusal,
    capabilities::{PLUGINS, SECRETS},
    cron::CRON,
    difference::{differences, plain},
    keys::{KIND, Key, Named, TABLES},
    queue::QUEUE,
    value::Value,
};
use crate::api::{Setting, SettingsInForce};

/// Where a value comes from that is not the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A line of the file.
    File(usize),
    /// A variable of the environment.
    Environment(&'static str),
    Flag(&'static str),
}

impl Origin {
    fn says(self) -> String {
        match self {
            Self::File(_) => "file".to_owned(),
            Self::Environment(name) => format!("environment variable {name}"),
            Self::Flag(name) => format!("flag {name}"),
        }
    }
}

/// By the key with its table. Settings are the same when their values are, wherever these come from.
#[derive(Debug, Clone, Default)]
pub struct Origins(BTreeMap<String, Origin>);

impl PartialEq for Origins {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Origins {
    pub(super) fn put(&mut self, key: &str, origin: Origin) {
        self.0.insert(key.to_owned(), origin);
    }

    fn of(&self, key: &str) -> String {
        let origin = self.0.get(key);
        origin.map_or_else(|| "default".to_owned(), |origin| origin.says())
    }
}

impl Config {
    /// A refusal of the value of a key, at the place that it comes from.
    #[must_use]
    pub fn refusal(&self, key: &str, why: impl fmt::Display) -> Refusal {
        let place = match (self.origins.0.get(key), &self.file) {
            (Some(Origin::File(line)), Some(file)) => format!("{}:{line}", file.display()),
            (Some(Origin::File(_)), None) | (None, _) => "default".to_owned(),
            (Some(Origin::Environment(name)), _) => format!("environment variable {name}"),
            (Some(Origin::Flag(name)), _) => (*name).to_owned(),
        };
        let why = format!("`{key}`: {why}");
        Refusal { place, why }
    }
}

/// What is in force, given the settings of the start and those that were read last: what a reload does not
/// take in is as it was at the start, and waits.
#[must_use]
pub fn in_force(start: &Config, last: &Config) -> SettingsInForce {
    let mut waiting = differences(start, last);
    waiting.retain(|one| !one.at_once);
    let mut settings = rows(last);
    for one in &waiting {
        match settings.iter_mut().find(|row| row.key == one.key) {
            Some(row) => {
                row.value.clone_from(&one.before);
                row.origin = start.origins.of(&one.key);
            }
            None => settings.push(Setting {
                key: one.key.clone(),
                value: one.before.clone(),
                origin: start.origins.of(&one.key),
            }),
        }
    }
    SettingsInForce {
        file: last.file.as_ref().map(|file| file.display().to_string()),
        settings,
        waiting,
    }
}

/// Every key, those that are left open too, in the order of `config show`.
fn rows(config: &Config) -> Vec<Setting> {
    let mut rows = Vec::new();
    for table in TABLES {
        add(&mut rows, config, table.name, (table.keys, config));
    }
    named(&mut rows, config, &KIND, &config.kinds);
    named(&mut rows, config, &QUEUE, &config.queues);
    named(&mut rows, config, &CRON, &config.cron);
    named(&mut rows, config, &PLUGINS, &config.plugin);
    named(&mut rows, config, &SECRETS, &config.secrets);
    rows
}

fn named<S>(
    rows: &mut Vec<Setting>,
    config: &Config,
    tables: &Named<S>,
    all: &BTreeMap<String, S>,
) {
    for (name, settings) in all {
        let title = format!("{}.{}", tables.name, plain(name));
        add(rows, config, &title, (tables.keys, settings));
    }
}

fn add<S>(
    rows: &mut Vec<Setting>,
    config: &Config,
    title: &str,
    (keys, settings): (&[Key<S>], &S),
) {
    rows.extend(keys.iter().map(|key| {
        let name = format!("{title}.{}", key.name);
        let value = (key.get)(settings).map(|value| match value {
            // What handlers are given is not for everybody who looks.
            Value::Pairs(pairs) if !pairs.is_empty() => {
                format!("{} keys, not shown", pairs.len())
            }
            value => value.as_toml(key.form),
        });
        let origin = config.origins.of(&name);
        Setting {
            key: name,
            value,
            origin,
        }
    }));
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsString, path::Path};

    use super::*;
    use crate::config::{Overrides, load, parse};

    fn row<'s>(seen: &'s SettingsInForce, key: &str) -> (Option<&'s str>, &'s str) {
        let row = seen.settings.iter().find(|row| row.key == key);
        let row = row.unwrap_or_else(|| panic!("{key} is missing"));
        (row.value.as_deref(), &row.origin)
    }

    #[test]
    fn each_value_says_where_it_comes_from() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sandhog.toml");
        let text = "[runner]\ndata = \"d\"\nslots = 2\nplugins = \"p\"\n[kind.\"a.b\"]\ntimeout = \"1s\"\nconfig = { key = \"hush\" }\n";
        std::fs::write(&file, text).unwrap();
        let flags = Overrides {
            config: Some(file),
            listen: Some("off".to_owned()),
            ..Overrides::default()
        };
        let environment = |name: &str| match name {
            "SANDHOG_DATA" => Some(OsString::from("elsewhere")),
            "SANDHOG_HTTP_TOKEN" => Some(OsString::from("0123456789abcdef0123")),
            _ => None,
        };
        let config = load(&flags, environment).unwrap();
        let seen = in_force(&config, &config);
        for (key, value, origin) in [
            ("runner.slots", Some("2"), "file"),
            (
                "runner.data",
                Some("\"elsewhere\""),
                "environment variable SANDHOG_DATA",
            ),
            ("http.listen", Some("\"off\""), "flag --listen"),
            ("runner.cancel_grace", Some("\"5s\""), "default"),
            ("dead.keep", None, "default"),
            ("kind.\"a.b\".timeout", Some("\"1s\""), "file"),
            ("kind.\"a.b\".config", Some("1 keys, not shown"), "file"),
            ("kind.\"a.b\".queue", None, "default"),
        ] {
            assert_eq!(row(&seen, key), (value, origin), "{key}");
        }
        let shown = format!("{seen:?}");
        assert!(
            !shown.contains("hush") && !shown.contains("0123456789"),
            "{shown}"
        );
    }

    #[test]
    fn what_waits_for_a_start_is_shown_as_it_was_at_the_last_one() {
        let read = |text: &str| parse(Path::new("s.toml"), text).unwrap();
        let start = read("[runner]\nslots = 2\n[limits]\ntimeout = \"1s\"");
        let last =
            read("[runner]\nslots = 3\n[limits]\ntimeout = \"2s\"\n[store]\ninterval = \"1s\"");
        let seen = in_force(&start, &last);
        assert_eq!(row(&seen, "runner.slots"), (Some("2"), "file"));
        assert_eq!(row(&seen, "limits.timeout"), (Some("\"2s\""), "file"));
        assert_eq!(row(&seen, "store.interval"), (Some("\"100ms\""), "default"));
        let waiting: Vec<String> = seen.waiting.iter().map(ToString::to_string).collect();
        assert_eq!(
            waiting,
            [
                "runner.slots: 2 -> 3 (from the next start on)",
                "store.interval: \"100ms\" -> \"1s\" (from the next start on)",
            ]
        );
    }
}
