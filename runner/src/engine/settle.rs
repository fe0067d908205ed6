//! Reports to the store: an outcome is never dropped because the store was busy.

use std::{sync::Arc, time::Duration};

use sandhog_model::{Rejected, Settlement};

use crate::store::{Store, StoreError};

/// The first wait before a refused report is tried again, and the longest.
const WAITS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// Report on attempts until the store took it, or takes nothing any more.
pub(super) async fn settle(store: Arc<dyn Store>, reports: Vec<Settlement>) {
    let mut wait = WAITS.0;
    let mut again = false;
    loop {
        match store.settle(reports.clone()).await {
            Ok(answers) => {
                for (report, answer) in reports.iter().zip(answers) {
                    match answer {
                        Ok(_) => {}
                        // Taken the first time, before there was no more room.
                        Err(refused @ Rejected::Fenced { .. }) if again => {
                            tracing::debug!(job = %report.id, %refused, "a report was told twice");
                        }
                        Err(refused) => {
                            tracing::warn!(job = %report.id, %refused, "a report was refused");
                        }
                    }
                }
                return;
            }
            Err(error @ (StoreError::Busy { .. } | StoreError::Full { .. })) => {
                if wait == WAITS.0 || wait == WAITS.1 {
                    tracing::warn!(%error, reports = reports.len(), "outcomes wait to be written");
                }
                again = true;
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(WAITS.1);
            }
            // The jobs run again after a restart: their leases end with this process.
            Err(error) => {
                tracing::error!(%error, reports = reports.len(), "outcomes could not be written");
                return;
            }
        }
    }
}
