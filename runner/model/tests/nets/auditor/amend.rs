//! What is promised of changes from outside.

use sandhog_model::{Amend, Asked, Event, Now, Rejected, State, UnixMs};

use super::{Auditor, enqueue::is_stood_against};
use crate::predict::{Known, Life};

impl Auditor {
    pub(super) fn amend(&mut self, amend: &Amend, now: Now, answer: &Result<Vec<Event>, Rejected>) {
        let id = amend.id();
        let others = self.jobs.clone();
        let off = self.batches_called_off();
        let Some(job) = self.job(id) else {
            assert_eq!(answer, &Err(Rejected::NoSuchJob(id)));
            return;
        };
        if let Amend::Unlock(_) = amend {
            let stood = job.terms.unique.is_some() && !job.unlocked;
            assert_eq!(answer.as_ref().map(Vec::len), Ok(usize::from(stood)));
            job.unlocked |= stood;
            return;
        }
        if let Amend::Cancel { how, .. } = amend {
            return called_off(job, *how, now, answer);
        }
        if let Amend::Snooze { due, .. } = amend {
            return snoozed(job, *due, now, answer);
        }
        let dead = job.life == Life::Ended(State::Dead);
        let waits = matches!(job.life, Life::Waits { .. });
        let allowed = match amend {
            Amend::Retry(_) => job.life != Life::Runs,
            Amend::Requeue(_) | Amend::Delete(_) => dead,
            Amend::Discard { .. } => waits,
            Amend::Remove { force, .. } => job.life != Life::Runs && (*force || !waits),
            Amend::Cancel { .. } | Amend::Unlock(_) | Amend::Snooze { .. } => {
                unreachable!("told above")
            }
        };
        if !allowed {
            assert!(
                matches!(answer, Err(Rejected::WrongState { .. })),
                "{answer:?}"
            );
            return;
        }
        let goes = matches!(amend, Amend::Delete(_) | Amend::Remove { .. });
        let comes_back = matches!(job.life, Life::Ended(_)) && !goes;
        let batch = job.terms.batch.filter(|_| comes_back);
        if let Some(batch) = batch.filter(|batch| off.contains(batch)) {
            assert_eq!(answer, &Err(Rejected::BatchCancelled { id, batch }));
            return;
        }
        if comes_back && is_stood_against(&others, job, now) {
            assert!(
                matches!(answer, Err(Rejected::Duplicate { .. })),
                "{answer:?}"
            );
            return;
        }
        if comes_back {
            job.lifted |= job.terms.expires.is_some();
            job.failing_since = None;
        }
        assert_eq!(answer.as_ref().map(Vec::len), Ok(1));
        amended(job, amend, now);
    }
}

/// What a change that was allowed makes of a job.
fn amended(job: &mut Known, amend: &Amend, now: Now) {
    match (amend, job.life) {
        (Amend::Delete(_) | Amend::Remove { .. }, _) => job.delete(),
        (Amend::Discard { .. }, _) => {
            job.life = Life::Ended(State::Discarded);
            job.ended_at = now.wall.0;
        }
        (_, Life::Waits { due, .. }) => {
            let due = due.min(now.wall.0);
            job.life = Life::Waits {
                due,
                seen_due: true,
            };
        }
        (_, Life::Ended(_) | Life::Runs | Life::Deleted) => {
            job.life = Life::Waits {
                due: now.wall.0,
                seen_due: true,
            };
            (job.attempts, job.losses, job.traps) = (0, 0, 0);
        }
    }
}

/// One that waits becomes due then, unless it would expire before.
fn snoozed(job: &mut Known, due: UnixMs, now: Now, answer: &Result<Vec<Event>, Rejected>) {
    let Life::Waits { due: before, .. } = job.life else {
        assert!(
            matches!(answer, Err(Rejected::WrongState { .. })),
            "{answer:?}"
        );
        return;
    };
    if job.expires().is_some_and(|expires| expires <= due.0) {
        assert!(matches!(answer, Err(Rejected::Invalid(_))), "{answer:?}");
        return;
    }
    let changes = usize::from(before != due.0);
    assert_eq!(answer.as_ref().map(Vec::len), Ok(changes));
    if changes > 0 {
        let (due, seen_due) = (due.0, due <= now.wall);
        job.life = Life::Waits { due, seen_due };
    }
}

/// One that waits ends at once, one that runs is asked, once for each way.
pub(super) fn called_off(
    job: &mut Known,
    how: Asked,
    now: Now,
    answer: &Result<Vec<Event>, Rejected>,
) {
    let events = answer.as_deref();
    match job.life {
        Life::Waits { .. } => {
            assert!(
                matches!(events, Ok([Event::Cancelled { .. }])),
                "{answer:?}"
            );
            job.life = Life::Ended(State::Cancelled);
            job.ended_at = now.wall.0;
        }
        Life::Runs if job.asked == Some(Asked::Kill) || job.asked == Some(how) => {
            assert_eq!(events, Ok(&[][..]));
        }
        Life::Runs => {
            assert!(
                matches!(events, Ok([Event::CancelAsked { .. }])),
                "{answer:?}"
            );
            job.asked = Some(how);
        }
        Life::Ended(State::Cancelled) => assert_eq!(events, Ok(&[][..])),
        Life::Ended(_) | Life::Deleted => {
            assert!(
                matches!(answer, Err(Rejected::WrongState { .. })),
                "{answer:?}"
            );
        }
    }
}
