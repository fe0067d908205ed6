//! What the ledger keeps of a job, packed: an [`Entry`](crate::Entry) whose names are numbers.

use crate::{
    event::RecordAt, fact::Accepted, id::Token, index::NameId, ledger::Status,
    outcome::FailureKind, retry::attempts, time::UnixMs,
};

/// No record: none that tells of a checkpoint lies at the very beginning of a store.
const NOWHERE: RecordAt = RecordAt(0);

/// A job in 64 bytes, of which there may be millions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slot {
    /// When it is or was due, started or ended.
    at: UnixMs,
    pub(crate) token: Token,
    pub(crate) enqueued: RecordAt,
    pub(crate) latest: RecordAt,
    checkpoint: RecordAt,
    pub(crate) kind: NameId,
    pub(crate) queue: NameId,
    pub(crate) attempts: u32,
    pub(crate) losses: u32,
    pub(crate) priority: i16,
    max_attempts: u16,
    stage: Stage,
    pub(crate) failure: Option<FailureKind>,
}

const _: () = assert!(size_of::<Slot>() == 64);

/// A [`Status`] without its instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    BackingOff,
    Running,
    Completed,
    Cancelled,
    Discarded,
    Dead,
}

impl Slot {
    /// A job that was just accepted by the record at `at`.
    pub(crate) fn new(job: &Accepted<'_>, kind: NameId, queue: NameId, at: RecordAt) -> Self {
        Self {
            at: job.due,
            token: Token::default(),
            enqueued: at,
            latest: at,
            checkpoint: NOWHERE,
            kind,
            queue,
            attempts: 0,
            losses: 0,
            priority: job.priority,
            max_attempts: u16::try_from(attempts(job.max_attempts)).unwrap_or(u16::MAX),
            stage: Stage::Waiting,
            failure: None,
        }
    }

    pub(crate) fn status(&self) -> Status {
        let (due, at) = (self.at, self.at);
        match self.stage {
            Stage::Waiting => Status::Waiting {
                due,
                backoff: false,
            },
            Stage::BackingOff => Status::Waiting { due, backoff: true },
            Stage::Running => Status::Running { since: at },
            Stage::Completed => Status::Completed(at),
            Stage::Cancelled => Status::Cancelled(at),
            Stage::Discarded => Status::Discarded(at),
            Stage::Dead => Status::Dead(at),
        }
    }

    pub(crate) fn set_status(&mut self, status: Status) {
        self.at = status.at();
        self.stage = match status {
            Status::Waiting { backoff: false, .. } => Stage::Waiting,
            Status::Waiting { backoff: true, .. } => Stage::BackingOff,
            Status::Running { .. } => Stage::Running,
            Status::Completed(_) => Stage::Completed,
            Status::Cancelled(_) => Stage::Cancelled,
            Status::Discarded(_) => Stage::Discarded,
            Status::Dead(_) => Stage::Dead,
        };
    }

    pub(crate) fn max_attempts(&self) -> u32 {
        u32::from(self.max_attempts)
    }

    pub(crate) fn checkpoint(&self) -> Option<RecordAt> {
        (self.checkpoint != NOWHERE).then_some(self.checkpoint)
    }

    pub(crate) fn set_checkpoint(&mut self, at: Option<RecordAt>) {
        self.checkpoint = at.unwrap_or(NOWHERE);
    }

    pub(crate) fn is_running(&self) -> bool {
        self.stage == Stage::Running
    }

    /// The number of the attempt that runs, or would run next.
    pub(crate) fn next_attempt(&self) -> u32 {
        self.attempts.saturating_add(1)
    }
}
