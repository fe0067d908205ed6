//! What every test of the store stands on: a clock to move, chance from a seed, jobs, reports.

use std::{
    future::Future,
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
};

use sandhog_model::{
    Amend, Asked, Attempt, Backoff, Cancellation, ClaimRequest, Failure, FailureKind, Job, JobId,
    Now, Outcome, Output, Rejected, RetryPolicy, Settlement, State, Terms, Token, UnixMs,
};

use crate::{
    clock::Clock,
    disk::{Disk, RealDisk, sim::SimDisk},
    entropy::Entropy,
    store::{
        CalledOff, DeadFilter, JobFilter, JobRow, LeasedJob, LetterName, PageRequest, Store,
        StoreError,
        wal::{OpenError, Wal, WalOptions, open},
    },
};

/// Where a test's time starts, in milliseconds since 1970.
pub(super) const START: u64 = 1_800_000_000_000;

/// A clock that stands still until it is moved.
#[derive(Default)]
pub(super) struct HandClock(AtomicU64);

impl HandClock {
    pub(super) fn pass(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Set it back; only while no store is open, since the steady clock goes back too.
    pub(super) fn set_back(&self, ms: u64) {
        self.0.fetch_sub(ms, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Now {
        let passed = self.0.load(Ordering::SeqCst);
        Now {
            wall: UnixMs(START + passed),
            mono: passed,
        }
    }
}

/// Numbers that differ and repeat from run to run.
#[derive(Default)]
pub(super) struct CountedEntropy(AtomicU64);

impl Entropy for CountedEntropy {
    fn next(&self) -> u128 {
        let step = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        u128::from(step).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
    }
}

/// A disk with a data directory, and the clock that goes on over restarts.
pub(super) struct Stage {
    pub(super) options: WalOptions,
    pub(super) clock: Arc<HandClock>,
    _dir: Option<tempfile::TempDir>,
}

impl Stage {
    pub(super) fn real() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let data = dir.path().join("data");
        Self {
            _dir: Some(dir),
            ..Self::on(Arc::new(RealDisk), data)
        }
    }

    pub(super) fn sim() -> (Self, SimDisk) {
        let disk = SimDisk::default();
        (Self::on_sim(&disk), disk)
    }

    pub(super) fn on_sim(disk: &SimDisk) -> Self {
        Self::on(Arc::new(disk.clone()), PathBuf::from("/data"))
    }

    fn on(disk: Arc<dyn Disk>, data: PathBuf) -> Self {
        let clock = Arc::new(HandClock::default());
        Self {
            options: WalOptions {
                disk,
                clock: clock.clone(),
                entropy: Arc::new(CountedEntropy::default()),
                segment_bytes: 4096,
                lease_ms: 1000,
                background: false,
                ..WalOptions::new(data, "a test")
            },
            clock,
            _dir: None,
        }
    }

    /// The same clock on another disk.
    pub(super) fn moved_to(&self, disk: &SimDisk) -> Self {
        Self {
            options: WalOptions {
                disk: Arc::new(disk.clone()),
                ..self.options.clone()
            },
            clock: self.clock.clone(),
            _dir: None,
        }
    }

    pub(super) fn try_open(&self) -> Result<Arc<Wal>, OpenError> {
        open(self.options.clone())
    }

    pub(super) fn open(&self) -> Arc<Wal> {
        self.try_open()
            .unwrap_or_else(|error| panic!("cannot open: {error}"))
    }
}

/// Wait for an answer.
pub(super) fn wait<T>(answer: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime")
        .block_on(answer)
}

pub(super) fn job(id: JobId, kind: &str) -> Job {
    Job {
        id,
        kind: kind.to_owned(),
        queue: "default".to_owned(),
        priority: 0,
        payload: format!("payload of {id}").into_bytes(),
        content_type: "text/plain".to_owned(),
        headers: vec![("width".to_owned(), "320".to_owned())],
        enqueued_at: UnixMs(START),
        due: UnixMs(START),
        retry: retry(2),
        timeout_ms: None,
        parent: None,
        terms: Terms::default(),
    }
}

/// So many attempts, one second between them.
pub(super) fn retry(max_attempts: u32) -> RetryPolicy {
    RetryPolicy {
        max_attempts: Some(max_attempts),
        backoff: Some(Backoff::Fixed {
            delay_ms: 1000,
            jitter: 0.0,
        }),
        ..RetryPolicy::default()
    }
}

pub(super) fn enqueue(store: &dyn Store, kind: &str) -> Result<JobId, StoreError> {
    enqueue_job(store, job(store.mint(), kind))
}

pub(super) fn enqueue_job(store: &dyn Store, job: Job) -> Result<JobId, StoreError> {
    let answers = wait(store.enqueue(vec![job]))?;
    Ok(answers.into_iter().next().expect("one answer")?)
}

pub(super) fn claim(
    store: &dyn Store,
    kinds: &[&str],
    max: usize,
) -> Result<Vec<LeasedJob>, StoreError> {
    let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    Ok(wait(store.claim(ClaimRequest { kinds, max }))?.jobs)
}

pub(super) fn claim_one(store: &dyn Store, kind: &str) -> LeasedJob {
    let mut leased = claim(store, &[kind], 1).expect("a claim");
    leased.pop().expect("a job is due")
}

pub(super) fn output() -> Output {
    Output {
        content_type: "application/json".to_owned(),
        payload: b"{\"ok\":true}".to_vec(),
    }
}

pub(super) fn completed() -> Outcome {
    Outcome::Completed(output())
}

pub(super) fn failed() -> Outcome {
    let failure = Failure::new(FailureKind::Error, "E1", "the photo is upside down");
    Outcome::Failed {
        failure: failure.with_hint("turn it"),
        retry_after_ms: None,
    }
}

pub(super) fn permanent() -> Outcome {
    Outcome::Permanent(Failure::new(FailureKind::Error, "E2", "no photo at all"))
}

pub(super) fn report(leased: &LeasedJob, outcome: Outcome, children: Vec<Job>) -> Settlement {
    Settlement {
        id: leased.job.id,
        token: leased.token,
        outcome,
        attempt: Attempt {
            number: leased.attempt,
            token: leased.token,
            started_at: UnixMs(START),
            ended_at: UnixMs(START),
            duration_us: 77,
            digest: "ab".repeat(32),
            plugin: "thumbnail".to_owned(),
            peak_memory: 1 << 20,
            failure: None,
            logs: Vec::new(),
            dropped_lines: 0,
            cpu_us: 7,
        },
        children,
        retry: leased.job.retry.clone(),
    }
}

pub(super) fn settle(
    store: &dyn Store,
    leased: &LeasedJob,
    outcome: Outcome,
) -> Result<State, StoreError> {
    settle_with(store, leased, outcome, Vec::new())
}

pub(super) fn settle_with(
    store: &dyn Store,
    leased: &LeasedJob,
    outcome: Outcome,
    children: Vec<Job>,
) -> Result<State, StoreError> {
    let answers = wait(store.settle(vec![report(leased, outcome, children)]))?;
    Ok(answers.into_iter().next().expect("one answer")?)
}

/// A child the attempt enqueues.
pub(super) fn child(store: &dyn Store, parent: &LeasedJob) -> Job {
    Job {
        parent: Some(parent.job.id),
        ..job(store.mint(), "child")
    }
}

pub(super) fn lose(store: &dyn Store, stage: &Stage) -> Result<usize, StoreError> {
    stage.clock.pass(stage.options.lease_ms + 1);
    wait(store.sweep())
}

pub(super) fn amend(store: &dyn Store, wish: Amend) -> Result<Option<State>, StoreError> {
    let mut answers = wait(store.amend(vec![wish]))?;
    Ok(answers.pop().expect("an answer for each")?.state)
}

/// Call a job off; what the store answers.
pub(super) fn call_off(store: &dyn Store, id: JobId, how: Asked) -> Result<CalledOff, Rejected> {
    let cancel = Cancellation {
        how,
        at: UnixMs(0),
        by: "ada".to_owned(),
        reason: Some("no use".to_owned()),
    };
    let mut answers = wait(store.call_off(vec![id], cancel)).expect("answered");
    answers.pop().expect("an answer for each")
}

pub(super) fn state(store: &dyn Store, id: JobId) -> Option<State> {
    wait(store.job(id))
        .expect("a view")
        .map(|view| view.row.state)
}

pub(super) fn first_page(limit: usize) -> PageRequest {
    PageRequest {
        limit,
        cursor: None,
    }
}

/// Every row of a list, page by page.
pub(super) fn all_rows(store: &dyn Store, filter: &JobFilter, limit: usize) -> Vec<JobRow> {
    let mut rows = Vec::new();
    let mut page = first_page(limit);
    loop {
        let shown = wait(store.jobs(filter.clone(), page.clone())).expect("a page");
        assert!(shown.rows.len() <= limit);
        rows.extend(shown.rows);
        page.cursor = shown.next;
        if page.cursor.is_none() {
            return rows;
        }
    }
}

/// The job of a letter that can be read.
pub(super) fn job_of(name: LetterName) -> Option<JobId> {
    match name {
        LetterName::Job(id) => Some(id),
        LetterName::Place(_) => None,
    }
}

/// Ids of all dead letters, newest first.
pub(super) fn dead_ids(store: &dyn Store) -> Vec<JobId> {
    let page = wait(store.dead(DeadFilter::default(), first_page(1000))).expect("a page");
    page.rows
        .iter()
        .filter_map(|row| job_of(row.name))
        .collect()
}

pub(super) const NO_TOKEN: Token = Token(0);

/// Whether whoever waits for work was told.
pub(super) fn is_told(notified: Pin<&mut impl Future<Output = ()>>) -> bool {
    notified.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
}
