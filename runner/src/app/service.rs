//! What the service manager is told, when one asks to be (systemd, `Type=notify` or `notify-reload`).

use std::{sync::Arc, time::Duration};

use sd_notify::NotifyState;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::store::Store;

/// Jobs run.
pub(super) fn ready(what: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(what)]);
}

/// The settings are read again; [`ready`] follows.
pub(super) fn reloading() {
    // Without the time systemd does not wait for the end of the reload.
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "the service manager is not told of the reload"),
    }
}

/// Nothing more is claimed.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager cannot be told");
    }
}

/// Say that the runner lives, as often as the manager wants to hear it, as long as the store answers. One that
/// hangs is silent, and the manager starts it anew. Until what is given back is let go.
pub(super) fn watchdog(store: Arc<dyn Store>) -> Option<JoinSet<()>> {
    let patience = sd_notify::watchdog_enabled()?;
    // Twice within the time it waits.
    let pause = (patience / 2).max(Duration::from_millis(1));
    let mut speaking = JoinSet::new();
    speaking.spawn(async move {
        loop {
            match timeout(patience, store.stats()).await {
                Ok(Ok(_)) => tell(&[NotifyState::Watchdog]),
                Ok(Err(error)) => tracing::error!(%error, "the store does not answer"),
                Err(_) => tracing::error!(?patience, "the store did not answer in time"),
            }
            sleep(pause).await;
        }
    });
    Some(speaking)
}
