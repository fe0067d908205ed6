//! The heartbeat: holds the leases of attempts that run, and takes back those nobody holds.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::MissedTickBehavior};

use super::live::LiveTable;
use crate::{clock::Clock, store::Store};

/// What the heartbeat needs.
pub(super) struct Heartbeat {
    pub(super) store: Arc<dyn Store>,
    pub(super) live: Arc<LiveTable>,
    pub(super) clock: Arc<dyn Clock>,
    /// How long a lease lasts without a renewal, in milliseconds.
    pub(super) lease_ms: u64,
}

impl Heartbeat {
    /// Beat four times a lease, away from the workers' threads, so that no busy guest can stop it.
    pub(super) async fn run(self, mut stopped: watch::Receiver<bool>) {
        let mut beat = tokio::time::interval(Duration::from_millis((self.lease_ms / 4).max(10)));
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = beat.tick() => self.beat().await,
                _ = stopped.changed() => return,
            }
        }
    }

    async fn beat(&self) {
        let leases = self.live.renewable(self.clock.now().mono);
        if !leases.is_empty() {
            match self.store.renew(leases).await {
                Ok(gone) => {
                    for (id, token) in gone {
                        tracing::warn!(job = %id, token = token.0, "the lease is gone: stopping the attempt");
                        self.live.interrupt(id, token);
                    }
                }
                Err(error) => tracing::warn!(%error, "cannot renew leases"),
            }
        }
        match self.store.sweep().await {
            Ok(0) => {}
            Ok(lost) => tracing::warn!(lost, "took back leases that were not renewed"),
            Err(error) => tracing::warn!(%error, "cannot sweep leases"),
        }
    }
}
