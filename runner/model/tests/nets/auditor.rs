//! Third net: an auditor that knows only the promises and predicts every answer.

mod amend;
mod batches;
mod crons;
mod enqueue;

use std::collections::BTreeMap;

use proptest::prelude::*;
use sandhog_model::{
    Command, Event, FailureKind, JobId, Now, Outcome, QueueMode, Rejected, Retention, Settlement,
    State, Token, UnixMs, Verdict, Waiting,
};

use crate::{
    history::{Extra, Op, World, histories},
    predict::{Expected, Known, Life},
    sample::failed,
};

/// What was promised to whom so far.
#[derive(Default)]
struct Auditor {
    jobs: Vec<Known>,
    highest: u64,
    /// Each (schedule, slot) that got a job.
    slots: Vec<(String, u64)>,
    /// What a schedule was last defined as, and since when it is that.
    defined: BTreeMap<String, (String, UnixMs)>,
    /// Each (job, lease) whose end was told. None is told twice.
    ended: Vec<(JobId, Token)>,
    modes: BTreeMap<String, QueueMode>,
    batches: BTreeMap<JobId, batches::Promised>,
}

impl Auditor {
    fn job(&mut self, id: JobId) -> Option<&mut Known> {
        let known = self.jobs.iter_mut().find(|job| job.id == id);
        known.filter(|job| job.life != Life::Deleted)
    }

    /// What is due at an instant that the clock showed stays due.
    fn clock(&mut self, wall: u64) {
        for job in &mut self.jobs {
            if let Life::Waits { due, seen_due } = &mut job.life {
                *seen_due |= *due <= wall;
            }
        }
    }

    fn audit(&mut self, wish: &Command, now: Now, answer: &Result<Vec<Event>, Rejected>) {
        self.clock(now.wall.0);
        match wish {
            Command::Enqueue(job) => self.enqueue(job, now, answer),
            Command::Claim(kinds) => self.claim(kinds, now, answer),
            Command::Checkpoint { id, token, .. } => {
                self.fence(*id, *token, answer);
            }
            Command::Settle(report) => {
                if let Some(events) = self.fence(report.id, report.token, answer) {
                    self.settle(report, now, events);
                }
            }
            Command::Lose { id, token } => {
                if let Some(events) = self.fence(*id, *token, answer) {
                    self.lose(*id, *token, now, events);
                }
            }
            Command::Amend(amend) => self.amend(amend, now, answer),
            Command::Cron(wish) => self.cron(wish, now, answer),
            Command::Batch(wish) => self.batch(wish, answer),
            Command::Tend { max } => self.tend(*max, now, answer),
            Command::Prune(retention) => self.prune(retention, now, answer),
            Command::Expire { max } => self.expire(*max, now, answer),
            Command::Steer { queue, mode, .. } => {
                let mode = mode.expect("the tests say it");
                let before = self.modes.insert(queue.clone(), mode).unwrap_or_default();
                let events = answer.as_ref().expect("anybody may say so");
                assert_eq!(events.is_empty(), before == mode);
            }
        }
    }

    /// The oldest that ended and are not dead go, as far as they are too old or too many.
    fn prune(&mut self, retention: &Retention, now: Now, answer: &Result<Vec<Event>, Rejected>) {
        let mut ended: Vec<(u64, JobId)> = Vec::new();
        for job in &self.jobs {
            if let Life::Ended(state) = job.life
                && state != State::Dead
            {
                ended.push((job.ended_at, job.id));
            }
        }
        ended.sort_unstable();
        let excess = ended.len().saturating_sub(retention.keep);
        let mut ids = Vec::new();
        for (place, (at, id)) in ended.into_iter().enumerate() {
            if place < excess || at < retention.ended_before.0 {
                ids.push(id);
            }
        }
        ids.truncate(retention.max);
        let needed = self.batches_off_with_jobs();
        for id in &ids {
            self.job(*id).expect("it ended").delete();
        }
        let at = now.wall;
        let jobs = (!ids.is_empty()).then_some(Event::Pruned { ids, at });
        let batches = self.forget_batches(retention, now, &needed);
        let expected: Vec<Event> = jobs.into_iter().chain(batches).collect();
        assert_eq!(answer, &Ok(expected));
    }

    /// The holder of the latest lease of a running job is heard, nobody else.
    fn fence<'a>(
        &mut self,
        id: JobId,
        token: Token,
        answer: &'a Result<Vec<Event>, Rejected>,
    ) -> Option<&'a [Event]> {
        if self.job(id).is_some_and(|job| job.is_held_by(token)) {
            return Some(answer.as_ref().expect("its holder is heard"));
        }
        assert_eq!(answer, &Err(Rejected::Fenced { id, token }));
        None
    }

    /// One of the jobs that wait, are due, and were not too late to begin.
    fn claim(&mut self, kinds: &[String], now: Now, answer: &Result<Vec<Event>, Rejected>) {
        let events = answer.as_ref().expect("a claim is never refused");
        assert!(events.len() <= 1);
        for event in events {
            let Event::Leased { id, token, at } = event else {
                panic!("a claim gave {event:?}");
            };
            assert_eq!(*at, now.wall);
            assert!(token.0 > self.highest, "a token is larger than all before");
            self.highest = token.0;
            let modes = self.modes.clone();
            let off = self.batches_called_off();
            let job = self.job(*id).expect("it waits");
            assert!(matches!(job.life, Life::Waits { seen_due: true, .. }));
            assert!(kinds.contains(&job.kind));
            let batch = job.terms.batch;
            assert!(batch.is_none_or(|batch| !off.contains(&batch)), "{job:?}");
            assert!(job.expires().is_none_or(|expires| expires > now.wall.0));
            assert_ne!(modes.get(&job.queue), Some(&QueueMode::Paused));
            job.life = Life::Runs;
            job.token = *token;
        }
    }

    fn end_once(&mut self, id: JobId, token: Token) {
        assert!(!self.ended.contains(&(id, token)), "a lease ended twice");
        self.ended.push((id, token));
    }

    fn settle(&mut self, report: &Settlement, now: Now, events: &[Event]) {
        self.end_once(report.id, report.token);
        let [
            Event::Settled {
                id,
                attempt,
                verdict,
                children,
            },
        ] = events
        else {
            panic!("a report gave {events:?}");
        };
        let job = self.job(*id).expect("it ran");
        let number = job.attempts + 1;
        assert_eq!((attempt.number, attempt.token), (number, report.token));
        assert_eq!(attempt.ended_at, now.wall);
        let told = match &report.outcome {
            Outcome::Failed { failure, .. } | Outcome::Permanent(failure) => Some(failure),
            Outcome::Completed(_)
            | Outcome::Snoozed { .. }
            | Outcome::Discarded { .. }
            | Outcome::NotRun(_) => None,
        };
        assert_eq!(attempt.failure.as_ref(), told, "the history says why");
        // A job that was called off ends with its attempt, whether that ran or not.
        if !matches!(report.outcome, Outcome::NotRun(_)) || job.asked.is_some() {
            job.failure = told.map(|failure| failure.kind);
        }
        let (state, due) = match verdict {
            Verdict::Completed(_) => (Some(State::Completed), 0),
            Verdict::Discarded { .. } => (Some(State::Discarded), 0),
            Verdict::Dead => (Some(State::Dead), 0),
            Verdict::Cancelled => (Some(State::Cancelled), 0),
            Verdict::Retry { due } | Verdict::Snoozed { due } | Verdict::PutBack { due, .. } => {
                (None, due.0)
            }
        };
        match job.expect(report, now.wall.0) {
            Expected::Ends(expected) => {
                assert_eq!(state, Some(expected), "after attempt {number}");
                job.life = Life::Ended(expected);
                job.ended_at = now.wall.0;
                job.attempts = number;
            }
            Expected::Waits {
                wait: (least, most),
                uses_attempt,
            } => {
                assert_eq!(state, None, "after attempt {number}");
                let waits = due.checked_sub(now.wall.0).expect("never in the past");
                assert!((least..=most).contains(&waits), "waits {waits} ms");
                job.life = Life::Waits {
                    due,
                    seen_due: waits == 0,
                };
                job.attempts += u32::from(uses_attempt);
            }
        }
        let left = if state == Some(State::Completed) {
            report.children.len()
        } else {
            0
        };
        assert_eq!(children.len(), left, "children follow a success only");
        for (child, wished) in children.iter().zip(&report.children) {
            assert_eq!((child.id, child.parent), (wished.id, Some(*id)));
            self.jobs.push(Known::new(child));
        }
    }

    /// No attempt is used; the fourth loss buries.
    fn lose(&mut self, id: JobId, token: Token, now: Now, events: &[Event]) {
        self.end_once(id, token);
        let [Event::Lost { buried, .. }] = events else {
            panic!("a loss gave {events:?}");
        };
        let job = self.job(id).expect("it ran");
        job.losses += 1;
        assert_eq!(
            buried.is_some(),
            job.losses > 3 && job.asked.is_none(),
            "after {} losses",
            job.losses
        );
        job.life = if job.asked.take().is_some() {
            job.ended_at = now.wall.0;
            Life::Ended(State::Cancelled)
        } else if job.losses > 3 {
            job.failure = Some(FailureKind::Lost);
            Life::Ended(State::Dead)
        } else {
            Life::Waits {
                due: now.wall.0,
                seen_due: true,
            }
        };
    }

    /// What the ledger shows is what was promised.
    fn compare(&self, world: &World) {
        let mut living = 0;
        for job in &self.jobs {
            let shown = world.ledger.state(job.id, world.now.wall);
            let expected = match job.life {
                Life::Deleted => None,
                Life::Runs => Some(State::Running),
                Life::Ended(state) => Some(state),
                Life::Waits { due, seen_due } if seen_due || due <= world.now.wall.0 => {
                    Some(State::Available)
                }
                Life::Waits { .. } => {
                    shown.filter(|state| matches!(state, State::Scheduled | State::Retryable))
                }
            };
            assert!(shown == expected, "{job:?} is shown as {shown:?}");
            let Some(entry) = world.ledger.get(job.id) else {
                continue;
            };
            living += 1;
            assert_eq!((entry.attempts, entry.losses), (job.attempts, job.losses));
            assert_eq!((entry.failure, entry.asked), (job.failure, job.asked));
            let goes_on = matches!(job.life, Life::Waits { .. } | Life::Runs);
            assert_eq!(entry.traps, if goes_on { job.traps } else { 0 });
        }
        assert_eq!(
            world.ledger.len(),
            living,
            "no job is there that nobody accepted"
        );
    }
}

/// Every step of a history gives what was promised.
fn audited(ops: &[Op], entropy: u64) {
    let mut world = World::new();
    let mut auditor = Auditor::default();
    for (step, op) in ops.iter().enumerate() {
        if let Some(wish) = world.wish(op) {
            let now = world.now;
            let answer = world.apply(&wish, entropy.wrapping_mul(step as u64 + 1));
            auditor.audit(&wish, now, &answer);
        }
        auditor.compare(&world);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_is_the_one_promised(ops in histories(), entropy: u64) {
        audited(&ops, entropy);
    }
}

/// Random histories seldom have one that failed before.
#[test]
fn a_job_that_was_called_off_ends_with_its_attempt_though_that_never_ran() {
    let (job, late, children) = (0, false, 0);
    let settle = |outcome| Op::Settle {
        job,
        late,
        outcome,
        children,
    };
    let enqueue = Op::Enqueue {
        kind: 2,
        queue: 0,
        priority: 0,
        delay: 0,
        taken: None,
        extra: Extra::default(),
    };
    let ops = [
        enqueue,
        Op::Claim { kinds: 4 },
        settle(failed(FailureKind::Error)),
        Op::Pass(10_000),
        Op::Claim { kinds: 4 },
        Op::Amend { job, wish: 8 },
        settle(Outcome::NotRun(Waiting::PluginMissing)),
    ];
    audited(&ops, 0);
}
