//! What a job's records say of it when some of them are lost: later ones tell what is certain, and
//! what only the lost ones knew is left out.

use sandhog_model::{
    Attempt, Cancellation, Carried, Event, Job, JobId, Record, RecordAt, Status, Token, UnixMs,
    Verdict,
};

use super::history;

/// What became of a job.
pub(super) struct Folded {
    /// The job; `None` when no record accepts it, or it was deleted or forgotten.
    pub(super) carried: Option<Box<Carried>>,
    /// Whether it was deleted, or forgotten after it ended.
    pub(super) is_gone: bool,
    /// Whether a record about it is lost before one that is there.
    pub(super) is_bridged: bool,
    /// Its latest record.
    pub(super) latest: RecordAt,
    /// Records that say nothing that can be used.
    pub(super) unused: Vec<RecordAt>,
}

/// Put together the records of a job, in their order.
pub(super) fn fold(id: JobId, records: impl Iterator<Item = (RecordAt, Record)>) -> Folded {
    let mut folded = Folded {
        carried: None,
        is_gone: false,
        is_bridged: false,
        latest: RecordAt(0),
        unused: Vec::new(),
    };
    for (at, record) in records {
        let follows = record.previous.is_none_or(|before| before == folded.latest);
        if record.event.id() == Some(id) && folded.carried.is_some() && !follows {
            folded.is_bridged = true;
        }
        if !folded.take(id, record.event) {
            folded.unused.push(at);
        }
        folded.latest = at;
    }
    folded
}

impl Folded {
    /// Take a fact in. `false` when it cannot be used.
    fn take(&mut self, id: JobId, event: Event) -> bool {
        match event {
            Event::Enqueued(job)
            | Event::Replaced { job, .. }
            | Event::Cron { job: Some(job), .. }
                if job.id == id =>
            {
                return self.accept(*job);
            }
            Event::Carried(carried) => {
                let known = self.carried.as_ref().map(|known| known.token);
                if self.is_gone || known.is_some_and(|token| token > carried.token) {
                    return false;
                }
                self.carried = Some(carried);
                // All of it is told here: what was lost before matters no more.
                self.is_bridged = false;
                self.unused.clear();
                return true;
            }
            Event::Batch { jobs, .. } => {
                let job = jobs.into_iter().find(|job| job.id == id);
                return job.is_some_and(|job| self.accept(job));
            }
            Event::Settled {
                id: parent,
                children,
                ..
            } if parent != id => {
                let child = children.into_iter().find(|child| child.id == id);
                return child.is_some_and(|child| self.accept(child));
            }
            Event::Deleted { .. } | Event::Pruned { .. } => {
                self.carried = None;
                self.is_gone = true;
                self.unused.clear();
                return true;
            }
            _ => {}
        }
        match &mut self.carried {
            Some(carried) => carry_on(carried, event),
            None => false,
        }
    }

    fn accept(&mut self, job: Job) -> bool {
        if self.is_gone || self.carried.is_some() {
            return false;
        }
        self.carried = Some(Box::new(Carried {
            at: job.enqueued_at,
            status: waiting(job.due, false),
            attempts: 0,
            losses: 0,
            token: Token::default(),
            failure: None,
            history: Vec::new(),
            output: None,
            reason: None,
            children: Vec::new(),
            checkpoint: None,
            cancel: None,
            traps: 0,
            lifted: false,
            unlocked: false,
            failing_since: None,
            job,
        }));
        true
    }
}

fn waiting(due: UnixMs, backoff: bool) -> Status {
    Status::Waiting { due, backoff }
}

/// What follows a known job's past. A fact of an older lease than the latest is none.
fn carry_on(job: &mut Carried, event: Event) -> bool {
    if let Some(ended) = history::ended(&event)
        && ended.token >= job.token
    {
        job.history.push(ended.clone());
    }
    match event {
        Event::Leased { token, at, .. } => {
            if token <= job.token {
                return false;
            }
            lease(job, token, at);
        }
        Event::Checkpointed {
            token, at, bytes, ..
        } => {
            if token < job.token {
                return false;
            }
            if token > job.token {
                lease(job, token, at);
            }
            job.checkpoint = Some(bytes);
        }
        Event::Settled {
            attempt,
            verdict,
            children,
            ..
        } => {
            if attempt.token < job.token {
                return false;
            }
            settle(job, &attempt, verdict);
            job.children.extend(children.iter().map(|child| child.id));
        }
        Event::Lost {
            token, at, buried, ..
        } => {
            if token < job.token {
                return false;
            }
            job.token = token;
            lose(job, buried.as_deref(), at);
        }
        Event::CancelAsked { token, cancel, .. } => return asked(job, token, *cancel),
        Event::Cancelled { cancel, .. } => cancelled(job, *cancel),
        Event::Replaced { job: by, .. } => replaced(job, &by),
        Event::Requeued { at, .. } => requeue(job, at),
        Event::Hastened { at, .. } => hasten(job, at),
        Event::Postponed { due, .. } => postpone(job, due),
        Event::Expired { at, .. } => end_waiting(job, Status::Expired(at)),
        Event::Dropped { at, reason, .. } => discarded(job, reason, at),
        Event::Unlocked { .. } => job.unlocked = true,
        Event::Enqueued(_)
        | Event::Cron { .. }
        | Event::CronForgotten { .. }
        | Event::Batch { .. }
        | Event::BatchForgotten { .. }
        | Event::Deleted { .. }
        | Event::Steered { .. }
        | Event::Carried(_)
        | Event::Pruned { .. }
        | Event::Trimmed { .. }
        | Event::Merged { .. } => return false,
    }
    true
}

fn discarded(job: &mut Carried, reason: String, at: UnixMs) {
    end_waiting(job, Status::Discarded(at));
    job.reason = Some(reason);
}

fn replaced(job: &mut Carried, by: &Job) {
    cancelled(job, Cancellation::replaced(by.id, by.enqueued_at));
}

fn cancelled(job: &mut Carried, cancel: Cancellation) {
    job.status = Status::Cancelled(cancel.at);
    job.cancel = Some(cancel);
}

fn end_waiting(job: &mut Carried, status: Status) {
    restart(job);
    (job.status, job.checkpoint) = (status, None);
}

fn asked(job: &mut Carried, token: Token, cancel: Cancellation) -> bool {
    if token < job.token {
        return false;
    }
    if token > job.token {
        lease(job, token, cancel.at);
    }
    job.cancel = Some(cancel);
    true
}

fn hasten(job: &mut Carried, at: UnixMs) {
    let due = match job.status {
        Status::Waiting { due, .. } => due.min(at),
        // What set it waiting again is lost.
        _ => at,
    };
    restart(job);
    job.status = waiting(due, false);
}

fn postpone(job: &mut Carried, due: UnixMs) {
    let backoff = matches!(job.status, Status::Waiting { backoff: true, .. });
    restart(job);
    job.status = waiting(due, backoff);
}

fn requeue(job: &mut Carried, at: UnixMs) {
    job.cancel = None;
    job.lifted |= job.job.terms.expires.is_some();
    job.failing_since = None;
    job.status = waiting(at, false);
    (job.attempts, job.losses, job.traps) = (0, 0, 0);
}

fn lease(job: &mut Carried, token: Token, since: UnixMs) {
    restart(job);
    job.token = token;
    job.status = Status::Running { since };
}

fn lose(job: &mut Carried, buried: Option<&Attempt>, at: UnixMs) {
    job.losses = job.losses.saturating_add(1);
    job.status = match buried {
        Some(attempt) => {
            job.failure = attempt.failure.as_ref().map(|failure| failure.kind);
            Status::Dead(at)
        }
        None if job.cancel.is_some() => Status::Cancelled(at),
        None => waiting(at, false),
    };
}

/// A job that goes on after it ended was given fresh attempts, whatever became of that record.
fn restart(job: &mut Carried) {
    job.cancel = None;
    match job.status {
        Status::Waiting { .. } | Status::Running { .. } => {}
        Status::Completed(_)
        | Status::Cancelled(_)
        | Status::Discarded(_)
        | Status::Dead(_)
        | Status::Expired(_) => {
            (job.attempts, job.losses, job.traps) = (0, 0, 0);
            job.lifted |= job.job.terms.expires.is_some();
            job.failing_since = None;
        }
    }
}

fn settle(job: &mut Carried, attempt: &Attempt, verdict: Verdict) {
    let ended = attempt.ended_at;
    // The number says how many were used before, also when their records are lost.
    let before = attempt.number.saturating_sub(1);
    let ran = !matches!(verdict, Verdict::PutBack { .. });
    let (status, used) = match verdict {
        Verdict::Completed(output) => {
            job.output = Some(output);
            (Status::Completed(ended), true)
        }
        Verdict::Retry { due } => {
            if job.job.terms.retry_for_ms.is_some() {
                job.failing_since.get_or_insert(ended);
            }
            (waiting(due, true), true)
        }
        Verdict::Snoozed { due } | Verdict::PutBack { due, .. } => (waiting(due, false), false),
        Verdict::Discarded { reason } => {
            job.reason = Some(reason);
            (Status::Discarded(ended), true)
        }
        Verdict::Dead => (Status::Dead(ended), true),
        Verdict::Cancelled => (Status::Cancelled(ended), true),
    };
    job.token = attempt.token;
    job.attempts = before.saturating_add(u32::from(used));
    let repeats = (attempt.failure.as_ref()).is_some_and(|failure| failure.kind.is_deterministic());
    job.traps = match status {
        Status::Waiting { .. } | Status::Running { .. } => job.traps + u32::from(used && repeats),
        Status::Completed(_)
        | Status::Cancelled(_)
        | Status::Discarded(_)
        | Status::Dead(_)
        | Status::Expired(_) => 0,
    };
    if ran {
        job.failure = attempt.failure.as_ref().map(|failure| failure.kind);
    }
    if matches!(status, Status::Completed(_) | Status::Discarded(_)) {
        job.checkpoint = None;
    }
    if !matches!(status, Status::Cancelled(_)) {
        job.cancel = None;
    }
    job.status = status;
}
