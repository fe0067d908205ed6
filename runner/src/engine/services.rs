//! What a guest's calls reach of the rest of the runner.

use std::{future::Future, pin::Pin, sync::Arc};

use sandhog_model::{Job, JobId, Token, UnixMs};

use super::settings::{Settings, door_defaults};
use crate::{
    clock::Clock,
    plugin::{Catalog, Plugins, Services},
    store::Store,
};

/// The services of a running engine.
pub(super) struct EngineServices {
    pub(super) store: Arc<dyn Store>,
    pub(super) plugins: Arc<dyn Plugins>,
    pub(super) settings: Arc<dyn Settings>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Services for EngineServices {
    fn checkpoint(
        &self,
        id: JobId,
        token: Token,
        bytes: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async move {
            let kept = self.store.checkpoint(id, token, bytes).await;
            kept.map_err(|error| error.to_string())
        })
    }

    fn mint(&self) -> JobId {
        self.store.mint()
    }

    fn wall(&self) -> UnixMs {
        self.clock.now().wall
    }

    fn complete(&self, job: Job) -> Job {
        complete(self.settings.as_ref(), &self.plugins.catalog(), job)
    }
}

/// Fill in what a job from a handler leaves open: an empty queue or content type, and the attempts
/// its kind may use.
#[must_use]
pub fn complete(settings: &dyn Settings, catalog: &Catalog, mut job: Job) -> Job {
    let defaults = door_defaults(settings, catalog, &job.kind);
    if job.queue.is_empty() {
        job.queue = defaults.queue.unwrap_or_else(|| "default".to_owned());
    }
    if job.content_type.is_empty() {
        job.content_type = defaults.content_type.unwrap_or_default();
    }
    job.retry = job.retry.or(defaults.retry);
    let max_age = defaults.max_age_ms.map(|ms| job.due.plus(ms));
    job.terms.expires = job.terms.expires.or(max_age);
    job.terms.retry_for_ms = job.terms.retry_for_ms.or(defaults.retry_for_ms);
    job
}
