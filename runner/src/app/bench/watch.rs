//! Hosts whose attempts are watched.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use sandhog_model::{Failure, JobId, Outcome, Waiting};
use tokio::sync::Notify;

use crate::plugin::{AttemptRequest, Host, HostFactory, Live, Report, Services, WasmHostFactory};

/// An attempt that ended in its sandbox; its report is not yet written.
#[derive(Debug)]
pub struct AttemptEnd<'a> {
    /// Its job.
    pub job: JobId,
    /// The kind of that.
    pub kind: &'a str,
    /// Whether another job enqueued it.
    pub is_child: bool,
    /// How it ended.
    pub outcome: &'a Outcome,
    /// When the worker's host was given it.
    pub begun: Instant,
    /// When the host gave its report.
    pub ended: Instant,
}

/// Told of every attempt, on its worker's thread.
pub trait AttemptWatch: Send + Sync + 'static {
    /// An attempt ended.
    fn ended(&self, end: &AttemptEnd<'_>);
}

pub(super) struct WatchedHosts {
    pub(super) hosts: WasmHostFactory,
    pub(super) watch: Arc<dyn AttemptWatch>,
}

impl HostFactory for WatchedHosts {
    fn host(&self) -> Result<Box<dyn Host>, String> {
        Ok(Box::new(Watched {
            host: self.hosts.host()?,
            watch: Arc::clone(&self.watch),
        }))
    }
}

struct Watched {
    host: Box<dyn Host>,
    watch: Arc<dyn AttemptWatch>,
}

impl Host for Watched {
    fn run<'a>(
        &'a self,
        request: AttemptRequest,
        services: Arc<dyn Services>,
    ) -> Pin<Box<dyn Future<Output = Report> + 'a>> {
        Box::pin(async move {
            let job = request.job.id;
            let kind = request.job.kind.clone();
            let is_child = request.job.parent.is_some();
            let begun = Instant::now();
            let report = self.host.run(request, services).await;
            self.watch.ended(&AttemptEnd {
                job,
                kind: &kind,
                is_child,
                outcome: &report.outcome,
                begun,
                ended: Instant::now(),
            });
            report
        })
    }
}

/// Counts attempts until there were enough of them.
#[derive(Default)]
pub(super) struct Counting {
    ended: AtomicU64,
    /// How many ends are waited for.
    wanted: AtomicU64,
    failed: AtomicU64,
    running_ns: AtomicU64,
    /// The first attempt that did not complete, and whether its job goes on waiting.
    first: Mutex<Option<(String, bool)>>,
    told: Notify,
}

impl AttemptWatch for Counting {
    fn ended(&self, end: &AttemptEnd<'_>) {
        let took = u64::try_from((end.ended - end.begun).as_nanos()).unwrap_or(u64::MAX);
        self.running_ns.fetch_add(took, Ordering::Relaxed);
        // It has its turn again.
        if end.is_child || *end.outcome == Outcome::NotRun(Waiting::PoolFull) {
            return;
        }
        let bad = not_completed(end.outcome);
        let is_bad = bad.is_some();
        if let Some(bad) = bad {
            self.failed.fetch_add(1, Ordering::Relaxed);
            self.first().get_or_insert(bad);
        }
        let ended = self.ended.fetch_add(1, Ordering::SeqCst) + 1;
        // To wake a thread for each of them takes as long as a short attempt.
        if is_bad || ended >= self.wanted.load(Ordering::SeqCst) {
            self.told.notify_one();
        }
    }
}

impl Counting {
    /// Resolves once so many attempts have ended. An error when one did not complete: the rest is then not waited for.
    pub(super) async fn until(&self, attempts: usize, live: &Live) -> anyhow::Result<()> {
        self.wanted.store(attempts as u64, Ordering::SeqCst);
        loop {
            let first = self.first().clone();
            let ended = self.ended.load(Ordering::SeqCst);
            let is_over = ended >= attempts as u64;
            match first {
                Some((why, waits)) if is_over || waits => {
                    let failed = self.failed.load(Ordering::Relaxed);
                    anyhow::bail!(
                        "{failed} of {ended} attempts did not complete, so there is nothing to measure; the first of them: {why}"
                    );
                }
                _ if is_over => return Ok(()),
                _ => {}
            }
            tokio::select! {
                () = self.told.notified() => {}
                () = live.interrupt_asked() => anyhow::bail!("stopped before it was measured"),
            }
        }
    }

    fn first(&self) -> MutexGuard<'_, Option<(String, bool)>> {
        // Nothing that holds the lock can leave the value half changed.
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time of all attempts, added up.
    pub(super) fn running(&self) -> Duration {
        Duration::from_nanos(self.running_ns.load(Ordering::Relaxed))
    }
}

/// What to say of an attempt that did not complete, and whether its job goes on waiting.
fn not_completed(outcome: &Outcome) -> Option<(String, bool)> {
    let told = |failure: &Failure| format!("{}: {}", failure.kind.name(), failure.cause);
    match outcome {
        Outcome::Completed(_) => None,
        Outcome::Failed { failure, .. } | Outcome::Permanent(failure) => {
            Some((told(failure), false))
        }
        Outcome::Discarded { reason } => Some((format!("discarded: {reason}"), false)),
        Outcome::Snoozed { delay_ms } => Some((format!("snoozed for {delay_ms} ms"), true)),
        Outcome::NotRun(why) => Some((format!("it could not be run: {why:?}"), true)),
    }
}
