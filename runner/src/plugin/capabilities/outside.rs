//! What lies outside of the sandbox and is reached for guests: the network and the secrets.

use std::{path::PathBuf, sync::Arc};

use super::{grants::Ceilings, http::Client, secrets::Secrets};
use crate::metrics::Denials;

/// Shared by all workers of a runner.
#[derive(Debug, Default)]
pub struct Outside {
    pub(crate) client: Arc<Client>,
    pub(crate) secrets: Secrets,
    pub(crate) denials: Arc<Denials>,
    /// Where scratch directories are made; the system's place for temporary files when `None`.
    pub(crate) scratch: Option<PathBuf>,
}

impl Outside {
    /// With the operator's secrets, certificate authorities beside those of the system, and who
    /// counts what is denied.
    #[must_use]
    pub fn new(
        ceilings: &Ceilings,
        ca_file: Option<PathBuf>,
        scratch: Option<PathBuf>,
        denials: Arc<Denials>,
    ) -> Arc<Self> {
        Arc::new(Self {
            scratch,
            client: Arc::new(Client::new(ca_file)),
            secrets: Secrets::new(&ceilings.secrets),
            denials,
        })
    }

    /// Find secrets where the operator says from now on.
    pub fn follow(&self, ceilings: &Ceilings) {
        self.secrets.follow(&ceilings.secrets);
    }
}
