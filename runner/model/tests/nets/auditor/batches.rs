//! What is promised of batches.

use sandhog_model::{
    BatchChange, BatchWish, Event, JobId, Now, Rejected, Retention, State, UnixMs,
};

use super::Auditor;
use crate::predict::{Known, Life};

/// A batch as whoever opened it knows it.
#[derive(Default)]
pub(super) struct Promised {
    sealed: bool,
    cancelled: bool,
    /// What is to follow when all completed, and when all ended, as long as it did not.
    success: Option<JobId>,
    complete: Option<JobId>,
    ended_at: Option<u64>,
    /// Jobs known before it was opened are none of it.
    from: usize,
}

/// How the jobs of a batch stand: unfinished, ended otherwise than with a result, in the dead letters.
struct Stand {
    unfinished: usize,
    failed: usize,
    dead: usize,
    total: usize,
}

impl Auditor {
    fn members(&self, id: JobId, from: usize) -> impl Iterator<Item = &Known> {
        let jobs = self.jobs.iter().skip(from);
        jobs.filter(move |job| job.terms.batch == Some(id))
    }

    fn stand(&self, id: JobId, promised: &Promised) -> Stand {
        let mut stand = Stand {
            unfinished: 0,
            failed: 0,
            dead: 0,
            total: 0,
        };
        for job in self.members(id, promised.from) {
            stand.total += 1;
            stand.dead += usize::from(job.life == Life::Ended(State::Dead));
            match job.was.unwrap_or(job.life) {
                Life::Ended(State::Completed) => {}
                Life::Waits { .. } | Life::Runs if job.was.is_none() => stand.unfinished += 1,
                _ => stand.failed += 1,
            }
        }
        stand
    }

    pub(super) fn batch(&mut self, wish: &BatchWish, answer: &Result<Vec<Event>, Rejected>) {
        let id = wish.id;
        let events = answer.as_ref().map(Vec::len);
        let left = |job: &Known| job.terms.batch == Some(id) && job.life != Life::Deleted;
        let is_left = self.jobs.iter().any(left);
        let has_ended = self.batches.get(&id).is_some_and(|promised| {
            promised.ended_at.is_some() && self.stand(id, promised).unfinished == 0
        });
        match (&wish.change, self.batches.get_mut(&id)) {
            (BatchChange::Open { .. }, known) if is_left || known.is_some() => {
                assert_eq!(answer, &Err(Rejected::IdTaken(id)));
            }
            (
                BatchChange::Open {
                    success, complete, ..
                },
                _,
            ) => {
                assert_eq!(events, Ok(1));
                let promised = Promised {
                    success: success.as_ref().map(|callback| callback.id),
                    complete: complete.as_ref().map(|callback| callback.id),
                    from: self.jobs.len(),
                    ..Promised::default()
                };
                self.batches.insert(id, promised);
            }
            (_, None) => assert_eq!(answer, &Err(Rejected::NoSuchBatch(id))),
            (BatchChange::Seal, Some(promised)) if has_ended || promised.cancelled => {
                is_over(answer, (id, promised.cancelled), "seal");
            }
            (BatchChange::Seal, Some(promised)) => {
                assert_eq!(events, Ok(usize::from(!promised.sealed)));
                promised.sealed = true;
            }
            (BatchChange::Cancel { .. }, Some(promised)) if has_ended && !promised.cancelled => {
                is_over(answer, (id, false), "cancel");
            }
            (BatchChange::Cancel { .. }, Some(promised)) => {
                assert_eq!(events, Ok(usize::from(!promised.cancelled)));
                (promised.sealed, promised.cancelled) = (true, true);
                promised.success = None;
            }
        }
    }

    /// Jobs that wait in batches that were called off end; what is to follow follows, once.
    pub(super) fn tend(&mut self, max: usize, now: Now, answer: &Result<Vec<Event>, Rejected>) {
        let events = answer.as_ref().expect("nobody is refused");
        assert!(events.len() <= max);
        for event in events {
            match event {
                Event::Cancelled { id, .. } => {
                    let job = self.job(*id).expect("it is there");
                    assert!(matches!(job.life, Life::Waits { .. }), "{job:?}");
                    job.life = Life::Ended(State::Cancelled);
                    job.ended_at = now.wall.0;
                    let batch = job.terms.batch.expect("it is in a batch");
                    assert!(self.batches[&batch].cancelled);
                }
                Event::Batch { id, jobs, .. } => {
                    let stand = self.stand(*id, &self.batches[id]);
                    let promised = self.batches.get_mut(id).expect("it was opened");
                    assert!(promised.sealed && stand.unfinished == 0);
                    let mut expected: Vec<JobId> = promised.complete.take().into_iter().collect();
                    if stand.failed == 0 {
                        expected.extend(promised.success.take());
                    }
                    let following: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
                    assert_eq!(following, expected);
                    promised.ended_at.get_or_insert(now.wall.0);
                    for job in jobs {
                        let told = String::from_utf8_lossy(&job.payload);
                        let total = format!("\"total\":{},", stand.total);
                        let failed = format!("\"failed\":{},", stand.failed);
                        assert!(told.contains(&total) && told.contains(&failed), "{told}");
                        self.jobs.push(Known::new(job));
                    }
                }
                other => panic!("tending gave {other:?}"),
            }
        }
        // What ended now may be the end of a batch, next time.
        if events.is_empty() && max > 0 {
            self.nothing_is_left_to_do();
        }
    }

    fn nothing_is_left_to_do(&self) {
        for (id, promised) in &self.batches {
            let stand = self.stand(*id, promised);
            if !promised.sealed || stand.unfinished > 0 {
                continue;
            }
            assert!(promised.ended_at.is_some(), "batch {id} came to its end");
            assert_eq!(promised.complete, None, "of batch {id}");
            assert!(
                promised.success.is_none() || stand.failed > 0,
                "of batch {id}"
            );
        }
    }

    /// The oldest that ended go, unless one of their jobs is in the dead letters and could still let all succeed, or
    /// they were called off and are needed so that nobody brings their jobs back.
    pub(super) fn forget_batches(
        &mut self,
        retention: &Retention,
        now: Now,
        needed: &[JobId],
    ) -> Vec<Event> {
        let mut over: Vec<(u64, JobId)> = Vec::new();
        for (id, promised) in &self.batches {
            let stand = self.stand(*id, promised);
            let waits = promised.success.is_some() && stand.dead > 0;
            if let Some(at) = promised
                .ended_at
                .filter(|_| stand.unfinished == 0 && !waits && !needed.contains(id))
            {
                over.push((at, *id));
            }
        }
        over.sort_unstable();
        let excess = over.len().saturating_sub(retention.keep);
        let mut forgotten = Vec::new();
        for (place, (at, id)) in over.into_iter().enumerate() {
            if place < excess || UnixMs(at) < retention.ended_before {
                forgotten.push(id);
            }
        }
        forgotten.truncate(retention.max);
        let at = now.wall;
        for id in &forgotten {
            self.batches.remove(id);
        }
        let told = forgotten.into_iter();
        told.map(|id| Event::BatchForgotten { id, at }).collect()
    }

    /// Batches that were called off and have jobs.
    pub(super) fn batches_off_with_jobs(&self) -> Vec<JobId> {
        let has_jobs = |id: &JobId| {
            let left = |job: &Known| job.terms.batch == Some(*id) && job.life != Life::Deleted;
            self.jobs.iter().any(left)
        };
        let off = self.batches_called_off().into_iter();
        off.filter(has_jobs).collect()
    }

    /// The batches that were called off.
    pub(super) fn batches_called_off(&self) -> Vec<JobId> {
        let off = self
            .batches
            .iter()
            .filter(|(_, promised)| promised.cancelled);
        off.map(|(id, _)| *id).collect()
    }

    /// Whether a batch takes in a job from outside; why not.
    pub(super) fn joins(&self, batch: JobId) -> Result<(), Rejected> {
        match self.batches.get(&batch) {
            None => Err(Rejected::NoSuchBatch(batch)),
            Some(promised) if promised.sealed => Err(Rejected::BatchClosed {
                batch,
                is_cancelled: promised.cancelled,
            }),
            Some(_) => Ok(()),
        }
    }
}

/// Refused, because the batch was called off or has ended.
fn is_over(answer: &Result<Vec<Event>, Rejected>, (id, off): (JobId, bool), verb: &str) {
    let Err(Rejected::BatchOver { batch, why, wish }) = answer else {
        panic!("{verb} gave {answer:?}");
    };
    assert_eq!((*batch, *wish), (id, verb));
    let says = if off { "called off" } else { "has ended" };
    assert!(why.contains(says), "{why}");
}
