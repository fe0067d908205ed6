//! The log and the ledger together: a fact is framed and taken in, a batch of facts is written,
//! synced and only then told.

use std::{sync::Arc, time::Instant};

use sandhog_model::{Command, Event, JobId, Ledger, Letter, Now, Record, RecordAt, Verdict};
use tokio::sync::{Notify, broadcast};

use super::{Durability, history::History, live::Live, segments::Appender};
use crate::{
    clock::Clock,
    disk::DiskError,
    entropy::Entropy,
    store::{JobChange, StoreError, dead::DeadStore, frames},
};

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
    pub(super) purged: u64,
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
    pub(super) changes: broadcast::Sender<JobChange>,
    pub(super) ready: Arc<Notify>,
    pub(super) counters: Counters,
    pub(super) last_sync: Instant,
    pub(super) batch: Batch,
}

/// What a batch gathers until its commit.
#[derive(Default)]
pub(super) struct Batch {
    /// Whether something in it is answered only once durable.
    wants_sync: bool,
    changed: Vec<JobId>,
    /// Whether a job may have become claimable.
    readied: bool,
    /// Letters that the log's records take out.
    unburied: Vec<JobId>,
    body: Vec<u8>,
}

impl From<DiskError> for Unstaged {
    fn from(error: DiskError) -> Self {
        if error.is_full() {
            Self::Refused(StoreError::Full {
                path: error.path.display().to_string(),
            })
        } else {
            Self::Poison(error.to_string())
        }
    }
}

impl Writer {
    /// Decide a wish and take in what follows. `keep_reserve`: see [`Appender::reserve`].
    pub(super) fn carry_out(
        &mut self,
        command: &Command,
        now: Now,
        keep_reserve: bool,
    ) -> Result<Vec<JobId>, Unstaged> {
        let entropy = self.entropy.next() as u64;
        let events = self
            .ledger
            .decide(command, now, entropy)
            .map_err(|rejected| Unstaged::Refused(rejected.into()))?;
        let mut staged = Vec::with_capacity(events.len());
        for event in events {
            let id = event.id();
            match self.stage(event, WithLetter::Write, now, keep_reserve) {
                Ok(_) => staged.extend(id),
                // A claim that found room for some leases gives those.
                Err(Unstaged::Refused(_)) if !staged.is_empty() => break,
                Err(unstaged) => return Err(unstaged),
            }
        }
        Ok(staged)
    }

    /// Frame a fact and take it in. A burial writes its letter first, unless it is there.
    pub(super) fn stage(
        &mut self,
        event: Event,
        letter: WithLetter,
        now: Now,
        keep_reserve: bool,
    ) -> Result<RecordAt, Unstaged> {
        let previous = match &event {
            Event::Carried(_) => None,
            _ => event
                .id()
                .and_then(|id| self.ledger.get(id))
                .map(|entry| entry.latest),
        };
        let record = Record { previous, event };
        let mut body = std::mem::take(&mut self.batch.body);
        body.clear();
        frames::encode(&record, &mut body)
            .map_err(|why| Unstaged::Refused(sandhog_model::Rejected::Invalid(why).into()))?;
        // Room for the record first: a letter without one is a burial cut in half.
        self.appender.reserve(body.len(), keep_reserve, now.mono)?;
        if letter == WithLetter::Write
            && let Some(letter) = self.letter_of(&record.event).map_err(Unstaged::Refused)?
        {
            self.dead.stage(&letter)?;
        }
        let at = self.appender.append(&body).map_err(poison)?;
        let bytes = frames::framed_len(body.len()) as u64;
        self.batch.body = body;
        self.counters.appended += 1;
        self.batch.note(&record.event);
        let event = &record.event;
        self.live
            .take_in(&mut self.ledger, event, at, bytes, |ledger| {
                ledger.evolve(event, at, now.mono)
            })
            .map_err(|unsound| Unstaged::Poison(format!("job {}: {}", unsound.id, unsound.why)))?;
        Ok(at)
    }

    /// Write the batch, sync it when it has to be, and tell what changed.
    ///
    /// The order is what makes a burial whole: letters are durable before the log says so, and
    /// are taken out only after the log does.
    pub(super) fn commit(&mut self, now: Now) -> Result<(), DiskError> {
        let sync = self.batch.wants_sync && self.durability == Durability::Commit;
        self.dead.sync(self.durability != Durability::None)?;
        self.appender.write()?;
        if sync {
            self.sync()?;
        }
        if !self.batch.unburied.is_empty() {
            let ids = std::mem::take(&mut self.batch.unburied);
            match self.dead.remove(&ids) {
                Ok(_) => {}
                // The log has said it; the next open takes the letters out.
                Err(error) if error.is_full() => tracing::warn!(%error, "a letter stays listed"),
                Err(error) => return Err(error),
            }
        }
        self.tell(now);
        Ok(())
    }

    /// Sync the log.
    pub(super) fn sync(&mut self) -> Result<(), DiskError> {
        if self.appender.is_unsynced() {
            let before = Instant::now();
            self.appender.sync()?;
            self.last_sync = Instant::now();
            self.counters.syncs += 1;
            self.counters.last_sync_us = before.elapsed().as_micros() as u64;
        }
        Ok(())
    }

    /// Milliseconds since the last sync.
    pub(super) fn since_sync_ms(&self) -> u64 {
        self.last_sync.elapsed().as_millis() as u64
    }

    fn tell(&mut self, now: Now) {
        for id in self.batch.changed.drain(..) {
            if let Some(state) = self.ledger.state(id, now.wall) {
                // Nobody listening is no failure.
                let _ = self.changes.send(JobChange { id, state });
            }
        }
        if self.batch.readied {
            self.ready.notify_waiters();
            // A permit for whoever was just about to wait.
            self.ready.notify_one();
        }
        self.batch.readied = false;
        self.batch.wants_sync = false;
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
            | Event::Leased { .. }
            | Event::Checkpointed { .. }
            | Event::Requeued { .. }
            | Event::Hastened { .. }
            | Event::Deleted { .. }
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

impl Batch {
    fn note(&mut self, event: &Event) {
        match event {
            // What is written anew is no change.
            Event::Carried(_) => {}
            _ => self.changed.extend(event.ids()),
        }
        match event {
            Event::Leased { .. } => {}
            Event::Carried(_)
            | Event::Pruned { .. }
            | Event::Trimmed { .. }
            | Event::Merged { .. } => self.wants_sync = true,
            Event::Enqueued(_) | Event::Hastened { .. } | Event::Lost { .. } => {
                self.wants_sync = true;
                self.readied = true;
            }
            Event::Settled {
                verdict, children, ..
            } => {
                self.wants_sync = true;
                self.readied |= !children.is_empty()
                    || match verdict {
                        Verdict::Retry { .. }
                        | Verdict::Snoozed { .. }
                        | Verdict::PutBack { .. } => true,
                        Verdict::Completed(_) | Verdict::Discarded { .. } | Verdict::Dead => false,
                    };
            }
            Event::Checkpointed { .. } => self.wants_sync = true,
            Event::Requeued { id, from_dead, .. } => {
                self.wants_sync = true;
                self.readied = true;
                if *from_dead {
                    self.unburied.push(*id);
                }
            }
            Event::Deleted { id, .. } => {
                self.wants_sync = true;
                self.unburied.push(*id);
            }
        }
    }
}

fn poison(error: DiskError) -> Unstaged {
    Unstaged::Poison(error.to_string())
}
