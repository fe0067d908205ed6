//! What becomes of a job that is to be accepted, and of one that waits too long.

use sandhog_model::{Event, Job, JobId, Now, OnConflict, QueueMode, Rejected, Sameness, State};

use super::Auditor;
use crate::predict::{Known, Life};

impl Auditor {
    /// Accepted, unless its id is taken, it is there under its idempotency key, another stands in its
    /// way, or its queue takes nothing in.
    pub(super) fn enqueue(&mut self, job: &Job, now: Now, answer: &Result<Vec<Event>, Rejected>) {
        if self.job(job.id).is_some() {
            assert_eq!(answer, &Err(Rejected::IdTaken(job.id)));
            return;
        }
        let wall = now.wall.0;
        let living = || self.jobs.iter().filter(|known| known.life != Life::Deleted);
        let duplicate = |holder, sameness, is_kept| {
            Err(Rejected::Duplicate {
                holder,
                sameness,
                is_kept,
            })
        };
        if let Some(named) = &job.terms.idempotency
            && let Some(known) =
                living().find(|known| known.terms.idempotency.as_ref() == Some(named))
        {
            let expected = match self.unheard_of(job, known) {
                Some(batch) => Err(Rejected::NoSuchBatch(batch)),
                None => duplicate(known.id, Sameness::Idempotency, true),
            };
            assert_eq!(answer, &expected);
            return;
        }
        let unique = job.terms.unique.as_ref();
        let stand: Vec<JobId> = living()
            .filter(|known| unique.is_some_and(|unique| known.stands(unique.key, wall)))
            .map(|known| known.id)
            .collect();
        let conflict = unique.map(|unique| unique.on_conflict);
        let conflict = conflict.filter(|_| !stand.is_empty());
        // The one that is kept is the answer, whatever became of the batch.
        if conflict != Some(OnConflict::Keep)
            && let Some(Err(closed)) = job.terms.batch.map(|batch| self.joins(batch))
        {
            assert_eq!(answer, &Err(closed));
            return;
        }
        if let Some(on_conflict) = conflict {
            return self.conflict(job, on_conflict, &stand, now, answer);
        }
        if !self.is_turned_away(job, None, answer) {
            assert_eq!(answer, &Ok(vec![Event::Enqueued(Box::new(job.clone()))]));
            self.accept(job);
        }
    }

    /// Whether the job's queue takes nothing in, when one job makes room for it; then that is the answer.
    fn is_turned_away(
        &self,
        job: &Job,
        in_place_of: Option<JobId>,
        answer: &Result<Vec<Event>, Rejected>,
    ) -> bool {
        let waiting = self.jobs.iter().filter(|known| {
            let waits = matches!(known.life, Life::Waits { .. });
            waits && known.queue == job.queue && Some(known.id) != in_place_of
        });
        let queue = job.queue.clone();
        if self.modes.get(&queue) == Some(&QueueMode::Draining) {
            assert_eq!(answer, &Err(Rejected::QueueDraining { queue }));
            return true;
        }
        let is_full = queue == "q2" && waiting.count() >= 4;
        assert!(!is_full || matches!(answer, Err(Rejected::QueueFull { max: 4, .. })));
        is_full
    }

    /// The batch that a job names and that is none, unless the job that is the answer was in it.
    fn unheard_of(&self, job: &Job, answer: &Known) -> Option<JobId> {
        let batch = job.terms.batch.filter(|id| !self.batches.contains_key(id));
        batch.filter(|batch| answer.terms.batch != Some(*batch))
    }

    fn accept(&mut self, job: &Job) {
        // One that was deleted is still counted where it belonged.
        let before = self.jobs.iter_mut().filter(|known| known.id == job.id);
        before.for_each(|known| known.id = JobId(u128::MAX));
        self.jobs.push(Known::new(job));
    }

    fn conflict(
        &mut self,
        job: &Job,
        on_conflict: OnConflict,
        stand: &[JobId],
        now: Now,
        answer: &Result<Vec<Event>, Rejected>,
    ) {
        let kept = on_conflict == OnConflict::Keep;
        match answer.as_deref() {
            Err(Rejected::NoSuchBatch(batch)) if kept => {
                let of = |known: &&Known| stand.contains(&known.id);
                let mut standing = self.jobs.iter().filter(of);
                assert!(standing.any(|known| self.unheard_of(job, known) == Some(*batch)));
            }
            Err(Rejected::Duplicate {
                holder,
                sameness: Sameness::Unique,
                is_kept,
            }) => {
                assert!(stand.contains(holder));
                let held = self.jobs.iter().find(|known| known.id == *holder);
                assert!(!kept || self.unheard_of(job, held.expect("it stands")).is_none());
                assert_eq!(*is_kept, on_conflict == OnConflict::Keep);
                let life = self.job(*holder).expect("it stands").life;
                let moves = matches!(on_conflict, OnConflict::Replace | OnConflict::Debounce);
                assert!(!moves || !matches!(life, Life::Waits { .. }));
            }
            Err(Rejected::QueueDraining { .. } | Rejected::QueueFull { .. }) => {
                assert_eq!(on_conflict, OnConflict::Replace);
                let turned_away = |id: &JobId| self.is_turned_away(job, Some(*id), answer);
                assert!(stand.iter().any(turned_away));
            }
            Ok([Event::Replaced { id, job: accepted }]) => {
                assert!(on_conflict == OnConflict::Replace && stand.contains(id));
                assert!(!self.is_turned_away(job, Some(*id), answer));
                assert_eq!(**accepted, *job);
                let old = self.job(*id).expect("it stands");
                assert!(matches!(old.life, Life::Waits { .. }));
                old.life = Life::Ended(State::Cancelled);
                old.ended_at = now.wall.0;
                self.accept(job);
            }
            Ok([Event::Postponed { id, due, .. }]) => {
                assert!(on_conflict == OnConflict::Debounce && stand.contains(id));
                let old = self.job(*id).expect("it stands");
                assert!(matches!(old.life, Life::Waits { .. }));
                let until = old.terms.unique.as_ref().and_then(|unique| unique.until);
                let wanted = until.map_or(job.due, |until| until.min(job.due));
                match (old.expires(), old.life) {
                    (Some(expires), Life::Waits { due: before, .. }) if expires <= wanted.0 => {
                        assert_eq!(due.0, before, "it would be too late");
                    }
                    _ => assert_eq!(*due, wanted),
                }
                let (due, seen_due) = (due.0, due.0 <= now.wall.0);
                old.life = Life::Waits { due, seen_due };
            }
            other => panic!("a conflict gave {other:?}"),
        }
    }

    /// Those that wait too long end, the earliest first.
    pub(super) fn expire(&mut self, max: usize, now: Now, answer: &Result<Vec<Event>, Rejected>) {
        let mut late: Vec<(u64, JobId)> = Vec::new();
        for job in &self.jobs {
            if matches!(job.life, Life::Waits { .. })
                && let Some(expires) = job.expires().filter(|at| *at <= now.wall.0)
            {
                late.push((expires, job.id));
            }
        }
        late.sort_unstable();
        late.truncate(max);
        let at = now.wall;
        let events = late.iter().map(|(_, id)| Event::Expired { id: *id, at });
        assert_eq!(answer, &Ok(events.collect()));
        for (_, id) in late {
            let job = self.job(id).expect("it waits");
            job.life = Life::Ended(State::Expired);
            job.ended_at = at.0;
        }
    }
}

/// Whether a job that is brought back would stand in the way of others, and another stands in its.
pub(super) fn is_stood_against(jobs: &[Known], job: &Known, now: Now) -> bool {
    let Some(unique) = &job.terms.unique else {
        return false;
    };
    let mut back = job.clone();
    back.life = Life::Waits {
        due: 0,
        seen_due: true,
    };
    let stands = |known: &Known| known.stands(unique.key, now.wall.0);
    stands(&back) && jobs.iter().any(|other| other.id != job.id && stands(other))
}
