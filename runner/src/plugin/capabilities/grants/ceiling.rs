//! The operator's ceiling: what any plugin may be granted, and what one of them may.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{EnqueueGrant, Grants, HttpBounds, HttpGrant, Network, OriginPattern, SecretGrant};

/// Bounds on the grants of a plugin. What is `None` is left to the general one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ceiling {
    /// Origins it may be granted.
    pub http: Option<Vec<OriginPattern>>,
    /// Networks beside the internet that its `private` grants lead to.
    pub private: Option<Vec<Network>>,
    /// Requests of an attempt under way at a time.
    pub connections: Option<u32>,
    /// Requests of an attempt in all.
    pub requests: Option<u32>,
    /// Largest body of a response or a request, in bytes.
    pub body: Option<u64>,
    /// Directories it may be granted mounts of, themselves and what lies below.
    pub mounts: Option<Vec<PathBuf>>,
    /// Largest scratch directory, in bytes.
    pub scratch: Option<u64>,
    /// Queues it may be granted.
    pub queues: Option<Vec<String>>,
    /// Jobs an attempt may enqueue.
    pub jobs: Option<u64>,
    /// Payload bytes of the jobs an attempt may enqueue.
    pub bytes: Option<u64>,
    /// Generations of jobs enqueued by jobs.
    pub depth: Option<u32>,
}

/// Where the value of a secret comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// A file; a line end at its end does not belong to the value.
    File(PathBuf),
    /// A variable of the runner's environment.
    Env(String),
}

/// A secret, and what may be done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRule {
    /// Where its value comes from.
    pub source: SecretSource,
    /// Plugins that may be granted it; `*` for every one.
    pub plugins: Vec<String>,
    /// Origins it may be sent to in a header.
    pub origins: Vec<OriginPattern>,
    /// Whether signatures may be made with it.
    pub sign: bool,
}

/// Everything the operator says of grants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ceilings {
    /// For all plugins.
    pub general: Ceiling,
    /// For one, by name.
    pub plugins: BTreeMap<String, Ceiling>,
    /// The secrets there are, by name.
    pub secrets: BTreeMap<String, SecretRule>,
}

/// Largest scratch directory unless the operator says otherwise.
const SCRATCH: u64 = 64 << 20;
/// Generations of jobs unless the operator says otherwise.
const DEPTH: u32 = 8;

impl Ceiling {
    /// What is in force for a plugin when the operator says nothing: the open internet, a scratch
    /// directory, any queue; no private network, no mount.
    #[must_use]
    pub fn default_values() -> Self {
        let bounds = HttpBounds::default();
        let limits = crate::plugin::Limits::default();
        let any = |text: &str| text.parse().expect("a pattern of our own");
        Self {
            http: Some(vec![any("https://*:*"), any("http://*:*")]),
            private: Some(Vec::new()),
            connections: Some(bounds.connections),
            requests: Some(bounds.requests),
            body: Some(bounds.body),
            mounts: Some(Vec::new()),
            scratch: Some(SCRATCH),
            queues: Some(vec!["*".into()]),
            jobs: Some(limits.children),
            bytes: Some(limits.children_bytes),
            depth: Some(DEPTH),
        }
    }
}

impl Ceilings {
    /// What is left of a plugin's wishes under the ceiling.
    pub(crate) fn bound(&self, plugin: &str, asked: &Grants) -> Grants {
        let part = Part {
            plugin,
            own: self.plugins.get(plugin),
            general: &self.general,
            default: Ceiling::default_values(),
            cuts: Vec::new(),
        };
        part.bound(asked, &self.secrets)
    }
}

/// The ceiling of one plugin, key by key: its own, then the general one, then the default.
struct Part<'a> {
    plugin: &'a str,
    own: Option<&'a Ceiling>,
    general: &'a Ceiling,
    default: Ceiling,
    cuts: Vec<String>,
}

impl Part<'_> {
    fn value<T: Clone + Default>(&self, of: fn(&Ceiling) -> &Option<T>) -> T {
        let own = self.own.and_then(|own| of(own).clone());
        own.or_else(|| of(self.general).clone())
            .or_else(|| of(&self.default).clone())
            .unwrap_or_default()
    }

    fn cut(&mut self, what: &str, key: &str) {
        let plugin = self.plugin;
        self.cuts.push(format!(
            "{what}: over `{key}` under [capabilities] or [plugin.{plugin}] in sandhog.toml"
        ));
    }

    fn bound(mut self, asked: &Grants, secrets: &BTreeMap<String, SecretRule>) -> Grants {
        let mut grants = Grants {
            env: asked.env.clone(),
            config: asked.config.clone(),
            http: self.http(&asked.http),
            secrets: self.secrets(&asked.secrets, secrets),
            mounts: self.mounts(asked),
            scratch: asked.scratch.map(|size| {
                let most = self.value(|ceiling| &ceiling.scratch);
                self.least("scratch", size, most)
            }),
            enqueue: asked.enqueue.as_ref().map(|asked| self.enqueue(asked)),
            bounds: HttpBounds {
                private: self.value(|ceiling| &ceiling.private),
                connections: self.value(|ceiling| &ceiling.connections),
                requests: self.value(|ceiling| &ceiling.requests),
                body: self.value(|ceiling| &ceiling.body),
            },
            cuts: Vec::new(),
        };
        grants.cuts = self.cuts;
        grants
    }

    fn least(&mut self, key: &str, asked: u64, most: u64) -> u64 {
        if asked > most {
            self.cut(&format!("{key} is {most}, not {asked}"), key);
        }
        asked.min(most)
    }

    fn http(&mut self, asked: &[HttpGrant]) -> Vec<HttpGrant> {
        let ceiling: Vec<OriginPattern> = self.value(|ceiling| &ceiling.http);
        let open: Vec<Network> = self.value(|ceiling| &ceiling.private);
        let mut granted = Vec::new();
        for grant in asked {
            if ceiling.iter().any(|one| one.covers_all_of(&grant.origin)) {
                granted.push(grant.clone());
            } else {
                self.cut(&format!("requests to {}", grant.origin), "http");
            }
            if grant.private && open.is_empty() {
                let what = format!("private addresses behind {}", grant.origin);
                self.cut(&what, "private");
            }
        }
        granted
    }

    fn secrets(
        &mut self,
        asked: &[SecretGrant],
        rules: &BTreeMap<String, SecretRule>,
    ) -> Vec<SecretGrant> {
        let mut granted = Vec::new();
        for grant in asked {
            let name = &grant.name;
            let Some(rule) = rules.get(name) else {
                self.cuts.push(format!(
                    "secret {name}: sandhog.toml has no [secrets.{name}]"
                ));
                continue;
            };
            if !rule
                .plugins
                .iter()
                .any(|one| one == "*" || one == self.plugin)
            {
                self.cuts.push(format!(
                    "secret {name}: `plugins` under [secrets.{name}] in sandhog.toml does not name {}",
                    self.plugin
                ));
                continue;
            }
            let origin = grant.origin.clone().filter(|origin| {
                let may = rule.origins.iter().any(|one| one.covers_all_of(origin));
                if !may {
                    self.cuts.push(format!(
                        "secret {name} to {origin}: `origins` under [secrets.{name}] in sandhog.toml does not name it"
                    ));
                }
                may
            });
            if grant.sign && !rule.sign {
                self.cuts.push(format!(
                    "signatures with secret {name}: `sign` under [secrets.{name}] in sandhog.toml is not true"
                ));
            }
            let sign = grant.sign && rule.sign;
            if origin.is_some() || sign {
                granted.push(SecretGrant {
                    name: name.clone(),
                    origin,
                    sign,
                });
            }
        }
        granted
    }

    fn mounts(&mut self, asked: &Grants) -> Vec<super::MountGrant> {
        let roots: Vec<PathBuf> = self.value(|ceiling| &ceiling.mounts);
        let mut granted = Vec::new();
        for grant in &asked.mounts {
            let below = real(&grant.host).is_some_and(|host| {
                roots
                    .iter()
                    .filter_map(|root| real(root))
                    .any(|root| host.starts_with(root))
            });
            if below {
                granted.push(grant.clone());
            } else {
                self.cut(&format!("a mount of {}", grant.host.display()), "mounts");
            }
        }
        granted
    }

    fn enqueue(&mut self, asked: &EnqueueGrant) -> EnqueueGrant {
        let ceiling: Vec<String> = self.value(|ceiling| &ceiling.queues);
        let every = |queues: &[String]| queues.iter().any(|one| one == "*");
        let queues = if every(&ceiling) {
            asked.queues.clone()
        } else if every(&asked.queues) {
            ceiling
        } else {
            let (kept, left): (Vec<_>, Vec<_>) =
                (asked.queues.iter().cloned()).partition(|queue| ceiling.contains(queue));
            for queue in left {
                self.cut(&format!("queue {queue}"), "queues");
            }
            kept
        };
        let jobs = self.value(|ceiling| &ceiling.jobs);
        let bytes = self.value(|ceiling| &ceiling.bytes);
        let depth: u32 = self.value(|ceiling| &ceiling.depth);
        let generations = self.least("depth", asked.depth.into(), depth.into());
        EnqueueGrant {
            queues,
            jobs: self.least("jobs", asked.jobs, jobs),
            bytes: self.least("bytes", asked.bytes, bytes),
            depth: u32::try_from(generations).unwrap_or(depth),
        }
    }
}

/// A path without links, if it is there.
fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::capabilities::grants::parse;

    fn patterns(texts: &[&str]) -> Vec<OriginPattern> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn without_a_word_of_the_operator_the_defaults_hold() {
        let dir = tempfile::tempdir().unwrap();
        let asked = parse(&format!(
            "[grants]\nscratch = \"1GiB\"\n\
             http = [{{ origin = \"https://*\", methods = [\"*\"] }}]\n\
             mounts = [{{ host = {:?}, guest = \"/a\" }}]\n\
             secrets = [{{ name = \"key\", sign = true }}]\n\
             enqueue = {{ queues = [\"*\"], depth = 100 }}\n",
            dir.path()
        ))
        .unwrap();
        let granted = Ceilings::default().bound("p", &asked);
        let cuts = &granted.cuts;
        assert_eq!(granted.http, asked.http);
        assert_eq!(granted.scratch, Some(SCRATCH));
        assert_eq!((granted.mounts.len(), granted.secrets.len()), (0, 0));
        assert_eq!(granted.enqueue.as_ref().unwrap().depth, DEPTH);
        for says in ["scratch", "mount", "[secrets.key]", "depth"] {
            assert!(
                cuts.iter().any(|cut| cut.contains(says)),
                "{says}: {cuts:?}"
            );
        }
        assert_eq!(cuts.len(), 4);
    }

    #[test]
    fn a_plugins_own_ceiling_comes_before_the_general_one() {
        let asked = parse(
            "[grants]\nhttp = [{ origin = \"https://a.b\", methods = [\"GET\"] }]\n\
             enqueue = { queues = [\"one\", \"two\"], jobs = 5 }\n",
        )
        .unwrap();
        let mut ceilings = Ceilings {
            general: Ceiling {
                http: Some(patterns(&["https://*.b"])),
                queues: Some(vec!["one".into()]),
                jobs: Some(3),
                ..Ceiling::default()
            },
            ..Ceilings::default()
        };
        let granted = ceilings.bound("p", &asked);
        let cuts = &granted.cuts;
        assert_eq!(granted.http, asked.http);
        let enqueue = granted.enqueue.as_ref().unwrap();
        assert_eq!(
            (&enqueue.queues[..], enqueue.jobs),
            (&["one".to_owned()][..], 3)
        );
        assert_eq!(cuts.len(), 2, "{cuts:?}");

        let own = Ceiling {
            http: Some(Vec::new()),
            ..Ceiling::default()
        };
        ceilings.plugins.insert("p".into(), own);
        let granted = ceilings.bound("p", &asked);
        let cuts = &granted.cuts;
        assert_eq!(granted.http, []);
        assert_eq!(granted.enqueue.as_ref().unwrap().jobs, 3);
        assert!(cuts[0].contains("[plugin.p]"), "{cuts:?}");
        assert_eq!(ceilings.bound("q", &asked).http, asked.http);
    }

    #[test]
    fn a_secret_goes_where_the_operator_says_only() {
        let asked = |text: &str| parse(&format!("[grants]\nsecrets = [{text}]\n")).unwrap();
        let rule = SecretRule {
            source: SecretSource::Env("KEY".into()),
            plugins: vec!["p".into()],
            origins: patterns(&["https://a.b"]),
            sign: false,
        };
        let mut ceilings = Ceilings::default();
        ceilings.secrets.insert("key".into(), rule);
        let left = |ceilings: &Ceilings, plugin: &str, text: &str| {
            ceilings.bound(plugin, &asked(text)).secrets.len()
        };
        let to = "{ name = \"key\", origin = \"https://a.b\" }";
        assert_eq!(left(&ceilings, "p", to), 1);
        assert_eq!(left(&ceilings, "q", to), 0);
        let elsewhere = "{ name = \"key\", origin = \"https://evil.b\" }";
        assert_eq!(left(&ceilings, "p", elsewhere), 0);
        let sign = "{ name = \"key\", sign = true }";
        assert_eq!(left(&ceilings, "p", sign), 0);
        ceilings.secrets.get_mut("key").unwrap().sign = true;
        assert_eq!(left(&ceilings, "p", sign), 1);
    }

    #[test]
    fn a_mount_lies_below_a_root_links_resolved() {
        let root = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(other.path(), root.path().join("link")).unwrap();
        std::fs::create_dir(root.path().join("in")).unwrap();
        let ceilings = Ceilings {
            general: Ceiling {
                mounts: Some(vec![root.path().to_owned()]),
                ..Ceiling::default()
            },
            ..Ceilings::default()
        };
        let left = |path: &Path| {
            let text = format!("[grants]\nmounts = [{{ host = {path:?}, guest = \"/a\" }}]\n");
            ceilings.bound("p", &parse(&text).unwrap()).mounts.len()
        };
        assert_eq!(left(&root.path().join("in")), 1);
        assert_eq!(left(root.path()), 1);
        assert_eq!(left(&root.path().join("link")), 0);
        assert_eq!(left(&root.path().join("in/../..")), 0);
        assert_eq!(left(&root.path().join("not-there")), 0);
        assert_eq!(left(other.path()), 0);
    }
}
