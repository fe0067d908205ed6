//! The log and the ledger together: a fact is framed and taken in, a batch of facts is written,
//! synced and only then told.

use std::{io, sync::Arc, time::Instant};

use sandhog_model::{
    Command, Event, JobId, Ledger, Letter, Now, Record, RecordAt, Rejected, Slim, UnixMs, Verdict,
};

use super::{
    Durability, WalOptions,
    batch::Batch,
    flush::{Bell, Flusher},
    history::History,
    live::Live,
    room::Room,
    segments::Appender,
};
use crate::{
    clock::Clock,
    disk::DiskError,
    entropy::Entropy,
    metrics::LogMetrics,
    store::{
        PurgeCounts, StoreError,
        dead::{self, DeadStore},
        frames,
    },
};

/// Changes kept for a listener that is behind; a slower one misses some and hears that it did.
const CHANGES: usize = 4096;

/// Why a fact was not taken in.
#[derive(Debug)]
pub(super) enum Unstaged {
    /// It is refused; nothing changed.
    Refused(StoreError),
    /// The log's state is not known any more.
    Poison(String),
}

/// Whether a burial's letter is still to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WithLetter {
    Write,
    IsThere,
}

/// What the writer counted since the start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    pub(super) appended: u64,
    pub(super) syncs: u64,
    pub(super) last_sync_us: u64,
    pub(super) purged: PurgeCounts,
    pub(super) pruned: u64,
    pub(super) freed_segments: u64,
    pub(super) reclaimed_bytes: u64,
}

/// The log, the ledger and the dead letters, in the hands of one thread.
pub(super) struct Writer {
    pub(super) ledger: Ledger,
    /// What the ledger's jobs take in the log.
    pub(super) live: Live,
    pub(super) appender: Appender,
    pub(super) dead: Arc<DeadStore>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) durability: Durability,
    pub(super) bell: Bell,
    /// `None`: every batch is synced by the writer.
    pub(super) flusher: Option<Flusher>,
    /// How far the log is written, and synced.
    pub(super) written_to: Mark,
    pub(super) synced_to: Mark,
    /// The sequence and the mark up to which the flush that is away syncs.
    pub(super) flushing_to: (u64, Mark),
    pub(super) counters: Counters,
    pub(super) last_sync: Instant,
    pub(super) watch: Arc<LogMetrics>,
    /// The sequence up to which the watch was told of syncs.
    pub(super) counted_to: u64,
    pub(super) batch: Batch,
}

/// A place in the log, and the largest id of the jobs accepted before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) place: RecordAt,
    pub(super) last_id: Option<JobId>,
}

impl Unstaged {
    /// A file that cannot grow refuses the wish when the disk is full, and otherwise poisons.
    pub(super) fn of(error: &DiskError, needs: impl FnOnce() -> String) -> Self {
        if error.is_full() {
            Self::Refused(StoreError::Full {
                path: error.path.display().to_string(),
                needs: needs(),
            })
        } else {
            Self::Poison(error.to_string())
        }
    }
}

/// What a letters' file that cannot grow needs.
pub(super) fn letter_room() -> String {
    "room needed for a dead letter".to_owned()
}

impl Writer {
    /// A writer of the log that `appender` goes on with.
    pub(super) fn new(
        options: &WalOptions,
        ledger: Ledger,
        live: Live,
        appender: Appender,
        dead: Arc<DeadStore>,
    ) -> Self {
        let sequence = appender.next_sequence();
        let here = Mark {
            place: appender.next_place(),
            last_id: ledger.last_id(),
        };
        Self {
            ledger,
            live,
            appender,
            dead,
            clock: options.clock.clone(),
            entropy: options.entropy.clone(),
            durability: options.durability,
            bell: Bell::new(CHANGES),
            flusher: None,
            written_to: here,
            synced_to: here,
            flushing_to: (0, here),
            counters: Counters::default(),
            last_sync: Instant::now(),
            watch: options.watch.clone(),
            counted_to: sequence,
            batch: Batch::default(),
        }
    }

    /// Decide a wish and take in what follows.
    pub(super) fn carry_out(&mut self, command: Command, now: Now) -> Result<Vec<JobId>, Unstaged> {
        let entropy = self.entropy.next() as u64;
        let events = self
            .ledger
            .decide(command, now, entropy)
            .map_err(|rejected| Unstaged::Refused(rejected.into()))?;
        let mut staged = Vec::with_capacity(events.len());
        for event in events {
            let id = event.id();
            match self.stage(event, WithLetter::Write, now) {
                Ok(_) => staged.extend(id),
                // What there was room for is done.
                Err(Unstaged::Refused(_)) if !staged.is_empty() => break,
                Err(unstaged) => return Err(unstaged),
            }
        }
        Ok(staged)
    }

    /// Lease the job whose turn it is, if there is one: which, and since when it was due.
    pub(super) fn lease(
        &mut self,
        kinds: Arc<[String]>,
        now: Now,
    ) -> Result<Option<(JobId, UnixMs)>, Unstaged> {
        // Nothing about a lease is left to chance.
        let decided = self.ledger.decide(Command::Claim(kinds), now, 0);
        let events = decided.map_err(|rejected| Unstaged::Refused(rejected.into()))?;
        let mut leased = None;
        for event in events {
            let due = |id| Some((id, self.ledger.look(id)?.status().at()));
            leased = event.id().and_then(due);
            self.stage(event, WithLetter::Write, now)?;
        }
        Ok(leased)
    }

    /// Frame a fact and take it in. A burial writes its letter first, unless it is there.
    pub(super) fn stage(
        &mut self,
        event: Event,
        letter: WithLetter,
        now: Now,
    ) -> Result<RecordAt, Unstaged> {
        let previous = match &event {
            Event::Carried(_) | Event::Enqueued(_) => None,
            _ => event
                .id()
                .and_then(|id| self.ledger.look(id))
                .map(|seen| seen.latest()),
        };
        let record = Record { previous, event };
        let mut body = std::mem::take(&mut self.batch.body);
        body.clear();
        frames::encode(&record, &mut body)
            .map_err(|why| Unstaged::Refused(Rejected::Invalid(why).into()))?;
        // Room for the record first: a letter without one is a burial cut in half.
        self.reserve(body.len(), Room::of(&record.event), now.mono)?;
        if letter == WithLetter::Write
            && let Some(letter) = self.letter_of(&record.event).map_err(Unstaged::Refused)?
        {
            self.bury(&letter)?;
        }
        self.batch.note(&record.event);
        let at = self.append(&body, &Slim::from(&record), now)?;
        self.batch.body = body;
        Ok(at)
    }

    /// Append a record for which there is room, and take it in.
    pub(super) fn append(
        &mut self,
        body: &[u8],
        slim: &Slim<'_>,
        now: Now,
    ) -> Result<RecordAt, Unstaged> {
        if self.appender.will_roll(body.len()) {
            // A segment's end is synced there: never beside another sync of the same file.
            self.land(true).map_err(Unstaged::Poison)?;
        }
        let at = self.appender.append(body).map_err(poison)?;
        let bytes = frames::framed_len(body.len()) as u64;
        self.counters.appended += 1;
        self.live
            .take_in(&mut self.ledger, slim, at, bytes, now.mono)
            .map_err(|unsound| Unstaged::Poison(format!("job {}: {}", unsound.id, unsound.why)))?;
        self.batch.readied |= self.ledger.take_opened();
        Ok(at)
    }

    /// Where the log is now.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            place: self.appender.next_place(),
            last_id: self.ledger.last_id(),
        }
    }

    /// What lies before this mark is as safe as the setting says, and can be read.
    pub(super) fn settled_to(&self) -> Mark {
        match self.durability {
            Durability::Commit => self.synced_to,
            Durability::Interval(_) | Durability::None => self.written_to,
        }
    }

    /// See that a record with a body of so many bytes finds room.
    pub(super) fn reserve(&mut self, body: usize, room: Room, mono: u64) -> Result<(), Unstaged> {
        let reserved = self.appender.reserve(body, room, mono);
        reserved.map_err(|error| self.no_room(&error))
    }

    /// What a segment that cannot be made means.
    pub(super) fn no_room(&self, error: &DiskError) -> Unstaged {
        let bytes = self.appender.segment_bytes();
        Unstaged::of(error, || {
            let mib = bytes as f64 / f64::from(1 << 20);
            format!("{mib} MiB needed (`store.segment_size`)")
        })
    }

    /// Write a letter, on a full disk in room that the log gives back. Without that the job goes on as
    /// it was, and whoever reported on it tries again.
    pub(super) fn bury(&mut self, letter: &Letter) -> Result<(), Unstaged> {
        let staged = match self.dead.stage(letter) {
            Err(error) if error.kind == io::ErrorKind::FileTooLarge => {
                let why = format!("{error}: the job and its last attempts have more than 16 MiB");
                return Err(Unstaged::Refused(Rejected::Invalid(why).into()));
            }
            Err(error) if error.is_full() => {
                let bytes = dead::letter_bytes(letter);
                match self.appender.lend(bytes) {
                    Ok(true) => self.dead.stage(letter),
                    Ok(false) => Err(error),
                    Err(error) => Err(error),
                }
            }
            staged => staged,
        };
        staged.map_err(|error| Unstaged::of(&error, letter_room))
    }

    /// The letter a fact needs, when it buries its job.
    fn letter_of(&self, event: &Event) -> Result<Option<Letter>, StoreError> {
        let (id, attempt, died_at, lost) = match event {
            Event::Settled {
                id,
                attempt,
                verdict: Verdict::Dead,
                ..
            } => (*id, attempt, attempt.ended_at, 0),
            Event::Lost {
                id,
                at,
                buried: Some(attempt),
                ..
            } => (*id, attempt, *at, 1),
            Event::Settled { .. }
            | Event::Lost { .. }
            | Event::Enqueued(_)
            | Event::Cron { .. }
            | Event::CronForgotten { .. }
            | Event::Batch { .. }
            | Event::BatchForgotten { .. }
            | Event::Leased { .. }
            | Event::Checkpointed { .. }
            | Event::Requeued { .. }
            | Event::Hastened { .. }
            | Event::Deleted { .. }
            | Event::CancelAsked { .. }
            | Event::Cancelled { .. }
            | Event::Postponed { .. }
            | Event::Expired { .. }
            | Event::Dropped { .. }
            | Event::Replaced { .. }
            | Event::Unlocked { .. }
            | Event::Steered { .. }
            | Event::Carried(_)
            | Event::Pruned { .. }
            | Event::Trimmed { .. }
            | Event::Merged { .. } => return Ok(None),
        };
        let Some(entry) = self.ledger.get(id) else {
            return Ok(None);
        };
        let history = History::read(id, &entry, |at| self.appender.read(at))?;
        let mut letter = history.into_letter(&entry, died_at);
        letter.attempts.push((**attempt).clone());
        letter.losses += lost;
        Ok(Some(letter))
    }

    /// The letter of a job the log shows as dead.
    pub(super) fn letter_from_log(&self, id: JobId) -> Result<Option<Letter>, StoreError> {
        let Some(entry) = self.ledger.get(id) else {
            return Ok(None);
        };
        let history = History::read(id, &entry, |at| self.appender.read(at))?;
        Ok(Some(history.into_letter(&entry, entry.status.at())))
    }
}

fn poison(error: DiskError) -> Unstaged {
    Unstaged::Poison(error.to_string())
}
