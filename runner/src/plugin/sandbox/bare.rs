//! An attempt with nothing around it, for what an attempt costs to be held against.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    host::{WasmHost, hand_over},
    run::{End, store, visit},
    state::{State, Stop},
};
use crate::plugin::{AttemptRequest, Services};

/// Where a bare attempt's time went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BareAttempt {
    /// A store, and an instance from the pool.
    pub making: Duration,
    /// The handler.
    pub calling: Duration,
    /// The end of both: the slot is cleared.
    pub ending: Duration,
}

impl BareAttempt {
    /// All of it.
    #[must_use]
    pub fn all(&self) -> Duration {
        self.making + self.calling + self.ending
    }
}

impl std::ops::AddAssign for BareAttempt {
    fn add_assign(&mut self, other: Self) {
        self.making += other.making;
        self.calling += other.calling;
        self.ending += other.ending;
    }
}

impl WasmHost {
    /// Run an attempt of which nothing is judged, logged or reported. What the guest is handed is made before the
    /// clock starts. The error says how it ended, when the handler gave no result.
    pub async fn bare(
        &self,
        request: AttemptRequest,
        services: &Arc<dyn Services>,
    ) -> Result<BareAttempt, String> {
        let stop = Stop::new(Arc::clone(&request.live), request.limits.timeout_ms);
        let linked = self.link(&request.plugin)?;
        let (job, grant) = hand_over(request, services, &self.outside);
        let state = State::new(stop, grant)?;
        let begun = Instant::now();
        let mut store = store(&self.engine, state);
        let mut made = begun;
        let end = visit(&mut store, &linked, async |instance, store| {
            made = Instant::now();
            instance
                .sandhog_job_handler()
                .call_handle(store, &job)
                .await
        })
        .await;
        let called = Instant::now();
        drop(store);
        let ended = Instant::now();
        match end {
            End::Returned(Ok(_)) => Ok(BareAttempt {
                making: made - begun,
                calling: called - made,
                ending: ended - called,
            }),
            End::Returned(Err(refused)) => Err(format!("the handler gave an error: {refused:?}")),
            End::Stopped(why, _) => Err(format!("it was stopped: {why:?}")),
            End::Failed(phase, error) => Err(format!("it failed: {phase:?}: {error:#}")),
            End::Panicked(text) => Err(format!("the host panicked: {text}")),
        }
    }
}
