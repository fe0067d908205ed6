//! Random histories: wishes of every family, sound and unsound, in any order, under a clock that
//! also goes back.

mod batches;
mod crons;
mod ops;

use std::{collections::BTreeMap, sync::Arc};

use sandhog_model::{
    Amend, Asked, Carried, Command, Event, IdMint, Job, JobId, Ledger, Now, Outcome, QueueLimits,
    QueueMode, QueueRule, QueueRules, Record, RecordAt, Rejected, Retention, RetryPolicy,
    Settlement, Status, Token, UnixMs,
};

use crate::sample::{attempt, cancellation, job, now, policy};

use ops::terms;
pub(crate) use ops::{Extra, Op, histories};

/// Where the clock starts, in milliseconds.
const START: u64 = 1_000_000;

/// The policy of a kind: its own caps, 1 s apart.
pub(crate) fn policy_of(kind: &str) -> RetryPolicy {
    match kind {
        "k0" => policy(1, 1),
        "k1" => policy(4, 2),
        _ => policy(3, 3),
    }
}

/// A claim of the kinds in a bit set, one of them named twice, and of one without jobs.
fn claim(kinds: u8) -> Command {
    let served = (0..3).filter(|kind| kinds & (1 << kind) != 0);
    let mut kinds: Vec<String> = served.map(|kind| format!("k{kind}")).collect();
    kinds.extend_from_within(..1);
    kinds.push("none".into());
    Command::Claim(kinds.into())
}

/// What the operator says of the queues: of `q0` one attempt of a group at a time, of `q1` two attempts
/// at a time, in `q2` four jobs that wait.
pub(crate) fn rules() -> QueueRules {
    let rule = |max_depth, concurrency, group_concurrency| QueueRule {
        weight: 2,
        max_depth,
        limits: QueueLimits {
            concurrency,
            group_concurrency,
            ..QueueLimits::default()
        },
    };
    let queues = [
        ("q0".to_string(), rule(None, None, Some(1))),
        ("q1".to_string(), rule(None, Some(2), None)),
        ("q2".to_string(), rule(Some(4), None, None)),
    ];
    QueueRules {
        queues: queues.into(),
        first: Vec::new(),
    }
}

fn amend(id: JobId, wish: u8, later: UnixMs) -> Amend {
    match wish {
        0 => Amend::Retry(id),
        1 => Amend::Requeue(id),
        2 => Amend::Delete(id),
        3 => Amend::Unlock(id),
        4 => Amend::Snooze { id, due: later },
        5 => Amend::Discard {
            id,
            by: "ada".into(),
            reason: None,
        },
        6 | 7 => Amend::Remove {
            id,
            force: wish == 7,
        },
        wish => Amend::Cancel {
            id,
            how: [Asked::Cancel, Asked::Kill][usize::from(wish) % 2],
            by: "ada".into(),
            reason: None,
        },
    }
}

fn steer(queue: u8, mode: QueueMode) -> Command {
    Command::Steer {
        queue: format!("q{queue}"),
        mode: Some(mode),
        limits: None,
        by: "ada".into(),
    }
}

/// A ledger with its log, its clock and its ids.
pub(crate) struct World {
    pub(crate) ledger: Ledger,
    pub(crate) log: Vec<(Record, RecordAt, u64)>,
    /// Before which place nothing is needed.
    pub(crate) trimmed: RecordAt,
    pub(crate) now: Now,
    /// The latest instant the wall clock showed.
    pub(crate) latest: UnixMs,
    mint: IdMint,
    ids: Vec<JobId>,
    /// Batches that were wished for.
    batches: Vec<JobId>,
    /// Jobs as they were accepted.
    jobs: BTreeMap<JobId, Job>,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut ledger = Ledger::default();
        ledger.govern(Arc::new(rules()), now(START));
        Self {
            ledger,
            log: Vec::new(),
            trimmed: RecordAt(0),
            now: now(START),
            latest: UnixMs(START),
            mint: IdMint::default(),
            ids: Vec::new(),
            batches: Vec::new(),
            jobs: BTreeMap::new(),
        }
    }

    /// The wish a step makes; `None` for one that makes none.
    pub(crate) fn wish(&mut self, op: &Op) -> Option<Command> {
        Some(match op {
            Op::Enqueue {
                kind,
                queue,
                priority,
                delay,
                taken,
                extra,
            } => {
                let mut job = self.fresh(&format!("k{kind}"));
                job.queue = format!("q{queue}");
                job.priority = *priority;
                job.due = job.enqueued_at.plus(*delay);
                job.terms = terms(extra, &job);
                job.terms.batch = extra.batch.map(|batch| self.pick_batch(batch.into()));
                job.id = taken.map_or(job.id, |taken| self.pick(taken));
                self.ids.push(job.id);
                Command::Enqueue(Box::new(job))
            }
            Op::Claim { kinds } => claim(*kinds),
            Op::Settle {
                job,
                late,
                outcome,
                children,
            } => self.report(*job, *late, outcome.clone(), *children),
            Op::Checkpoint { job, late } => {
                let (id, token) = self.lease(*job, *late);
                let bytes = vec![1];
                Command::Checkpoint { id, token, bytes }
            }
            Op::Lose { job, late } => {
                let (id, token) = self.lease(*job, *late);
                Command::Lose { id, token }
            }
            Op::Amend { job, wish } => self.amend(*job, *wish),
            Op::Cron {
                name,
                change,
                overlap,
                step,
            } => self.cron(*name, *change, *overlap, *step),
            Op::Prune { age, keep, max } => Command::Prune(Retention {
                ended_before: UnixMs(self.now.wall.0.saturating_sub(*age)),
                keep: *keep,
                spared_from: UnixMs(u64::MAX),
                max: *max,
            }),
            Op::Steer { queue, mode } => steer(*queue, *mode),
            Op::Batch { batch, change } => self.batch(*batch, *change),
            Op::Tend { max } => Command::Tend { max: *max },
            Op::Expire { max } => Command::Expire { max: *max },
            Op::Carry { .. } | Op::Trim { .. } | Op::Renew | Op::Pass(_) => {
                self.go_on(op);
                return None;
            }
        })
    }

    /// A step that wishes nothing.
    fn go_on(&mut self, op: &Op) {
        match op {
            Op::Carry { job } => {
                let id = self.pick(*job);
                if self.ledger.get(id).is_some() {
                    self.carry(id);
                }
            }
            Op::Trim { percent } => self.trim(self.log.len() * percent / 100),
            Op::Renew => self.renew(),
            Op::Pass(ms) => self.pass(*ms),
            other => unreachable!("{other:?} wishes something"),
        }
    }

    fn amend(&self, job: usize, wish: u8) -> Command {
        let later = self.now.wall.plus(u64::from(wish) * 300);
        let comes_back = wish < 2 && job % 2 == 1;
        let id = comes_back.then(|| self.ended_in_vain()).flatten();
        Command::Amend(amend(id.unwrap_or(self.pick(job)), wish, later))
    }

    /// A job that ended and is in a batch that was called off.
    fn ended_in_vain(&self) -> Option<JobId> {
        let is_off = |batch| {
            let batch = self.ledger.batch(batch);
            batch.is_some_and(|batch| batch.cancelled.is_some())
        };
        let mut ended = self.ledger.newest(None).filter(|(_, entry)| {
            !matches!(
                entry.status,
                Status::Waiting { .. } | Status::Running { .. }
            )
        });
        let found = ended.find(|(_, entry)| entry.batch.is_some_and(is_off));
        found.map(|(id, _)| id)
    }

    fn report(&mut self, job: usize, late: bool, outcome: Outcome, children: usize) -> Command {
        let (id, token) = self.lease(job, late);
        let kind = self.ledger.get(id).map_or("k2".into(), |entry| entry.kind);
        let retry = policy_of(&kind);
        let mut children: Vec<Job> = (0..children).map(|_| self.fresh("k1")).collect();
        let batch = self.ledger.get(id).and_then(|entry| entry.batch);
        let joining = children.iter_mut().take(1);
        joining.for_each(|child| child.terms.batch = batch);
        self.ids.extend(children.iter().map(|child| child.id));
        Command::Settle(Box::new(Settlement {
            id,
            token,
            outcome,
            attempt: attempt(),
            children,
            retry,
        }))
    }

    fn renew(&mut self) {
        let mono = self.now.mono;
        for (id, token) in self.ledger.leases() {
            assert!(self.ledger.renew(id, token, mono));
            assert!(!self.ledger.renew(id, Token(token.0 + 1), mono));
        }
    }

    fn pass(&mut self, ms: i64) {
        self.now.mono += ms.unsigned_abs();
        self.now.wall = UnixMs(self.now.wall.0.saturating_add_signed(ms));
        self.latest = self.latest.max(self.now.wall);
    }

    /// Decide a wish and take in what follows.
    pub(crate) fn apply(&mut self, wish: &Command, entropy: u64) -> Result<Vec<Event>, Rejected> {
        self.ledger.advance(self.now);
        let events = self.ledger.decide(wish.clone(), self.now, entropy)?;
        for event in &events {
            self.take_in(event.clone());
        }
        Ok(events)
    }

    fn take_in(&mut self, event: Event) {
        let previous = match &event {
            Event::Carried(_) => None,
            event => event.id().and_then(|id| self.ledger.get(id)),
        };
        let accepted = event.ids().filter_map(|id| event.accepted(id));
        for job in accepted {
            self.jobs.insert(job.id, job.clone());
        }
        let record = Record {
            previous: previous.map(|entry| entry.latest),
            event,
        };
        let at = RecordAt(self.log.len() as u64 + 1);
        let taken = self.ledger.replay(&record, at, self.now.mono);
        taken.expect("what was decided is sound");
        self.log.push((record, at, self.now.mono));
    }

    fn carry(&mut self, id: JobId) {
        let entry = self.ledger.get(id).expect("it is there");
        let before = self.ledger.clone();
        self.take_in(Event::Carried(Box::new(Carried {
            job: self.jobs[&id].clone(),
            at: self.now.wall,
            status: entry.status,
            attempts: entry.attempts,
            losses: entry.losses,
            token: entry.token,
            failure: entry.failure,
            history: Vec::new(),
            output: None,
            reason: None,
            children: Vec::new(),
            checkpoint: entry.checkpoint.map(|_| vec![1]),
            cancel: entry.asked.map(cancellation),
            traps: entry.traps,
            lifted: entry.lifted,
            unlocked: entry.unlocked,
            failing_since: entry.failing_since,
        })));
        let written = self.ledger.get(id).expect("it is still there");
        assert!(written.enqueued > entry.latest && written.enqueued == written.latest);
        assert_eq!(written.checkpoint.is_some(), entry.checkpoint.is_some());
        assert_eq!(written.asked, entry.asked);
        let mono = self.now.mono + 100;
        for lease_ms in [100, 1_000] {
            let overdue = self.ledger.overdue(mono, lease_ms);
            assert_eq!(overdue, before.overdue(mono, lease_ms), "leases grow older");
        }
    }

    fn trim(&mut self, records: usize) {
        let before = RecordAt(records as u64 + 1);
        let old = self.ledger.newest(None);
        let old: Vec<JobId> = old
            .filter(|(_, entry)| entry.enqueued < before)
            .map(|(id, _)| id)
            .collect();
        old.into_iter().for_each(|id| self.carry(id));
        self.carry_crons(before);
        for event in self.ledger.retold(before, self.now.wall) {
            self.take_in(event);
        }
        self.take_in(Event::Trimmed {
            before,
            at: self.now.wall,
            last_id: self.ledger.last_id(),
            last_token: self.ledger.last_token(),
        });
        self.trimmed = self.trimmed.max(before);
        assert_eq!(self.ledger.trimmed(), self.trimmed);
    }

    /// A job as it was accepted.
    pub(crate) fn job(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(&id)
    }

    fn fresh(&mut self, kind: &str) -> Job {
        let id = self.mint.next(self.now.wall, || 0);
        let mut job = job(id.0, kind, self.now.wall.0);
        job.retry = policy_of(kind);
        job
    }

    /// One of the latest ids, or one that was never given.
    fn pick(&self, job: usize) -> JobId {
        let place = job % (self.ids.len().min(11) + 1);
        self.ids
            .iter()
            .rev()
            .nth(place)
            .copied()
            .unwrap_or(JobId(1))
    }

    /// One of the leases, when there are any and the pick is even; else any job with its token.
    fn lease(&self, job: usize, late: bool) -> (JobId, Token) {
        let leases = self.ledger.leases();
        let (id, token) = if job % 4 != 3 && !leases.is_empty() {
            leases[job % leases.len()]
        } else {
            let id = self.pick(job);
            let token = self.ledger.get(id).map_or(Token(1), |entry| entry.token);
            (id, token)
        };
        (id, Token(token.0.saturating_sub(u64::from(late))))
    }
}
