//! The dead letters of the double.

use sandhog_model::{
    Amend, Cancellation, FailureKind, JobId, Letter, Rejected, State, Token, UnixMs,
};

use super::{Double, list::fits, trapped};
use crate::store::{
    Amended, CalledOff, Changed, DeadFilter, DeadRow, DeadWish, FailureRow, Imported, JobFilter,
    JobView, LetterBounds, LetterName, LetterRef, PurgeReason, Purged, Store,
};

impl Double {
    /// What changes come to that are taken back.
    pub(super) fn undone<T>(&self, change: impl FnOnce() -> T) -> T {
        let before = self.inner.lock().unwrap().clone();
        let answer = change();
        *self.inner.lock().unwrap() = before;
        answer
    }

    pub(super) fn change(&self, wish: Amend) -> Result<Changed, Rejected> {
        let mut inner = self.inner.lock().unwrap();
        let id = wish.id();
        let Some(view) = inner.jobs.get_mut(&id) else {
            return Err(Rejected::NoSuchJob(id));
        };
        let state = view.row.state;
        let waits = matches!(
            state,
            State::Scheduled | State::Available | State::Retryable
        );
        let (may, verb, then) = match &wish {
            Amend::Retry(_) => (state != State::Dead, "retry", Some(State::Available)),
            Amend::Snooze { .. } => (waits, "snooze", Some(State::Scheduled)),
            Amend::Discard { .. } => (waits, "discard", Some(State::Discarded)),
            Amend::Remove { force, .. } => (*force || !waits, "delete", None),
            Amend::Cancel { how, .. } => (waits, how.name(), Some(State::Cancelled)),
            Amend::Delete(_) => (state == State::Dead, "delete", None),
            _ => (state == State::Dead, "retry", Some(State::Available)),
        };
        if !may {
            let wish = verb;
            return Err(Rejected::WrongState { id, state, wish });
        }
        match then {
            Some(state) => view.row.state = state,
            None => drop(inner.jobs.remove(&id)),
        }
        Ok(Changed {
            state: then,
            is_new: true,
        })
    }

    pub(super) fn called_off(
        &self,
        id: JobId,
        cancel: &Cancellation,
    ) -> Result<CalledOff, Rejected> {
        let mut inner = self.inner.lock().unwrap();
        let Some(view) = inner.jobs.get_mut(&id) else {
            return Err(Rejected::NoSuchJob(id));
        };
        let (state, wish) = (view.row.state, cancel.how.name());
        let lease = (state == State::Running).then_some(Token(7));
        match state {
            State::Completed | State::Discarded | State::Dead | State::Expired => {
                return Err(Rejected::WrongState { id, state, wish });
            }
            State::Scheduled | State::Available | State::Retryable => {
                view.row.state = State::Cancelled;
            }
            State::Running | State::Cancelled => {}
        }
        view.cancel = Some(cancel.clone());
        let state = view.row.state;
        Ok(CalledOff { state, lease })
    }

    pub(crate) fn dies(&self, id: JobId) {
        self.ends(id, State::Dead, |view| {
            let attempt = trapped();
            let failure = attempt.failure.clone().unwrap();
            view.row.attempt = 1;
            view.row.digest = Some(attempt.digest.clone());
            view.row.failure = Some(FailureRow {
                kind: failure.kind,
                cause: failure.cause.clone(),
                hint: failure.hint.clone(),
            });
            view.failure = Some(failure);
            view.attempts.push(attempt);
        });
    }

    pub(super) fn changed_dead(&self, letters: Vec<LetterRef>, wish: DeadWish) -> Vec<Amended> {
        let answers = letters.into_iter().map(|letter| {
            let LetterName::Job(id) = letter.name else {
                let broken = self.inner.lock().unwrap().broken.take();
                return broken.map_or(Amended::NotFound, |_| Amended::Done);
            };
            let amend = match wish {
                DeadWish::Requeue => Amend::Requeue(id),
                DeadWish::Delete => Amend::Delete(id),
            };
            match self.change(amend) {
                Ok(_) => Amended::Done,
                Err(Rejected::NoSuchJob(_)) => Amended::NotFound,
                Err(_) if letter.token.is_some() => Amended::Changed,
                Err(rejected) => Amended::Refused(rejected),
            }
        });
        answers.collect()
    }

    pub(super) fn imported(
        &self,
        letters: Vec<Letter>,
        dry_run: bool,
    ) -> Vec<Result<Imported, Rejected>> {
        let answers = letters.into_iter().map(|letter| {
            let id = letter.id();
            if self.inner.lock().unwrap().jobs.contains_key(&id) {
                return Ok(Imported::Known);
            }
            if !dry_run {
                drop(self.enqueue(vec![letter.job]));
                self.dies(id);
            }
            Ok(Imported::Taken)
        });
        answers.collect()
    }

    pub(super) fn purged(&self, bounds: LetterBounds, dry_run: bool) -> Purged {
        let rows = self.rows(|view| view.row.state == State::Dead);
        let keep = bounds.max_letters.unwrap_or(u64::MAX) as usize;
        let over = rows.iter().skip(keep).map(|view| view.row.id);
        let letters: Vec<_> = over.map(|id| (id, PurgeReason::Number)).rev().collect();
        for (id, _) in letters.iter().filter(|_| !dry_run) {
            self.inner.lock().unwrap().jobs.remove(id);
        }
        Purged { letters, left: 0 }
    }

    /// The letter with these bytes cannot be read.
    pub(crate) fn breaks(&self, at: u64, bytes: &[u8]) {
        self.inner.lock().unwrap().broken = Some((at, bytes.to_vec()));
    }

    pub(super) fn broken(&self) -> Option<(u64, Vec<u8>)> {
        self.inner.lock().unwrap().broken.clone()
    }

    pub(super) fn dead_rows(&self, filter: &DeadFilter) -> Vec<DeadRow> {
        let of_jobs = JobFilter {
            queue: filter.queue.clone(),
            kind: filter.kind.clone(),
            ..JobFilter::default()
        };
        let fits = |view: &JobView| {
            let died_at = view.row.at;
            view.row.state == State::Dead
                && fits(&of_jobs, &view.row)
                && !filter.unreadable
                && filter.since.is_none_or(|since| died_at >= since)
                && filter.until.is_none_or(|until| died_at < until)
        };
        let rows = self.rows(fits).into_iter();
        rows.map(|view| DeadRow {
            name: LetterName::Job(view.row.id),
            token: Token(7),
            bytes: 300,
            unreadable: None,
            kind: view.row.kind,
            queue: view.row.queue,
            died_at: view.row.at,
            attempts: view.row.attempt,
            last: view.row.attempt,
            max_attempts: view.row.max_attempts,
            failure: view.row.failure.unwrap(),
            digest: view.row.digest,
        })
        .collect()
    }
}

pub(super) fn broken_row(at: u64) -> DeadRow {
    DeadRow {
        name: LetterName::Place(at),
        kind: String::new(),
        queue: String::new(),
        died_at: UnixMs(0),
        token: Token(0),
        attempts: 0,
        last: 0,
        max_attempts: 0,
        failure: FailureRow {
            kind: FailureKind::HostError,
            cause: "bad checksum\u{1b}".into(),
            hint: None,
        },
        digest: None,
        bytes: 4,
        unreadable: Some("bad checksum\u{1b}".into()),
    }
}
