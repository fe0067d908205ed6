//! What a job in the ledger costs: bytes each while a million wait, and nanoseconds for each step of
//! a life at a thousand jobs and at a million. `cargo run --release -p sandhog-model --example index`

use std::{
    alloc::{GlobalAlloc, Layout, System},
    fs,
    hint::black_box,
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use sandhog_model::{
    Amend, Attempt, Command, Event, IdMint, Job, KindDefaults, Ledger, NewJob, Now, Outcome,
    Output, RecordAt, RetryPolicy, Settlement, Token, UnixMs,
};

struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: see above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: see above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Resident bytes of this process.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_usize) * 4096
}

struct World {
    ledger: Ledger,
    mint: IdMint,
    at: u64,
    chance: u64,
}

impl World {
    fn new() -> Self {
        Self {
            ledger: Ledger::default(),
            mint: IdMint::default(),
            at: 1 << 32,
            chance: 1,
        }
    }

    fn now(&self) -> Now {
        let ms = 1_790_000_000_000 + (self.at >> 14);
        Now {
            wall: UnixMs(ms),
            mono: ms,
        }
    }

    fn chance(&mut self) -> u64 {
        self.chance = self
            .chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        self.chance >> 33
    }

    fn job(&mut self, delayed: bool) -> Job {
        let now = self.now().wall;
        let chance = u128::from(self.chance()) << 40;
        let later = if delayed {
            1 + self.chance() % 86_400_000
        } else {
            0
        };
        let new = NewJob {
            kind: "thumbnail".into(),
            payload: vec![7; 256],
            due: (later > 0).then_some(now.plus(later)),
            ..NewJob::default()
        };
        new.accept(
            self.mint.next(now, || chance),
            now,
            &KindDefaults::default(),
        )
        .expect("within bounds")
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

    fn enqueue(&mut self, delayed: bool) {
        let job = self.job(delayed);
        self.carry_out(Command::Enqueue(Box::new(job)));
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

fn bytes_each(jobs: usize, delayed: bool) {
    let (counted, there) = (BYTES.load(Ordering::Relaxed), resident());
    let mut world = World::new();
    for _ in 0..jobs {
        world.enqueue(delayed);
    }
    let counted = BYTES.load(Ordering::Relaxed) - counted;
    say(&format!(
        "{jobs} jobs {}: {:.1} B each allocated, {:.1} B each resident",
        if delayed {
            "due within a day"
        } else {
            "due at once"
        },
        counted as f64 / jobs as f64,
        resident().saturating_sub(there) as f64 / jobs as f64
    ));
    black_box(&world.ledger);
}

/// Times beside a standing number of waiting jobs: each step by itself, and a retry of any of them.
fn times(standing: usize) {
    const STEPS: usize = 100_000;
    let mut world = World::new();
    for _ in 0..standing {
        world.enqueue(false);
    }
    let mut spent = [0_u128; 4];
    let claim: Arc<[String]> = ["thumbnail".to_string()].into();
    let mut any: Vec<_> = world.ledger.newest(None).map(|(id, _)| id).collect();
    for place in (1..any.len()).rev() {
        any.swap(place, world.chance() as usize % (place + 1));
    }
    let standing_ids = any.len();
    for step in 0..STEPS.min(standing) {
        let started = Instant::now();
        let wish = Command::Amend(Amend::Retry(any[step % standing_ids]));
        world.carry_out(wish);
        spent[3] += started.elapsed().as_nanos();
    }
    for _ in 0..STEPS {
        let job = Box::new(world.job(false));
        let started = Instant::now();
        world.carry_out(Command::Enqueue(job));
        let enqueued = Instant::now();
        let leased = world.carry_out(Command::Claim(claim.clone()));
        let claimed = Instant::now();
        if let Some(report) = leased.first().and_then(report) {
            world.carry_out(Command::Settle(Box::new(report)));
        }
        let settled = Instant::now();
        spent[0] += (enqueued - started).as_nanos();
        spent[1] += (claimed - enqueued).as_nanos();
        spent[2] += (settled - claimed).as_nanos();
    }
    let [enqueue, claim, settle, _] = spent.map(|spent| spent / STEPS as u128);
    let retry = spent[3] / STEPS.min(standing) as u128;
    say(&format!(
        "{standing:>8} waiting: enqueue {enqueue:>4} ns, claim {claim:>4} ns, settle {settle:>4} ns, \
         retry of any {retry:>4} ns"
    ));
}

fn say(line: &str) {
    // Whoever reads this may have gone.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn main() {
    bytes_each(1_000_000, false);
    bytes_each(1_000_000, true);
    for standing in [1_000, 10_000, 100_000, 1_000_000] {
        times(standing);
    }
}
