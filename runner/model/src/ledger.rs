//! The state of every job, built from facts alone.

mod batches;
mod entry;
mod queues;
mod unsound;

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::Vec,
};

use serde::{Deserialize, Serialize};

use crate::{
    cancel::Asked,
    command::{Admission, Command, Rejected},
    cron, decide,
    event::{Event, RecordAt},
    fact::Accepted,
    id::{JobId, Token},
    index::{Index, Names, Sorted},
    job::State,
    outcome::FailureKind,
    seen::Seen,
    side::Sides,
    slot::Slot,
    time::{Now, UnixMs},
};

pub use queues::Standing;
pub use unsound::{MissingRecords, Unsound};

/// What the ledger knows of a job; the rest lies on disk at the places named here.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Which handler runs it.
    pub kind: Arc<str>,
    /// Which queue it waits in.
    pub queue: Arc<str>,
    /// Higher runs first.
    pub priority: i16,
    /// Where it is in its life.
    pub status: Status,
    /// Attempts used since it was accepted or last requeued. One that runs, was snoozed, put back
    /// or lost is not among them.
    pub attempts: u32,
    /// Attempts it may use, as far as known.
    pub max_attempts: u32,
    /// How often its lease was lost, since it was accepted or last requeued.
    pub losses: u32,
    /// Attempts among the used ones that failed in a way that the same input brings about again; of
    /// a job that ended, none are counted.
    pub traps: u32,
    /// The latest lease, running or not.
    pub token: Token,
    /// How the latest attempt failed, if it did. An attempt that never started says nothing.
    pub failure: Option<FailureKind>,
    /// The record that accepted it: its own, or that of the attempt that enqueued it (find the job
    /// with [`Event::accepted`]).
    pub enqueued: RecordAt,
    /// Its latest record; equal to `enqueued` as long as nothing happened to it.
    pub latest: RecordAt,
    /// The record of its latest checkpoint, as long as an attempt may follow that wants it.
    pub checkpoint: Option<RecordAt>,
    /// How the attempt that runs is asked to end, if it is.
    pub asked: Option<Asked>,
    /// The group it takes turns and shares limits with.
    pub group: Option<Arc<str>>,
    /// From when on it is not to be begun, as long as that counts.
    pub expires: Option<UnixMs>,
    /// Whether it expires no more, because someone asked for it after it ended.
    pub lifted: bool,
    /// Whether it stands in nobody's way any more, because someone said so.
    pub unlocked: bool,
    /// When the first of its failed attempts ended, if that counts for how long it may go on failing.
    pub failing_since: Option<UnixMs>,
    /// The batch it belongs to.
    pub batch: Option<JobId>,
}

/// The stored states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Waiting until due, for a reason.
    Waiting {
        /// When it may run.
        due: UnixMs,
        /// Whether it waits out a backoff.
        backoff: bool,
    },
    /// Leased.
    Running {
        /// When the lease was given.
        since: UnixMs,
    },
    /// Ended, with a result, at an instant.
    Completed(UnixMs),
    /// Ended by a person.
    Cancelled(UnixMs),
    /// Dropped by its handler.
    Discarded(UnixMs),
    /// In the dead letters.
    Dead(UnixMs),
    /// Not begun before it was too late.
    Expired(UnixMs),
}

/// The state of every job. Two ledgers are equal when every job, lease, count and order is.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    pub(crate) entries: Sorted<JobId, Slot>,
    /// What few jobs have besides.
    pub(crate) sides: Sides,
    /// Where the latest checkpoint lies of the jobs that have one.
    pub(crate) checkpoints: BTreeMap<JobId, RecordAt>,
    /// How the running jobs are asked to end that are.
    pub(crate) asked: BTreeMap<JobId, Asked>,
    pub(crate) crons: BTreeMap<Box<str>, cron::Known>,
    /// How many attempts of a job that goes on failed in a way that the same input brings about
    /// again, where any did.
    pub(crate) traps: BTreeMap<JobId, u32>,
    pub(crate) names: Names,
    pub(crate) index: Index,
    pub(crate) last_id: Option<JobId>,
    pub(crate) last_token: Token,
    /// Where the first record lies that was there to be read; 0 when none was missing.
    pub(crate) first: RecordAt,
    /// No record before this place is needed.
    pub(crate) trimmed: RecordAt,
    /// Jobs whose first records lay before `first`: a later record tells all of them or forgets
    /// them.
    pub(crate) awaited: BTreeSet<JobId>,
}

/// How many jobs of each queue are in each state; queues by name, states in the order of a job's
/// life.
pub type QueueCounts = Vec<(Arc<str>, Vec<(State, u64)>)>;

impl Status {
    /// The state a person sees at `wall`.
    #[must_use]
    pub fn state(&self, wall: UnixMs) -> State {
        match *self {
            Self::Waiting { due, .. } if due <= wall => State::Available,
            Self::Waiting { backoff: true, .. } => State::Retryable,
            Self::Waiting { backoff: false, .. } => State::Scheduled,
            Self::Running { .. } => State::Running,
            Self::Completed(_) => State::Completed,
            Self::Cancelled(_) => State::Cancelled,
            Self::Discarded(_) => State::Discarded,
            Self::Dead(_) => State::Dead,
            Self::Expired(_) => State::Expired,
        }
    }

    /// When it is or was due, started or ended.
    #[must_use]
    pub fn at(&self) -> UnixMs {
        match *self {
            Self::Waiting { due, .. } => due,
            Self::Running { since } => since,
            Self::Completed(at)
            | Self::Cancelled(at)
            | Self::Discarded(at)
            | Self::Dead(at)
            | Self::Expired(at) => at,
        }
    }
}

impl PartialEq for Ledger {
    fn eq(&self, other: &Self) -> bool {
        let entries = |ledger: &'_ Self| {
            ledger
                .seen(None)
                .map(|(id, seen)| (id, seen.entry()))
                .collect::<Vec<_>>()
        };
        self.last_id == other.last_id
            && self.last_token == other.last_token
            && self.first == other.first
            && self.trimmed == other.trimmed
            && self.awaited == other.awaited
            && (self.asked == other.asked && self.crons().eq(other.crons()))
            && entries(self) == entries(other)
            && self.index.same(&self.names, &other.index, &other.names)
    }
}

impl Ledger {
    /// A ledger for a log whose records before `first` are not there: they were trimmed away, or
    /// are lost, which [`complete`](Self::complete) tells.
    #[must_use]
    pub fn starting_at(first: RecordAt) -> Self {
        Self {
            first,
            ..Self::default()
        }
    }

    /// To be called when every record was taken in.
    ///
    /// # Errors
    /// Records that are not there are needed: they were not trimmed away.
    pub fn complete(&mut self) -> Result<(), MissingRecords> {
        if self.first > self.trimmed || !self.awaited.is_empty() {
            return Err(MissingRecords {
                before: self.first,
                job: self.awaited.first().copied(),
            });
        }
        self.first = RecordAt(0);
        Ok(())
    }

    /// Before which place no record is needed.
    #[must_use]
    pub fn trimmed(&self) -> RecordAt {
        self.trimmed
    }

    /// What follows from a wish. Nothing changes yet. `entropy` feeds the jitter.
    ///
    /// A claim sees what [`advance`](Self::advance) moved among the claimable, so call that first.
    ///
    /// # Errors
    /// The rule that refuses the wish.
    pub fn decide(&self, command: Command, now: Now, entropy: u64) -> Result<Vec<Event>, Rejected> {
        decide::decide(self, command, now, entropy)
    }

    /// What becomes of a job that is to be accepted: the rule of [`Command::Enqueue`], for whoever has
    /// the job's record already.
    ///
    /// # Errors
    /// There is one with this id.
    pub fn may_accept(&self, id: JobId) -> Result<(), Rejected> {
        if self.is_taken(id) {
            return Err(Rejected::IdTaken(id));
        }
        Ok(())
    }

    /// What becomes of a job that is to be accepted: the rule of [`Command::Enqueue`], for whoever has
    /// the job's record already.
    ///
    /// # Errors
    /// Why it is not accepted.
    pub fn admit(&self, job: &Accepted<'_>, now: Now) -> Result<Admission, Rejected> {
        decide::admit(self, job, now)
    }

    /// Move what became due among the claimable, and open queues whose rate lets more begin. Call before
    /// deciding a claim.
    pub fn advance(&mut self, now: Now) {
        for id in self.index.take_due(now.wall) {
            if let Some(slot) = self.entries.get(&id) {
                let beside = self.sides.of(id);
                self.index
                    .admit(id, slot, &beside, now.mono, &mut self.names);
            }
        }
        self.index.open_until(now.mono, &mut self.names);
    }

    /// One job.
    #[must_use]
    pub fn get(&self, id: JobId) -> Option<Entry> {
        self.look(id).map(|seen| seen.entry())
    }

    /// One job, nothing of it copied.
    #[must_use]
    pub fn look(&self, id: JobId) -> Option<Seen<'_>> {
        self.slot(id).map(|slot| self.seeing(id, slot))
    }

    pub(crate) fn slot(&self, id: JobId) -> Option<&Slot> {
        self.entries.get(&id)
    }

    /// How many attempts of a job that goes on failed in a way that the same input brings about again.
    pub(crate) fn traps(&self, id: JobId) -> u32 {
        self.traps.get(&id).copied().unwrap_or(0)
    }

    fn seeing<'a>(&'a self, id: JobId, slot: &'a Slot) -> Seen<'a> {
        let ledger = self;
        Seen { id, slot, ledger }
    }

    /// How many jobs there are, whatever their state.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no job at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The state of a job at `wall`, as [`counts`](Self::counts) counts it.
    #[must_use]
    pub fn state(&self, id: JobId, wall: UnixMs) -> Option<State> {
        let slot = self.entries.get(&id)?;
        let status = slot.status();
        Some(match status {
            Status::Waiting { .. } if self.index.is_ready(id, slot, &self.sides.of(id)) => {
                State::Available
            }
            Status::Waiting { .. }
            | Status::Running { .. }
            | Status::Completed(_)
            | Status::Cancelled(_)
            | Status::Discarded(_)
            | Status::Dead(_)
            | Status::Expired(_) => status.state(wall),
        })
    }

    /// Jobs newest first, from below `before`.
    pub fn newest(&self, before: Option<JobId>) -> impl Iterator<Item = (JobId, Entry)> + '_ {
        self.seen(before).map(|(id, seen)| (id, seen.entry()))
    }

    /// As [`newest`](Self::newest), for whoever passes over most of them: nothing is copied.
    pub fn seen(&self, before: Option<JobId>) -> impl Iterator<Item = (JobId, Seen<'_>)> + '_ {
        let below = self.entries.below(before);
        below.map(|(id, slot)| (id, self.seeing(id, slot)))
    }

    /// The earliest instant at which a job that waits now becomes due.
    #[must_use]
    pub fn next_due(&self) -> Option<UnixMs> {
        self.index.next_due()
    }

    /// Jobs that wait for an instant, by that instant, from behind a job at an instant. Some may be due
    /// since the last [`advance`](Self::advance).
    pub fn due_after(
        &self,
        at: UnixMs,
        id: JobId,
    ) -> impl Iterator<Item = (UnixMs, JobId, Seen<'_>)> + '_ {
        let waiting = self.index.due_after(at, id);
        waiting.filter_map(|(at, id)| Some((at, id, self.look(id)?)))
    }

    /// How many jobs ended and are not dead: those that retention is about.
    #[must_use]
    pub fn ended(&self) -> usize {
        self.index.ended().len()
    }

    /// Leases not renewed for `lease_ms` by the steady clock.
    #[must_use]
    pub fn overdue(&self, mono: u64, lease_ms: u64) -> Vec<(JobId, Token)> {
        self.index.overdue(mono, lease_ms)
    }

    /// Every lease.
    #[must_use]
    pub fn leases(&self) -> Vec<(JobId, Token)> {
        self.index.leases()
    }

    /// The holder is alive. `false` when the lease no longer holds the job.
    pub fn renew(&mut self, id: JobId, token: Token, mono: u64) -> bool {
        self.index.renew(id, token, mono)
    }

    /// Counts by queue and state at `wall`, queues in the order of their names, queues and states
    /// without jobs left out. Costs as much as there are queues, and jobs that became due since
    /// the last [`advance`](Self::advance).
    #[must_use]
    pub fn counts(&self, wall: UnixMs) -> QueueCounts {
        self.index
            .counts(wall, &self.names, |id| self.entries.get(&id))
    }

    /// The largest id seen, of jobs deleted since as well.
    #[must_use]
    pub fn last_id(&self) -> Option<JobId> {
        self.last_id
    }

    /// The largest token given.
    #[must_use]
    pub fn last_token(&self) -> Token {
        self.last_token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attempt::Attempt,
        event::Verdict,
        job::{KindDefaults, NewJob, Output},
    };
    use alloc::format;

    /// A runner that once had many jobs of many kinds keeps nothing of them.
    #[test]
    fn a_ledger_without_jobs_holds_nothing() {
        let mut ledger = Ledger::default();
        let mut take_in = |event: Event| {
            ledger.evolve(&event, RecordAt(1), 0).expect("sound");
        };
        for round in 1..=300_u64 {
            let (id, token, at) = (JobId(round.into()), Token(round), UnixMs(round));
            let new = NewJob {
                kind: format!("kind-{round}"),
                queue: Some(format!("queue-{}", round % 7)),
                group: Some(format!("group-{}", round % 5)),
                ..NewJob::default()
            };
            let job = new.accept(id, at, &KindDefaults::default());
            take_in(Event::Enqueued(Box::new(job.expect("within bounds"))));
            take_in(Event::Leased { id, token, at });
            take_in(Event::Settled {
                id,
                attempt: Box::new(Attempt::without_run(1, token, at)),
                verdict: match round % 2 {
                    0 => Verdict::Dead,
                    _ => Verdict::Completed(Output::default()),
                },
                children: Vec::new(),
            });
        }
        for round in 1..=300_u64 {
            let (id, at) = (JobId(round.into()), UnixMs(500));
            take_in(match round % 2 {
                0 => Event::Deleted { id, at },
                _ => Event::Pruned {
                    ids: Vec::from([id]),
                    at,
                },
            });
        }
        assert!(ledger.is_empty() && ledger.asked.is_empty() && ledger.names.is_empty());
        assert!(ledger.traps.is_empty());
        assert!(ledger.sides.is_empty() && ledger.index.locks.is_empty());
        assert!(ledger.index.batches.is_empty());
        assert_eq!(ledger.counts(UnixMs(600)), []);
        let mut empty = Ledger::default();
        (empty.last_id, empty.last_token) = (ledger.last_id, ledger.last_token);
        assert_eq!(ledger, empty);
    }
}
