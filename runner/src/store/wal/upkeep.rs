//! What the writer does for compaction and retention: it alone says what is needed, writes jobs
//! anew, says that a part of the log is not needed any more, and forgets jobs that ended.

use sandhog_model::{Command, Event, JobId, Now, Retention, UnixMs, cron::CronState};
use tokio::sync::watch;

use super::{
    WalOptions,
    actor::Actor,
    compact::Compaction,
    flush::Waiting,
    layout,
    wish::{Anew, Ask, Front, Rest},
    writer::{Unstaged, WithLetter},
};
use crate::store::StoreError;

/// Jobs forgotten in one record at most.
const PRUNED: usize = 1000;
/// The log may have so many times the bytes that are needed, and one segment more: the one in use.
const FACTOR: u64 = 3;
/// New work waits when the log has so many times what it may have. Outcomes never wait.
const BEHIND: u64 = 2;

/// What the compaction's thread does, as far as the writer knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It sleeps until it is woken.
    Asleep,
    /// It was woken, or works.
    Awake,
    /// It rests, and wakes by itself.
    Resting,
    /// It cannot free this segment.
    Stuck(u32),
}

/// A schedule, told anew as it is.
pub(super) fn cron_as_it_is(name: &str, state: &CronState, now: Now) -> Event {
    Event::Cron {
        name: name.to_owned(),
        at: now.wall,
        state: Box::new(state.clone()),
        job: None,
    }
}

/// What is looked after between the batches.
pub(super) struct Upkeep {
    pub(super) compaction: Option<Compaction>,
    phase: Phase,
    /// Whether new work has to wait for the compaction.
    pub(super) behind: watch::Sender<bool>,
    keep_ended_ms: Option<u64>,
    max_ended: Option<usize>,
    spare_ended_ms: u64,
    /// Whether a look at the age of what ended is due.
    by_age: bool,
    /// Whether more is to be forgotten than one record may name.
    prune_more: bool,
}

impl Upkeep {
    pub(super) fn new(options: &WalOptions) -> Self {
        Self {
            compaction: None,
            phase: Phase::Asleep,
            behind: watch::Sender::new(false),
            keep_ended_ms: options.keep_ended_ms,
            max_ended: options.max_ended,
            spare_ended_ms: options.spare_ended_ms,
            by_age: true,
            prune_more: false,
        }
    }

    /// The segment that the compaction's thread cannot free.
    pub(super) fn stuck_segment(&self) -> Option<u32> {
        match self.phase {
            Phase::Stuck(segment) => Some(segment),
            Phase::Asleep | Phase::Awake | Phase::Resting => None,
        }
    }

    /// Look at the age of what ended, after this batch.
    pub(super) fn age_is_due(&mut self) {
        self.by_age = true;
    }
}

impl Actor {
    /// Between two batches: forget what is not kept, and see whether the log is to be compacted.
    pub(super) fn look_after(&mut self, now: Now) {
        let excess = self.upkeep.max_ended.is_some_and(|max| {
            self.writer
                .ledger
                .ended()
                .max(self.writer.ledger.batches_over())
                > max
        });
        if std::mem::take(&mut self.upkeep.by_age) || excess {
            self.upkeep.prune_more |= self.prune(now).unwrap_or(false);
        }
        let is_poisoned = self.refusal().is_some();
        let wants = self.upkeep.prune_more || self.is_large(1) && !self.is_stuck();
        match self.upkeep.phase {
            Phase::Asleep | Phase::Stuck(_) if wants && !is_poisoned => {
                self.upkeep.prune_more = false;
                self.upkeep.phase = Phase::Awake;
                self.upkeep.compaction.iter().for_each(Compaction::wake);
            }
            Phase::Asleep | Phase::Stuck(_) | Phase::Awake | Phase::Resting => {}
        }
        let is_behind = !is_poisoned && self.upkeep.phase == Phase::Awake && self.is_large(BEHIND);
        self.upkeep.behind.send_if_modified(|behind| {
            let changed = *behind != is_behind;
            *behind = is_behind;
            changed
        });
    }

    /// Whether the log has more than `times` what it may have. With a spare of one segment that is
    /// three times what is needed and two segments.
    fn is_large(&self, times: u64) -> bool {
        let appender = &self.writer.appender;
        let bound = FACTOR * self.writer.live.bytes() + appender.segment_bytes();
        appender.bytes_on_disk() > times * bound
    }

    fn is_stuck(&self) -> bool {
        self.upkeep.phase == Phase::Stuck(self.writer.appender.first_segment())
    }

    /// Do what the compaction's thread asks for.
    pub(super) fn compact(&mut self, ask: Ask, now: Now) {
        match ask {
            Ask::Prune(reply) => {
                let more = self.prune(now);
                self.waiting.push(Waiting::of(reply, more));
            }
            Ask::Front(reply) => {
                self.upkeep.phase = Phase::Awake;
                let front = self.front(now);
                self.waiting.push(Waiting::of(reply, front));
            }
            Ask::Carry(jobs, reply) => {
                let changed = self.carry(jobs, now);
                self.waiting.push(Waiting::of(reply, changed));
            }
            Ask::Trim(reply) => {
                let before = self.trim(now);
                self.waiting.push(Waiting::of(reply, before));
            }
            Ask::Removed {
                segments,
                bytes,
                reply,
            } => {
                self.writer.appender.removed(bytes);
                self.writer.counters.freed_segments += segments;
                self.writer.counters.reclaimed_bytes += bytes;
                self.waiting.push(Waiting::of(reply, Ok(())));
            }
            Ask::Rest(rest, reply) => {
                self.upkeep.phase = match rest {
                    Rest::Done => Phase::Asleep,
                    Rest::Later => Phase::Resting,
                    Rest::Stuck(segment) => Phase::Stuck(segment),
                };
                self.waiting.push(Waiting::of(reply, Ok(())));
            }
            Ask::Fail(cause) => self.poisoned(cause),
        }
    }

    /// The first segment, when the log is too large. One that is in use, and larger than others, is
    /// closed first.
    fn front(&mut self, now: Now) -> Result<Option<Front>, StoreError> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        if !self.is_large(1) {
            return Ok(None);
        }
        let segment = self.writer.appender.first_segment();
        if segment == self.writer.appender.current_segment() {
            self.land(true);
            let closed = self.writer.appender.close_segment(now.mono);
            closed.map_err(|error| self.unstaged(self.writer.no_room(&error)))?;
        }
        Ok(Some(Front {
            segment,
            current: self.writer.appender.current_segment(),
            places: self.writer.live.places_in(segment),
        }))
    }

    /// Write jobs anew that did not change since they were read. Gives those that did.
    ///
    /// The spare is left alone as long as another can be made. On a full disk it is used only when
    /// that is sure to free the first segment: otherwise outcomes would find no room.
    fn carry(&mut self, jobs: Vec<Anew>, now: Now) -> Result<Vec<JobId>, StoreError> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let mut changed = Vec::new();
        for Anew { latest, carried } in jobs {
            let id = carried.job.id;
            if self.writer.ledger.get(id).map(|entry| entry.latest) != Some(latest) {
                changed.push(id);
                continue;
            }
            self.may_write_anew(now)?;
            let event = Event::Carried(carried);
            self.writer
                .stage(event, WithLetter::IsThere, now)
                .map_err(|unstaged| self.unstaged(unstaged))?;
        }
        Ok(changed)
    }

    /// Whether the next segment is there, or in the making. When the disk is full what is kept for
    /// outcomes is used up, if what the first segment still holds fits, with an eighth of a segment
    /// left for them.
    fn may_write_anew(&mut self, now: Now) -> Result<(), StoreError> {
        let full = match self.writer.appender.spare_is_coming(now.mono) {
            Ok(None) => return Ok(()),
            Ok(Some(full)) => full,
            Err(error) => return Err(self.unstaged(Unstaged::Poison(error.to_string()))),
        };
        let appender = &self.writer.appender;
        let needed = self.writer.live.bytes_in(appender.first_segment());
        if needed + needed / 4 + appender.segment_bytes() / 8 <= appender.room() {
            return Ok(());
        }
        Err(self.unstaged(self.writer.no_room(&full)))
    }

    /// Say, for good, that what lies before the first segment that holds a job's first record is
    /// not needed. Gives that segment.
    fn trim(&mut self, now: Now) -> Result<u32, StoreError> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let writer = &mut self.writer;
        // Every letter that goes with a record before is written, and taken out, first.
        let letters = writer.commit(now).and_then(|()| writer.dead.sync_all());
        letters.map_err(|error| self.unstaged(Unstaged::Poison(error.to_string())))?;
        let writer = &mut self.writer;
        let current = writer.appender.current_segment();
        let before = writer.live.first_segment().unwrap_or(current).min(current);
        let (weighed, there) = (writer.live.jobs(), writer.ledger.len() as u64);
        if weighed != there {
            return Err(StoreError::Damaged {
                path: format!("segment {before}"),
                offset: 0,
                why: format!("{weighed} jobs were found in the log and {there} are known"),
            });
        }
        let place = layout::place(before, 0);
        let crons: Vec<Event> = writer
            .ledger
            .crons_before(place)
            .map(|(name, state)| cron_as_it_is(name, state, now))
            .collect();
        let retold = writer.ledger.retold(place, now.wall);
        for cron in crons.into_iter().chain(retold) {
            let staged = self.writer.stage(cron, WithLetter::IsThere, now);
            staged.map_err(|unstaged| self.unstaged(unstaged))?;
        }
        let writer = &mut self.writer;
        let trimmed = Event::Trimmed {
            before: place,
            at: now.wall,
            last_id: writer.ledger.last_id(),
            last_token: writer.ledger.last_token(),
        };
        writer
            .stage(trimmed, WithLetter::IsThere, now)
            .map_err(|unstaged| self.unstaged(unstaged))?;
        Ok(before)
    }

    /// Forget jobs that ended and are not kept, at most as many as a record names. Whether there
    /// may be more.
    ///
    /// Not synced by itself: what is not forgotten for good is forgotten again.
    fn prune(&mut self, now: Now) -> Result<bool, StoreError> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let keep_ms = self.upkeep.keep_ended_ms;
        let command = Command::Prune(Retention {
            ended_before: UnixMs(keep_ms.map_or(0, |ms| now.wall.0.saturating_sub(ms))),
            keep: self.upkeep.max_ended.unwrap_or(usize::MAX),
            spared_from: UnixMs(match self.upkeep.spare_ended_ms {
                0 => u64::MAX,
                ms => now.wall.0.saturating_sub(ms),
            }),
            max: PRUNED,
        });
        let before = self.writer.ledger.len();
        match self.carry_out(command, now) {
            Ok(_) => {}
            Err(error @ StoreError::Full { .. }) => {
                tracing::debug!(%error, "jobs that ended are kept until there is room");
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        let pruned = before - self.writer.ledger.len();
        self.writer.counters.pruned += pruned as u64;
        Ok(pruned == PRUNED)
    }
}
