//! Dead letters on the writer's thread: changed, taken in from elsewhere, purged.

use sandhog_model::{
    Amend, Carried, Command, Event, JobId, KindDefaults, Letter, NewJob, Now, Record, Rejected,
    Status, Token, job::Bounds, limits,
};

use super::{
    actor::Actor,
    carry,
    flush::Waiting,
    room::Room,
    wish::LetterWish,
    writer::{Unstaged, WithLetter, Writer, letter_room},
};
use crate::store::{
    Amended, DeadWish, Imported, LetterBounds, LetterName, LetterRef, PurgeReason, Purged,
    StoreError, frames,
};

/// Letters purged in one batch: whoever waits for an answer meanwhile is not to wait long.
const PURGE: usize = 1000;
/// How far ahead of the clock an imported job's id may be: its own clock may have been ahead. Ids
/// minted here come after every id of this store, so one of the far future would bend them all.
const AHEAD_MS: u64 = 24 * 60 * 60 * 1000;
/// Attempts of an imported letter at most: so many policies allow, a few times over.
const ATTEMPTS: usize = 10 * limits::ATTEMPTS as usize;

impl Writer {
    /// Make a dead job of this log out of a letter: the letter first, unless it is there, then the
    /// record.
    pub(super) fn take_in(
        &mut self,
        mut letter: Letter,
        now: Now,
        room: Room,
    ) -> Result<(), Unstaged> {
        // Tokens of another log mean nothing here, and a large one would leave no room above it.
        if letter.token > self.ledger.last_token() {
            letter.token = Token::default();
        }
        let is_there = self.dead.token(letter.id()) == Some(letter.token);
        let event = Event::Carried(Box::new(carried(&letter, now)));
        let record = Record {
            previous: None,
            event,
        };
        let mut body = Vec::new();
        frames::encode(&record, &mut body)
            .map_err(|why| Unstaged::Refused(Rejected::Invalid(why).into()))?;
        // Room for the record first: a letter without one is an import cut in half.
        self.reserve(body.len(), room, now.mono)?;
        if !is_there {
            self.bury(&letter)?;
        }
        self.stage(record.event, WithLetter::IsThere, now)?;
        Ok(())
    }
}

fn carried(letter: &Letter, now: Now) -> Carried {
    let last = letter.attempts.last();
    let failure = last.and_then(|last| last.failure.as_ref());
    let mut carried = Carried {
        job: letter.job.clone(),
        at: now.wall,
        status: Status::Dead(letter.died_at),
        attempts: last.map_or(0, |last| last.number),
        losses: letter.losses,
        token: letter.token,
        failure: failure.map(|failure| failure.kind),
        history: letter.attempts.clone(),
        output: None,
        reason: None,
        children: Vec::new(),
        checkpoint: None,
        cancel: None,
        traps: 0,
        lifted: false,
        unlocked: false,
        failing_since: None,
    };
    carry::fit(&mut carried);
    carried
}

/// A change of a dead job was refused: of one that was listed, because it was brought back since.
pub(super) fn refused(rejected: Rejected, listed: Option<Token>) -> Amended {
    match rejected {
        Rejected::WrongState { .. } if listed.is_some() => Amended::Changed,
        rejected => Amended::Refused(rejected),
    }
}

impl Actor {
    /// Do one wish about letters.
    pub(super) fn take_letters(&mut self, wish: LetterWish, now: Now) -> Waiting {
        match wish {
            LetterWish::Amend(letters, wish, reply) => {
                Waiting::of(reply, self.amend_dead(letters, wish, now))
            }
            LetterWish::Import {
                letters,
                dry_run,
                reply,
            } => Waiting::of(reply, self.import_dead(letters, dry_run, now)),
            LetterWish::Purge {
                bounds,
                dry_run,
                reply,
            } => Waiting::of(reply, self.purge_now(&bounds, dry_run, now)),
        }
    }

    /// Change dead letters, each answered for itself.
    fn amend_dead(
        &mut self,
        letters: Vec<LetterRef>,
        wish: DeadWish,
        now: Now,
    ) -> Result<Vec<Amended>, StoreError> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let mut answers = Vec::with_capacity(letters.len());
        let mut unknown = Vec::new();
        for letter in letters {
            let answer = match letter.name {
                LetterName::Job(id) => self.amend_job(id, letter.token, wish, now),
                LetterName::Place(_) => Ok(None),
            };
            let answer = match answer {
                Ok(answer) => answer,
                // What was done so far is answered; the rest can be asked for again.
                Err(full @ StoreError::Full { .. }) if !answers.is_empty() => {
                    Some(Amended::Refused(Rejected::Invalid(full.to_string())))
                }
                Err(error) => return Err(error),
            };
            if answer.is_none() {
                unknown.push((answers.len(), letter.name));
            }
            answers.push(answer.unwrap_or(Amended::NotFound));
        }
        self.clear(&unknown, wish, &mut answers)?;
        Ok(answers)
    }

    /// Change a dead job. `None` when the log does not know it.
    fn amend_job(
        &mut self,
        id: JobId,
        token: Option<Token>,
        wish: DeadWish,
        now: Now,
    ) -> Result<Option<Amended>, StoreError> {
        let Some(entry) = self.writer.ledger.get(id) else {
            return Ok(None);
        };
        if token.is_some_and(|token| token != entry.token) {
            return Ok(Some(Amended::Changed));
        }
        match self.carry_out(Command::Amend(wish.of(id)), now) {
            Ok(_) => Ok(Some(Amended::Done)),
            Err(StoreError::Rejected(rejected)) => Ok(Some(refused(rejected, token))),
            Err(error) => Err(error),
        }
    }

    /// What the log knows nothing of lies in the letters' file alone: it can only be deleted.
    fn clear(
        &mut self,
        unknown: &[(usize, LetterName)],
        wish: DeadWish,
        answers: &mut [Amended],
    ) -> Result<(), StoreError> {
        if unknown.is_empty() {
            return Ok(());
        }
        let dead = self.writer.dead.clone();
        if wish == DeadWish::Requeue {
            for (at, name) in unknown.iter().filter(|(_, name)| dead.has(*name)) {
                answers[*at] = Amended::Unreadable(*name);
            }
            return Ok(());
        }
        let names: Vec<LetterName> = unknown.iter().map(|(_, name)| *name).collect();
        let done = dead
            .clear(&names)
            .map_err(|error| self.failed(Unstaged::of(&error, letter_room)))?;
        for ((at, _), _) in unknown.iter().zip(done).filter(|(_, done)| *done) {
            answers[*at] = Amended::Done;
        }
        dead.rewrite_behind();
        Ok(())
    }

    fn failed(&self, unstaged: Unstaged) -> StoreError {
        match unstaged {
            Unstaged::Refused(error) => error,
            Unstaged::Poison(cause) => {
                self.poisoned(cause.clone());
                StoreError::Poisoned { cause }
            }
        }
    }

    /// Take letters in. Each is answered for itself; no room ends it when nothing was taken yet.
    fn import_dead(
        &mut self,
        letters: Vec<Letter>,
        dry_run: bool,
        now: Now,
    ) -> Result<Vec<Result<Imported, Rejected>>, StoreError> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let mut answers = Vec::with_capacity(letters.len());
        for letter in letters {
            answers.push(match self.import_one(letter, dry_run, now) {
                Ok(imported) => Ok(imported),
                Err(StoreError::Rejected(rejected)) => Err(rejected),
                Err(error @ StoreError::Poisoned { .. }) => return Err(error),
                Err(error) if answers.is_empty() => return Err(error),
                Err(error) => Err(Rejected::Invalid(error.to_string())),
            });
        }
        self.purge_due |= !dry_run;
        Ok(answers)
    }

    fn import_one(
        &mut self,
        mut letter: Letter,
        dry_run: bool,
        now: Now,
    ) -> Result<Imported, StoreError> {
        check(&letter, now).map_err(Rejected::Invalid)?;
        if self.writer.ledger.get(letter.id()).is_some() {
            return Ok(Imported::Known);
        }
        if !dry_run {
            letter.token = Token::default();
            // Its batch is another store's.
            letter.job.terms.batch = None;
            let taken = self.writer.take_in(letter, now, Room::NewWork);
            taken.map_err(|unstaged| self.failed(unstaged))?;
        }
        Ok(Imported::Taken)
    }

    /// Delete what the operator's bounds are against, when it is time to look.
    pub(super) fn purge(&mut self, now: Now) {
        if !std::mem::take(&mut self.purge_due) || self.letters.is_empty() {
            return;
        }
        let against = self.writer.dead.against(&self.letters, now.wall, PURGE);
        match self.delete(&against.letters, now) {
            // When nothing could go, nothing will in the next round either.
            Ok(gone) => self.purge_due = against.left > 0 && !gone.is_empty(),
            Err(error) => tracing::warn!(%error, "dead letters over the bounds stay for now"),
        }
    }

    /// The same until nothing is left, before the first wish.
    pub(super) fn purge_at_start(&mut self) {
        self.purge_due = !self.letters.is_empty();
        while self.purge_due && self.refusal().is_none() {
            let now = self.writer.clock.now();
            self.commit(now);
        }
    }

    /// Purge with bounds that a person gives.
    fn purge_now(
        &mut self,
        bounds: &LetterBounds,
        dry_run: bool,
        now: Now,
    ) -> Result<Purged, StoreError> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let mut purged = self.writer.dead.against(bounds, now.wall, PURGE);
        if !dry_run {
            purged.letters = self.delete(&purged.letters, now)?;
        }
        Ok(purged)
    }

    /// Delete letters, each told with its reason. Gives those that are gone.
    fn delete(
        &mut self,
        letters: &[(JobId, PurgeReason)],
        now: Now,
    ) -> Result<Vec<(JobId, PurgeReason)>, StoreError> {
        let mut gone = Vec::with_capacity(letters.len());
        for (id, reason) in letters {
            match self.carry_out(Command::Amend(Amend::Delete(*id)), now) {
                Ok(_) => {
                    self.writer.counters.purged.add(*reason);
                    tracing::warn!(%id, %reason, "dead letter purged");
                    gone.push((*id, *reason));
                }
                // Taken out by another wish of this batch, or not in this log.
                Err(StoreError::Rejected(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(gone)
    }
}

/// Whether a letter from elsewhere can be a dead job here: the bounds of a job that is enqueued.
fn check(letter: &Letter, now: Now) -> Result<(), String> {
    let job = letter.job.clone();
    let id = job.id;
    if id.minted_at().since(now.wall) > AHEAD_MS {
        return Err(format!("the id {id} is of the future: check the clocks"));
    }
    let wish = NewJob {
        kind: job.kind,
        queue: Some(job.queue),
        priority: Some(job.priority),
        payload: job.payload,
        content_type: Some(job.content_type),
        headers: job.headers,
        due: None,
        retry: job.retry,
        timeout_ms: job.timeout_ms,
        parent: job.parent,
        group: job.terms.group,
        tags: job.terms.tags,
        retry_for_ms: job.terms.retry_for_ms,
        ..NewJob::default()
    };
    // What fits in a record: it was within the other store's bound.
    let bounds = Bounds {
        payload_bytes: limits::BODY_BYTES,
    };
    wish.accept_within(id, now.wall, &KindDefaults::default(), bounds)
        .map_err(|rejected| rejected.to_string())?;
    if letter.attempts.len() > ATTEMPTS {
        let count = letter.attempts.len();
        return Err(format!("{count} attempts: at most {ATTEMPTS} are taken in"));
    }
    Ok(())
}
