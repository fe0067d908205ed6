//! One command on a data directory that no runner holds.

use std::sync::Arc;

use super::{
    reload::InForce,
    settings::{Operator, book},
    wal_options,
};
use crate::{
    api::Ctx,
    cli::OpenError,
    clock::SystemClock,
    config::Config,
    engine::door_defaults,
    plugin::Catalog,
    store::{LetterBounds, Store, lock::LockError, wal},
};

/// Open the directory without an engine. What handlers propose is not known here: jobs get it when
/// an attempt runs.
///
/// Nothing is forgotten here, whatever the settings say: who only wants to look must not delete, and
/// the settings may be those of another directory. A runner forgets, and `dead purge` when asked to.
pub(super) fn open(config: &Config) -> Result<Ctx, OpenError> {
    let opened = wal::open(wal::WalOptions {
        passing: true,
        letters: LetterBounds::default(),
        keep_ended_ms: None,
        max_ended: None,
        ..wal_options(config, "a sandhog command")
    });
    let store = opened.map_err(|error| match error {
        wal::OpenError::Locked(LockError::Held { holder, .. }) => OpenError::Held {
            data: config.runner.data.clone(),
            holder: holder.map_or_else(|| "another process".to_owned(), |by| by.to_string()),
        },
        other => OpenError::Failed(other.into()),
    })?;
    Ok(context(InForce::new(config.clone()), store, None, |_| {
        Arc::default()
    }))
}

/// What requests work on: the same for a runner and for one command.
pub(super) fn context(
    in_force: Arc<InForce>,
    store: Arc<dyn Store>,
    running: Option<Arc<dyn crate::engine::Running>>,
    catalog: impl Fn(&str) -> Arc<Catalog> + Send + Sync + 'static,
) -> Ctx {
    let config = in_force.now();
    let operator = Operator::new(in_force);
    Ctx {
        store,
        running,
        desk: None,
        defaults: Arc::new(move |kind| door_defaults(&operator, &catalog(kind), kind)),
        reload: None,
        metrics: None,
        crons: Arc::new(book(&config)),
        clock: Arc::new(SystemClock::default()),
        payload_bytes: usize::try_from(config.limits.payload).unwrap_or(usize::MAX),
        version: env!("CARGO_PKG_VERSION"),
    }
}
