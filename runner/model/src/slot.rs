//! What the ledger keeps of a job, packed: an [`Entry`](crate::Entry) whose names are numbers.

use core::num::NonZeroU32;

use crate::{
    brief::Brief, event::RecordAt, id::Token, index::NameId, ledger::Status, outcome::FailureKind,
    retry::attempts, time::UnixMs,
};

/// A job in 48 bytes, of which there may be millions. What few jobs have lies elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slot {
    /// When it is or was due, started or ended.
    at: UnixMs,
    pub(crate) token: Token,
    pub(crate) enqueued: RecordAt,
    pub(crate) latest: RecordAt,
    pub(crate) kind: NameId,
    pub(crate) queue: NameId,
    pub(crate) priority: i16,
    /// Far above what any policy allows; more are not told apart.
    attempts: u16,
    max_attempts: u16,
    /// Far above what a job survives; more are not told apart.
    losses: u8,
    ended: Ended,
}

const _: () = assert!(size_of::<Slot>() == 48);

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
    Expired,
}

impl Stage {
    const ALL: [Self; 8] = [
        Self::Waiting,
        Self::BackingOff,
        Self::Running,
        Self::Completed,
        Self::Cancelled,
        Self::Discarded,
        Self::Dead,
        Self::Expired,
    ];
}

/// A stage and how the latest attempt failed, in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ended(u8);

/// Stages in that byte; the rest counts failures, with 0 for none.
const STAGES: u8 = 8;

const _: () = assert!(Stage::ALL.len() <= STAGES as usize);
const _: () = assert!((FailureKind::ALL.len() + 1) * STAGES as usize <= 256);

impl Ended {
    fn stage(self) -> Stage {
        Stage::ALL[usize::from(self.0 % STAGES) % Stage::ALL.len()]
    }

    fn set_stage(&mut self, stage: Stage) {
        self.0 = self.0 / STAGES * STAGES + stage as u8;
    }

    fn failure(self) -> Option<FailureKind> {
        let number = usize::from(self.0 / STAGES).checked_sub(1)?;
        FailureKind::ALL.get(number).copied()
    }

    fn set_failure(&mut self, failure: Option<FailureKind>) {
        let place = |failure| FailureKind::ALL.iter().position(|kind| *kind == failure);
        let number = failure.and_then(place).map_or(0, |place| place as u8 + 1);
        self.0 = number * STAGES + self.0 % STAGES;
    }
}

impl Slot {
    /// A job that was just accepted by the record at `at`.
    pub(crate) fn new(brief: &Brief, at: RecordAt) -> Self {
        Self {
            at: brief.due,
            token: Token::default(),
            enqueued: at,
            latest: at,
            kind: brief.kind,
            queue: brief.queue,
            priority: brief.priority,
            attempts: 0,
            max_attempts: u16::try_from(attempts(brief.max_attempts.map(NonZeroU32::get)))
                .unwrap_or(u16::MAX),
            losses: 0,
            ended: Ended(0),
        }
    }

    pub(crate) fn status(&self) -> Status {
        let (due, at) = (self.at, self.at);
        match self.ended.stage() {
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
            Stage::Expired => Status::Expired(at),
        }
    }

    pub(crate) fn set_status(&mut self, status: Status) {
        self.at = status.at();
        self.ended.set_stage(match status {
            Status::Waiting { backoff: false, .. } => Stage::Waiting,
            Status::Waiting { backoff: true, .. } => Stage::BackingOff,
            Status::Running { .. } => Stage::Running,
            Status::Completed(_) => Stage::Completed,
            Status::Cancelled(_) => Stage::Cancelled,
            Status::Discarded(_) => Stage::Discarded,
            Status::Dead(_) => Stage::Dead,
            Status::Expired(_) => Stage::Expired,
        });
    }

    pub(crate) fn max_attempts(&self) -> u32 {
        u32::from(self.max_attempts)
    }

    /// Attempts used since it was accepted or last requeued.
    pub(crate) fn attempts(&self) -> u32 {
        u32::from(self.attempts)
    }

    pub(crate) fn set_attempts(&mut self, attempts: u32) {
        self.attempts = u16::try_from(attempts).unwrap_or(u16::MAX);
    }

    /// How often its lease was lost since then.
    pub(crate) fn losses(&self) -> u32 {
        u32::from(self.losses)
    }

    pub(crate) fn set_losses(&mut self, losses: u32) {
        self.losses = u8::try_from(losses).unwrap_or(u8::MAX);
    }

    /// How the latest attempt failed, if it did.
    pub(crate) fn failure(&self) -> Option<FailureKind> {
        self.ended.failure()
    }

    pub(crate) fn set_failure(&mut self, failure: Option<FailureKind>) {
        self.ended.set_failure(failure);
    }

    pub(crate) fn is_running(&self) -> bool {
        self.ended.stage() == Stage::Running
    }

    /// The number of the attempt that runs, or would run next.
    pub(crate) fn next_attempt(&self) -> u32 {
        self.attempts() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_and_failure_fits_in_the_byte_they_share() {
        let failures = FailureKind::ALL.into_iter().map(Some).chain([None]);
        for failure in failures {
            for stage in Stage::ALL {
                let mut ended = Ended(0);
                ended.set_failure(failure);
                ended.set_stage(stage);
                assert_eq!((ended.stage(), ended.failure()), (stage, failure));
                ended.set_failure(None);
                assert_eq!((ended.stage(), ended.failure()), (stage, None));
            }
        }
    }
}
