//! The operator's ceiling on what plugins may be granted, and the secrets there are.

use std::{collections::BTreeMap, path::PathBuf};

use super::{
    Config,
    keys::{GIB, KIB, Key, MIB, Named, count, key, size},
    reload::Reload,
    value::{Form, Item, Setting},
};
use crate::plugin::{Ceiling, Ceilings, OriginPattern, SecretRule, SecretSource};

/// `[secrets.NAME]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SecretSettings {
    /// The file with its value.
    pub file: Option<PathBuf>,
    /// The environment variable with its value.
    pub env: Option<String>,
    /// Plugins that may be granted it.
    pub plugins: Vec<String>,
    /// Origins it may be sent to.
    pub origins: Vec<OriginPattern>,
    /// Whether signatures may be made with it.
    pub sign: bool,
}

impl SecretSettings {
    /// What is wrong between its keys.
    pub(super) fn fault(&self) -> Option<&'static str> {
        match (&self.file, &self.env) {
            (None, None) => Some("has no value: give it `file` or `env`"),
            (Some(_), Some(_)) => Some("has both `file` and `env`: one of them is its value"),
            _ if self.plugins.is_empty() => {
                Some("is for no plugin: name those that may be granted it in `plugins`")
            }
            _ if self.origins.is_empty() && !self.sign => {
                Some("is for nothing: name `origins` it may be sent to, or set `sign = true`")
            }
            _ => None,
        }
    }
}

impl Config {
    /// What plugins may be granted.
    #[must_use]
    pub fn ceilings(&self) -> Ceilings {
        let secret = |(name, own): (&String, &SecretSettings)| {
            let source = match (&own.file, &own.env) {
                (Some(path), _) => SecretSource::File(path.clone()),
                (None, variable) => SecretSource::Env(variable.clone().unwrap_or_default()),
            };
            let rule = SecretRule {
                source,
                plugins: own.plugins.clone(),
                origins: own.origins.clone(),
                sign: own.sign,
            };
            (name.clone(), rule)
        };
        Ceilings {
            general: self.capabilities.clone(),
            plugins: self.plugin.clone(),
            secrets: self.secrets.iter().map(secret).collect::<BTreeMap<_, _>>(),
        }
    }
}

const fn list(of: Item) -> Form {
    Form::List(of)
}

macro_rules! ceiling_keys {
    ($settings:ty, [$($path:ident .)*] $($more:expr),*) => {
        &[
            key!($settings, $($path.)* http, "http", list(Item::Origin),
                "Origins plugins may be granted requests to."),
            key!($settings, $($path.)* private, "private", list(Item::Network),
                "Networks beside the internet that grants with `private = true` lead to. All others are closed, whatever a name resolves to."),
            key!($settings, $($path.)* connections, "connections", count(256),
                "Requests of one attempt under way at a time."),
            key!($settings, $($path.)* requests, "requests", count(1_000_000),
                "Requests of one attempt in all."),
            key!($settings, $($path.)* body, "body", size(1, 4 * GIB),
                "Largest body of a response, and of a request."),
            key!($settings, $($path.)* mounts, "mounts", list(Item::Folder),
                "Directories plugins may be granted to read, with all that lies below."),
            key!($settings, $($path.)* scratch, "scratch", size(4 * KIB, 64 * GIB),
                "Largest scratch directory of an attempt."),
            key!($settings, $($path.)* queues, "queues", list(Item::Name),
                "Queues plugins may be granted to enqueue into."),
            key!($settings, $($path.)* jobs, "jobs", count(1_000),
                "Jobs one attempt may enqueue."),
            key!($settings, $($path.)* bytes, "bytes", size(1, 4 * MIB),
                "Payload bytes of the jobs one attempt may enqueue."),
            key!($settings, $($path.)* depth, "depth", count(32),
                "Generations of jobs that were enqueued by jobs."),
            $($more),*
        ]
    };
}

/// `[plugin.NAME]`.
pub(super) const PLUGINS: Named<Ceiling> = Named {
    name: "plugin",
    says: "The same ceiling for one plugin, by the name of its file. A key that is given here counts in place of the one under `[capabilities]`.",
    reload: Reload::All,
    must: &[],
    keys: ceiling_keys!(Ceiling, []),
};

/// The keys of `[capabilities]`.
pub(super) const CAPABILITY_KEYS: &[Key<Config>] = ceiling_keys!(
    Config,
    [capabilities.]
    key!(
        Config,
        ca_file,
        "ca_file",
        Form::Path,
        "A file with certificate authorities in PEM form that count beside those of the system. Relative to this file."
    )
);

/// `[secrets.NAME]`.
pub(super) const SECRETS: Named<SecretSettings> = Named {
    name: "secrets",
    says: "A secret that the host uses for plugins and never shows them. A plugin's file must ask for it as well.",
    reload: Reload::All,
    must: &[],
    keys: &[
        key!(
            SecretSettings,
            file,
            "file",
            Form::Path,
            "The file that holds its value, read at each use. One line end at its end is left out. Relative to this file."
        ),
        key!(
            SecretSettings,
            env,
            "env",
            Form::Name,
            "The variable of the runner's environment that holds its value, in place of a file."
        ),
        key!(
            SecretSettings,
            plugins,
            "plugins",
            list(Item::Name),
            "Plugins that may be granted it."
        ),
        key!(
            SecretSettings,
            origins,
            "origins",
            list(Item::Origin),
            "Origins it may be sent to, in a header in place of `{{secret:NAME}}`."
        ),
        key!(
            SecretSettings,
            sign,
            "sign",
            Form::Flag,
            "Whether plugins may have texts signed with it."
        ),
    ],
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::{parse, show};

    #[test]
    fn what_cannot_be_a_ceiling_or_a_secret_is_refused() {
        for (text, says) in [
            (
                "[capabilities]\nhttp = [\"a.b\"]",
                "`capabilities.http` has an entry that does not fit (\"a.b\" is no origin",
            ),
            (
                "[capabilities]\nprivate = [\"10.0.0.1/8\"]",
                "behind its first 8",
            ),
            ("[plugin.p]\nmounts = [\"srv\"]", "is no absolute path"),
            ("[plugin.p]\nqueues = \"a\"", "not a list"),
            ("[plugin.p]\nca_file = \"a\"", "unknown key"),
            ("[secrets.k]\nsign = true", "`secrets.k` has no value"),
            ("[secrets.k]\nenv = \"K\"\nfile = \"k\"", "has both"),
            ("[secrets.k]\nenv = \"K\"\nsign = true", "is for no plugin"),
            (
                "[secrets.k]\nenv = \"K\"\nplugins = [\"p\"]",
                "is for nothing",
            ),
            ("[secrets.k]\nsign = 1", "`secrets.k.sign` is the number 1"),
        ] {
            let said = parse(Path::new("s.toml"), text).unwrap_err().to_string();
            assert!(said.contains(says), "{text}: {said}");
        }
    }

    #[test]
    fn what_is_shown_reads_back_and_says_no_value_of_a_secret() {
        let read = |text: &str| parse(Path::new("s.toml"), text).unwrap();
        let config = read(
            "[capabilities]\nhttp = [\"https://*.b:*\"]\nprivate = [\"10.0.0.0/8\"]\nbody = \"1KiB\"\n\
             [plugin.\"a.b\"]\nmounts = [\"/srv\"]\n\
             [secrets.k]\nenv = \"PATH\"\nplugins = [\"*\"]\norigins = [\"https://a.b\"]\nsign = true\n",
        );
        let shown = show(&config);
        assert_eq!(read(&shown), config);
        assert!(!shown.contains(&std::env::var("PATH").unwrap()));
    }
}
