//! How enqueueing, claiming and calling off grow with the jobs that wait, from a thousand up, over many queues with
//! limits and a hundred thousand groups: the rules alone, without a disk.

use std::{hint::black_box, sync::Arc, time::Instant};

use sandhog_model::{
    Amend, Asked, Attempt, Command, Digest, Event, IdMint, Job, JobId, KindDefaults, Ledger,
    NewJob, Now, OnConflict, Outcome, Output, QueueLimits, QueueRule, QueueRules, RecordAt,
    RetryPolicy, Scope, Settlement, Token, Unique, UnixMs,
};

use crate::{
    command::Size,
    report::{Goal, Line, Report},
    stage::Place,
};

const GROUPS: u64 = 100_000;
/// Steps that are measured, where as many jobs wait.
const STEPS: usize = 20_000;
/// The fewest jobs that wait.
const FEWEST: usize = 1_000;
/// How much longer a step may take beside all jobs than beside the fewest.
const TIMES: f64 = 2.0;
const NAMES: [&str; 4] = ["enqueue", "claim", "settle", "cancel"];

/// The numbers of waiting jobs: each ten times the one before, up to this many.
pub(crate) fn decades(most: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(FEWEST), |waiting| waiting.checked_mul(10));
    let below: Vec<usize> = powers.take_while(|waiting| *waiting <= most).collect();
    if below.is_empty() { vec![most] } else { below }
}

pub(crate) fn measure(_: &Place, wanted: &Size, report: &mut Report) -> Result<(), String> {
    let decades = decades(wanted.count);
    // Of each step, beside each number of waiting jobs, the rounds.
    let mut figures = vec![vec![Vec::new(); decades.len()]; NAMES.len()];
    for _ in 0..wanted.rounds {
        for (place, waiting) in decades.iter().enumerate() {
            let times = times(*waiting, wanted.queues as u64);
            for (of_step, ns) in figures.iter_mut().zip(times) {
                of_step[place].push(ns);
            }
        }
    }
    for (name, of_step) in NAMES.iter().zip(figures) {
        for (waiting, ns) in decades.iter().zip(&of_step) {
            report.grows(
                &format!("{name}, ns"),
                *waiting,
                sandhog::figures::median(ns),
            );
            let name = format!("{name} beside {waiting} waiting jobs");
            let line = Line::new(&name, "no disk", "ns", ns.clone());
            report.push(match *waiting == decades[0] {
                true => line,
                false => line.beside(of_step[0].clone()).goal(Goal::AtMost(TIMES)),
            });
        }
    }
    Ok(())
}

struct World {
    queues: u64,
    ledger: Ledger,
    mint: IdMint,
    at: u64,
    chance: u64,
}

impl World {
    fn new(queues: u64) -> Self {
        let mut world = Self {
            queues,
            ledger: Ledger::default(),
            mint: IdMint::default(),
            at: 1 << 32,
            chance: 1,
        };
        let rule = |number: u64| QueueRule {
            weight: 1 + (number % 7) as u32,
            max_depth: Some(100_000),
            limits: QueueLimits {
                concurrency: Some(1_000),
                group_concurrency: Some(10),
                ..QueueLimits::default()
            },
        };
        let queues = (0..queues).map(|number| (format!("queue-{number}"), rule(number)));
        let rules = QueueRules {
            queues: queues.collect(),
            first: vec!["queue-3".into(), "queue-7".into()],
        };
        world.ledger.govern(Arc::new(rules), world.now());
        world
    }

    fn now(&self) -> Now {
        let ms = 1_790_000_000_000 + (self.at >> 14);
        Now {
            wall: UnixMs(ms),
            mono: ms,
        }
    }

    fn chance(&mut self) -> u64 {
        let next = self.chance.wrapping_mul(6_364_136_223_846_793_005);
        self.chance = next.wrapping_add(1);
        self.chance >> 33
    }

    /// A job of any queue and group, one in ten with a key of its own.
    fn job(&mut self) -> Job {
        let now = self.now().wall;
        let chance = u128::from(self.chance()) << 40;
        let (queue, group) = (self.chance() % self.queues, self.chance() % GROUPS);
        let new = NewJob {
            kind: format!("kind-{}", group % 3),
            queue: Some(format!("queue-{queue}")),
            group: Some(format!("group-{group}")),
            priority: Some((group % 3) as i16),
            ..NewJob::default()
        };
        let id = self.mint.next(now, || chance);
        let mut job = new
            .accept(id, now, &KindDefaults::default())
            .expect("within bounds");
        if chance & (1 << 45) != 0 {
            job.terms.unique = Some(Unique {
                key: Digest(id.0),
                says: String::new(),
                scope: Scope::UNFINISHED,
                until: None,
                on_conflict: OnConflict::Reject,
            });
        }
        job
    }

    fn carry_out(&mut self, command: Command) -> Vec<Event> {
        let now = self.now();
        let events = self.ledger.decide(command, now, 7).expect("allowed");
        for event in &events {
            self.at += 400;
            let taken = self.ledger.evolve(event, RecordAt(self.at), now.mono);
            taken.expect("sound");
        }
        events
    }
}

fn report(event: &Event) -> Option<Settlement> {
    let Event::Leased { id, token, at } = *event else {
        return None;
    };
    Some(Settlement {
        id,
        token,
        outcome: Outcome::Completed(Output::default()),
        attempt: Attempt::without_run(1, Token(0), at),
        children: Vec::new(),
        retry: RetryPolicy::default(),
    })
}

/// Nanoseconds of each of four steps, beside so many waiting jobs.
fn times(standing: usize, queues: u64) -> [f64; 4] {
    let steps = STEPS.min(standing);
    let mut world = World::new(queues);
    for _ in 0..standing {
        let job = Box::new(world.job());
        world.carry_out(Command::Enqueue(job));
    }
    let kinds: Arc<[String]> = (0..3).map(|kind| format!("kind-{kind}")).collect();
    let mut any: Vec<JobId> = world.ledger.newest(None).map(|(id, _)| id).collect();
    for place in (1..any.len()).rev() {
        any.swap(place, world.chance() as usize % (place + 1));
    }
    let mut spent = [0; 4];
    for _ in 0..steps {
        let job = Box::new(world.job());
        let started = Instant::now();
        world.carry_out(Command::Enqueue(job));
        let enqueued = Instant::now();
        let leased = world.carry_out(Command::Claim(kinds.clone()));
        let claimed = Instant::now();
        if let Some(report) = leased.first().and_then(report) {
            world.carry_out(Command::Settle(Box::new(report)));
        }
        let settled = Instant::now();
        spent[0] += (enqueued - started).as_nanos();
        spent[1] += (claimed - enqueued).as_nanos();
        spent[2] += (settled - claimed).as_nanos();
    }
    let mut cancelled = 0_u32;
    for id in any.into_iter().take(steps) {
        let wish = Amend::Cancel {
            id,
            how: Asked::Cancel,
            by: String::new(),
            reason: None,
        };
        let now = world.now();
        let started = Instant::now();
        // Some of them ran meanwhile.
        if let Ok(events) = world.ledger.decide(Command::Amend(wish), now, 7) {
            for event in &events {
                world.at += 400;
                let taken = world.ledger.evolve(event, RecordAt(world.at), now.mono);
                taken.expect("sound");
            }
            spent[3] += started.elapsed().as_nanos();
            cancelled += 1;
        }
    }
    black_box(&world.ledger);
    let [enqueue, claim, settle, cancel] = spent.map(|spent: u128| spent as f64);
    let each = |spent: f64| spent / steps as f64;
    [
        each(enqueue),
        each(claim),
        each(settle),
        cancel / f64::from(cancelled.max(1)),
    ]
}
