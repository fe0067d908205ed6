//! Waiting for a job's end.

use std::{future::Future, pin::pin, time::Duration};

use sandhog_model::{JobId, State};
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::{Instant, timeout_at},
};

use super::{job, keep_latest_logs, why};
use crate::{
    api::{ApiError, Ctx, ErrorCode, WAIT_MS, Waited},
    store::JobChange,
};

/// How a job stands once it ended, or when the time is over.
pub(super) async fn wait(ctx: &Ctx, id: JobId, timeout_ms: u64) -> Result<Waited, ApiError> {
    let deadline = Instant::now() + Duration::from_millis(timeout_ms.min(WAIT_MS));
    // Before the first look, so that no change falls between the two.
    let mut changes = ctx.store.changes();
    loop {
        let mut view = job(ctx, id).await?;
        if view.row.state.is_final() {
            keep_latest_logs(&mut view.attempts);
            return Ok(Waited {
                row: view.row.clone(),
                progress: None,
                reason: None,
                ended: Some(view),
            });
        }
        let Some(running) = &ctx.running else {
            return Err(ApiError::new(
                ErrorCode::NoRunner,
                format!(
                    "job {id} is {} and no runner is up to run it",
                    view.row.state
                ),
            ));
        };
        let changed = pin!(changed(&mut changes, id));
        if told(deadline, changed).await {
            continue;
        }
        let reason = match view.row.state {
            State::Available => why::settled(ctx, &view.row).await?,
            _ => None,
        };
        return Ok(Waited {
            progress: running.live(id).and_then(|live| live.progress),
            row: view.row,
            reason,
            ended: None,
        });
    }
}

async fn told(deadline: Instant, changed: impl Future<Output = ()>) -> bool {
    timeout_at(deadline, changed).await.is_ok()
}

/// Resolves when the job may have changed.
async fn changed(changes: &mut broadcast::Receiver<JobChange>, id: JobId) {
    loop {
        match changes.recv().await {
            Ok(change) if change.id != id => {}
            // Missed changes may have been this job's.
            Ok(_) | Err(RecvError::Lagged(_)) => return,
            // The store is closing: nothing will change any more.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}
