//! Random histories: wishes of every family, sound and unsound, in any order, under a clock that
//! also goes back.

mod crons;

use std::collections::BTreeMap;

use proptest::prelude::*;
use sandhog_model::{
    Amend, Asked, Carried, ClaimRequest, Command, Event, FailureKind, IdMint, Job, JobId, Ledger,
    Now, Outcome, Record, RecordAt, Rejected, Retention, RetryPolicy, Settlement, Token, TrapKind,
    UnixMs, Waiting,
};

use crate::sample::{attempt, cancellation, failed, failure, job, now, output, policy};

/// Where the clock starts, in milliseconds.
const START: u64 = 1_000_000;

/// One step of a history. A job is picked by a number that counts round all known ids; some picks
/// are of an id that was never given.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// A new job, or one with an id that exists.
    Enqueue {
        kind: u8,
        queue: u8,
        priority: i16,
        delay: u64,
        taken: Option<usize>,
    },
    /// A claim of the kinds in a bit set.
    Claim { kinds: u8, max: usize },
    /// A report with the job's latest token or the one before.
    Settle {
        job: usize,
        late: bool,
        outcome: Outcome,
        children: usize,
    },
    /// A checkpoint.
    Checkpoint { job: usize, late: bool },
    /// A lease lost.
    Lose { job: usize, late: bool },
    /// A change from outside.
    Amend { job: usize, wish: u8 },
    /// A wish about one of two schedules.
    Cron {
        name: u8,
        change: u8,
        overlap: u8,
        step: u64,
    },
    /// Jobs that ended, forgotten by age and number.
    Prune { age: u64, keep: usize, max: usize },
    /// A job written anew.
    Carry { job: usize },
    /// Every job written anew that has its first record in this part of the log, and then that part
    /// given up.
    Trim { percent: usize },
    /// Signs of life of every lease.
    Renew,
    /// Time, forward or back.
    Pass(i64),
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    let trap = FailureKind::Trap(TrapKind::Unreachable);
    prop_oneof![
        3 => Just(Outcome::Completed(output())),
        3 => Just(failed(FailureKind::Error)),
        2 => Just(failed(trap)),
        1 => Just(failed(FailureKind::Lost)),
        1 => (0..9_000_u64).prop_map(|ms| Outcome::Failed {
            failure: failure(FailureKind::Timeout),
            retry_after_ms: Some(ms),
        }),
        1 => Just(Outcome::Permanent(failure(FailureKind::Error))),
        1 => (0..3_000_u64).prop_map(|delay_ms| Outcome::Snoozed { delay_ms }),
        1 => Just(Outcome::Discarded { reason: "no".into() }),
        1 => prop_oneof![
            Just(Waiting::PluginMissing),
            Just(Waiting::PluginInvalid),
            Just(Waiting::PoolFull),
            Just(Waiting::Shutdown),
        ].prop_map(Outcome::NotRun),
    ]
}

/// A history of up to 80 steps.
pub(crate) fn histories() -> impl Strategy<Value = Vec<Op>> {
    let job = 0..12_usize;
    let late = prop::bool::weighted(0.1);
    let delay = prop_oneof![2 => Just(0_u64), 1 => 1..4_000_u64];
    let taken = prop::option::weighted(0.05, job.clone());
    let op = prop_oneof![
        4 => (0..3_u8, 0..2_u8, -1..2_i16, delay, taken).prop_map(
            |(kind, queue, priority, delay, taken)| Op::Enqueue { kind, queue, priority, delay, taken }
        ),
        6 => (1..8_u8, 0..4_usize).prop_map(|(kinds, max)| Op::Claim { kinds, max }),
        8 => (job.clone(), late, outcomes(), 0..3_usize).prop_map(
            |(job, late, outcome, children)| Op::Settle { job, late, outcome, children }
        ),
        1 => (job.clone(), late).prop_map(|(job, late)| Op::Checkpoint { job, late }),
        4 => (job.clone(), late).prop_map(|(job, late)| Op::Lose { job, late }),
        4 => (job, 0..5_u8).prop_map(|(job, wish)| Op::Amend { job, wish }),
        4 => (0..2_u8, 0..16_u8, 0..4_u8, 0..3_u64).prop_map(
            |(name, change, overlap, step)| Op::Cron { name, change, overlap, step }
        ),
        1 => (0..3_000_u64, 0..6_usize, 0..4_usize)
            .prop_map(|(age, keep, max)| Op::Prune { age, keep, max }),
        1 => (0..12_usize).prop_map(|job| Op::Carry { job }),
        1 => (0..=100_usize).prop_map(|percent| Op::Trim { percent }),
        1 => Just(Op::Renew),
        4 => prop_oneof![4 => 0..2_500_i64, 1 => -2_000..0_i64].prop_map(Op::Pass),
    ];
    prop::collection::vec(op, 1..80)
}

/// The policy of a kind: its own caps, 1 s apart.
pub(crate) fn policy_of(kind: &str) -> RetryPolicy {
    match kind {
        "k0" => policy(1, 1),
        "k1" => policy(4, 2),
        _ => policy(3, 3),
    }
}

/// A claim of the kinds in a bit set, one of them named twice, and of one without jobs.
fn claim(kinds: u8, max: usize) -> Command {
    let served = (0..3).filter(|kind| kinds & (1 << kind) != 0);
    let mut kinds: Vec<String> = served.map(|kind| format!("k{kind}")).collect();
    kinds.extend_from_within(..1);
    kinds.push("none".into());
    Command::Claim(ClaimRequest { kinds, max })
}

fn amend(id: JobId, wish: u8) -> Amend {
    match wish {
        0 => Amend::Retry(id),
        1 => Amend::Requeue(id),
        2 => Amend::Delete(id),
        wish => Amend::Cancel {
            id,
            how: [Asked::Cancel, Asked::Kill][usize::from(wish) % 2],
            by: "ada".into(),
            reason: None,
        },
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
    /// Jobs as they were accepted.
    jobs: BTreeMap<JobId, Job>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            ledger: Ledger::default(),
            log: Vec::new(),
            trimmed: RecordAt(0),
            now: now(START),
            latest: UnixMs(START),
            mint: IdMint::default(),
            ids: Vec::new(),
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
            } => {
                let mut job = self.fresh(&format!("k{kind}"));
                job.queue = format!("q{queue}");
                job.priority = *priority;
                job.due = job.enqueued_at.plus(*delay);
                job.id = taken.map_or(job.id, |taken| self.pick(taken));
                self.ids.push(job.id);
                Command::Enqueue(Box::new(job))
            }
            Op::Claim { kinds, max } => claim(*kinds, *max),
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
            Op::Amend { job, wish } => Command::Amend(amend(self.pick(*job), *wish)),
            Op::Cron {
                name,
                change,
                overlap,
                step,
            } => self.cron(*name, *change, *overlap, *step),
            Op::Prune { age, keep, max } => Command::Prune(Retention {
                ended_before: UnixMs(self.now.wall.0.saturating_sub(*age)),
                keep: *keep,
                max: *max,
            }),
            Op::Carry { job } => {
                let id = self.pick(*job);
                if self.ledger.get(id).is_some() {
                    self.carry(id);
                }
                return None;
            }
            Op::Trim { percent } => {
                self.trim(self.log.len() * percent / 100);
                return None;
            }
            Op::Renew => {
                self.renew();
                return None;
            }
            Op::Pass(ms) => {
                self.pass(*ms);
                return None;
            }
        })
    }

    fn report(&mut self, job: usize, late: bool, outcome: Outcome, children: usize) -> Command {
        let (id, token) = self.lease(job, late);
        let kind = self.ledger.get(id).map_or("k2".into(), |entry| entry.kind);
        let retry = policy_of(&kind);
        let children: Vec<Job> = (0..children).map(|_| self.fresh("k1")).collect();
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
        self.ledger.advance(self.now.wall);
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
        self.take_in(Event::Trimmed {
            before,
            at: self.now.wall,
            last_id: self.ledger.last_id(),
            last_token: self.ledger.last_token(),
        });
        self.trimmed = self.trimmed.max(before);
        assert_eq!(self.ledger.trimmed(), self.trimmed);
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
