//! What a plugin may do beyond computing: asked for in `NAME.toml` beside `NAME.wasm`, cut down to
//! the operator's ceiling. What is granted nowhere is denied.

mod ceiling;
mod file;
mod network;
mod origin;
mod text;
mod unmet;

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

pub use ceiling::{Ceiling, Ceilings, SecretRule, SecretSource};
pub use file::parse;
pub use network::Network;
pub(crate) use network::{is_public, plain};
pub(crate) use origin::Origin;
pub use origin::OriginPattern;
pub use text::as_toml;
pub(crate) use text::snippet;

/// Where a guest finds its scratch directory.
pub(crate) const SCRATCH: &str = "/tmp";

/// What a plugin may do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Grants {
    /// Variables of its environment. Nothing of the runner's own is among them.
    pub env: BTreeMap<String, String>,
    /// What it reads through the `config` interface, beside what the operator gives the kind.
    pub config: BTreeMap<String, String>,
    /// Where it may send requests.
    pub http: Vec<HttpGrant>,
    /// Secrets the host uses for it.
    pub secrets: Vec<SecretGrant>,
    /// Directories of the host that it may read.
    pub mounts: Vec<MountGrant>,
    /// Bytes its scratch directory may hold; `None` for no such directory.
    pub scratch: Option<u64>,
    /// Jobs it may enqueue; `None` for none.
    pub enqueue: Option<EnqueueGrant>,
    /// Bounds on what it does by HTTP.
    pub bounds: HttpBounds,
    /// What was asked for and lies over the operator's ceiling, with the key to raise.
    pub cuts: Vec<String>,
}

/// Requests to an origin, or to several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpGrant {
    /// Where to.
    pub origin: OriginPattern,
    /// Methods in upper case; `*` for every one.
    pub methods: Vec<String>,
    /// Whether the name may lead to the networks the operator opened, which are not on the internet.
    pub private: bool,
}

/// How the host may use a secret for a plugin. The plugin never sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretGrant {
    /// Its name in the operator's settings.
    pub name: String,
    /// In headers of requests to this origin, in place of `{{secret:NAME}}`.
    pub origin: Option<OriginPattern>,
    /// As the key of signatures.
    pub sign: bool,
}

/// A directory of the host, to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountGrant {
    /// Its path on the host.
    pub host: PathBuf,
    /// Where the guest finds it.
    pub guest: String,
}

/// Jobs an attempt may enqueue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnqueueGrant {
    /// Into these queues; `*` for every one.
    pub queues: Vec<String>,
    /// So many an attempt.
    pub jobs: u64,
    /// With so many payload bytes in all.
    pub bytes: u64,
    /// So many generations of jobs that were enqueued by jobs.
    pub depth: u32,
}

/// Bounds on what one attempt does by HTTP; the operator sets them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpBounds {
    /// Networks that `private` grants lead to.
    pub private: Vec<Network>,
    /// Requests under way at a time.
    pub connections: u32,
    /// Requests in all.
    pub requests: u32,
    /// Largest body of a response, and of a request, in bytes.
    pub body: u64,
}

impl Default for HttpBounds {
    fn default() -> Self {
        Self {
            private: Vec::new(),
            connections: 4,
            requests: 1_000,
            body: 8 << 20,
        }
    }
}

impl HttpGrant {
    pub(crate) fn allows(&self, origin: &Origin, method: &str) -> bool {
        let methods = &self.methods;
        self.origin.covers(origin) && methods.iter().any(|one| one == "*" || one == method)
    }
}

impl EnqueueGrant {
    pub(crate) fn allows(&self, queue: &str) -> bool {
        self.queues.iter().any(|one| one == "*" || one == queue)
    }
}
