//! How enqueueing, claiming and calling off grow with the jobs that wait: from a thousand to a million, over a
//! thousand queues with limits and a hundred thousand groups. `cargo xtask bench scheduler`

use std::{hint::black_box, io::Write as _, sync::Arc, time::Instant};

use sandhog_model::{
    Amend, Asked, Attempt, Command, Digest, Event, IdMint, Job, JobId, KindDefaults, Ledger,
    NewJob, Now, OnConflict, Outcome, Output, QueueLimits, QueueRule, QueueRules, RecordAt,
    RetryPolicy, Scope, Settlement, Token, Unique, UnixMs,
};

const QUEUES: u64 = 1_000;
const GROUPS: u64 = 100_000;
const STEPS: usize = 20_000;

struct World {
    ledger: Ledger,
    mint: IdMint,
    at: u64,
    chance: u64,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
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
        let queues = (0..QUEUES).map(|number| (format!("queue-{number}"), rule(number)));
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
        let (queue, group) = (self.chance() % QUEUES, self.chance() % GROUPS);
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
fn times(standing: usize) -> [u128; 4] {
    let mut world = World::new();
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
    for _ in 0..STEPS {
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
    let mut cancelled = 0;
    for id in any.into_iter().take(STEPS) {
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
    let [enqueue, claim, settle, cancel] = spent;
    let each = |spent: u128| spent / STEPS as u128;
    [
        each(enqueue),
        each(claim),
        each(settle),
        cancel / cancelled.max(1),
    ]
}

fn main() {
    let mut out = std::io::stdout();
    // Whoever reads this may have gone.
    let _ = writeln!(
        out,
        "waiting jobs over {QUEUES} queues and {GROUPS} groups; ns each, median of 3 (spread)"
    );
    for standing in [1_000, 10_000, 100_000, 1_000_000] {
        let mut runs: Vec<[u128; 4]> = (0..3).map(|_| times(standing)).collect();
        let mut line = format!("{standing:>9}");
        for (step, name) in ["enqueue", "claim", "settle", "cancel"].iter().enumerate() {
            runs.sort_by_key(|run| run[step]);
            let [low, median, high] = [0, 1, 2].map(|run: usize| runs[run][step]);
            line += &format!("   {name} {median:>6} ({low}..{high})");
        }
        let _ = writeln!(out, "{line}");
    }
}
