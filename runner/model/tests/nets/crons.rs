//! First net for schedules: every state one can be in against every wish about it, as a text that is kept.

use std::fmt::Write;

use sandhog_model::{
    Command, Event, Ledger, Outcome, Output, Record, RecordAt, Settlement, UnixMs,
    cron::{CronChange, CronWish, DueSlot, Overlap, Span},
};

use crate::{
    sample::{attempt, job, now, policy},
    snapshot,
};

const NAME: &str = "c";
/// When a wish comes.
const AT: u64 = 20_000;

/// A ledger that decides, and keeps what came of it.
#[derive(Default)]
struct Stage {
    ledger: Ledger,
    log: Vec<Record>,
}

impl Stage {
    fn wish(&mut self, command: Command, at: u64) -> Result<Vec<Event>, String> {
        self.ledger.advance(now(at));
        let decided = self.ledger.decide(command, now(at), 0);
        let events = decided.map_err(|rejected| rejected.to_string())?;
        for event in &events {
            let id = event.id().and_then(|id| self.ledger.get(id));
            let record = Record {
                previous: id.map(|entry| entry.latest),
                event: event.clone(),
            };
            self.log.push(record);
            self.replay(self.log.len() - 1);
        }
        Ok(events)
    }

    fn replay(&mut self, place: usize) {
        let at = RecordAt(place as u64 + 1);
        let record = self.log[place].clone();
        self.ledger.replay(&record, at, 0).expect("a sound record");
    }

    fn cron(&mut self, change: CronChange, at: u64) -> Result<Vec<Event>, String> {
        let name = NAME.to_owned();
        self.wish(Command::Cron(CronWish { name, change }), at)
    }

    /// Run the job that is due, and have it end well when asked to.
    fn run(&mut self, ends: bool, at: u64) {
        let claimed = self.wish(Command::Claim(["k".to_owned()].into()), at);
        let claimed = claimed.expect("a job is due");
        let Some(Event::Leased { id, token, .. }) = claimed.last() else {
            panic!("no lease: {claimed:?}");
        };
        if ends {
            let settled = Command::Settle(Box::new(Settlement {
                id: *id,
                token: *token,
                outcome: Outcome::Completed(Output::default()),
                attempt: attempt(),
                children: Vec::new(),
                retry: policy(3, 2),
            }));
            self.wish(settled, at).expect("it holds the lease");
        }
    }

    /// The schedule in one line.
    fn shown(&self) -> String {
        let Some(state) = self.ledger.cron(NAME) else {
            return "unknown".into();
        };
        let spans = state.done.spans().iter();
        let done: Vec<String> = spans
            .map(|span| format!("{}..{}", span.after.0, span.upto.0))
            .collect();
        let instant = |at: Option<UnixMs>| at.map_or("-".to_owned(), |at| at.0.to_string());
        format!(
            "done {} slot {} latest {} waits {} {}{}",
            done.join(" "),
            instant(state.slot),
            state.latest.map_or("-".to_owned(), |id| id.0.to_string()),
            instant(state.waiting),
            state
                .paused
                .as_ref()
                .map_or("runs".to_owned(), |paused| format!(
                    "paused at {} by {} ({:?})",
                    paused.at.0, paused.by, paused.reason
                )),
            state
                .entry
                .as_ref()
                .map_or(String::new(), |entry| format!(" as {entry:?}")),
        )
    }

    fn jobs(&self) -> String {
        let jobs = self.ledger.newest(None);
        let mut jobs: Vec<String> = jobs
            .map(|(id, entry)| {
                let asked = entry
                    .asked
                    .map_or(String::new(), |how| format!(" asked={how}"));
                format!("{} {}{asked}", id.0, entry.status.state(UnixMs(AT)).name())
            })
            .collect();
        jobs.reverse();
        jobs.join(", ")
    }
}

fn slot(at: u64, id: u128, overlap: Overlap) -> CronChange {
    let done = Span {
        after: UnixMs(at - 1_000),
        upto: UnixMs(at),
    };
    CronChange::Slot(Box::new(DueSlot {
        at: UnixMs(at),
        done,
        job: job(id, "k", at),
        overlap,
    }))
}

fn cancel_other() -> Overlap {
    Overlap::CancelOther {
        by: "schedule c".into(),
        reason: Some("its turn".into()),
    }
}

/// Schedules as they can be.
fn states() -> Vec<(&'static str, Stage)> {
    let build = |steps: &dyn Fn(&mut Stage)| {
        let mut stage = Stage::default();
        steps(&mut stage);
        stage
    };
    let sound = |done: Result<Vec<Event>, String>| drop(done.expect("it may be wished"));
    let begun = |stage: &mut Stage| sound(stage.cron(CronChange::Begin, 10_000));
    let first = |stage: &mut Stage| {
        begun(stage);
        sound(stage.cron(slot(12_000, 1, Overlap::Skip), 12_000));
    };
    vec![
        ("unknown", Stage::default()),
        ("begun", build(&begun)),
        ("latest waits", build(&first)),
        (
            "latest runs",
            build(&|stage| {
                first(stage);
                stage.run(false, 12_500);
            }),
        ),
        (
            "latest ended",
            build(&|stage| {
                first(stage);
                stage.run(true, 12_500);
            }),
        ),
        (
            "a slot waits for it",
            build(&|stage| {
                first(stage);
                stage.run(false, 12_500);
                sound(stage.cron(slot(14_000, 2, Overlap::BufferOne), 14_000));
            }),
        ),
        (
            "a slot waits no more",
            build(&|stage| {
                first(stage);
                sound(stage.cron(slot(14_000, 2, Overlap::BufferOne), 14_000));
                stage.run(true, 14_500);
            }),
        ),
        (
            "paused",
            build(&|stage| {
                first(stage);
                let (by, reason) = ("ada".into(), None);
                sound(stage.cron(CronChange::Pause { by, reason }, 15_000));
            }),
        ),
        (
            "added",
            build(&|stage| sound(stage.cron(CronChange::Define("daily".into()), 10_000))),
        ),
        (
            "done in parts",
            build(&|stage| {
                begun(stage);
                for (after, upto) in [(12_000, 13_000), (15_000, 16_000)] {
                    let (after, upto) = (UnixMs(after), UnixMs(upto));
                    sound(stage.cron(CronChange::Pass(Span { after, upto }), 16_000));
                }
            }),
        ),
    ]
}

fn wishes() -> Vec<(&'static str, CronChange)> {
    let pass = |after, upto| {
        let (after, upto) = (UnixMs(after), UnixMs(upto));
        CronChange::Pass(Span { after, upto })
    };
    let release = |at| CronChange::Release {
        slot: UnixMs(at),
        job: Box::new(job(9, "k", AT)),
    };
    let pause = |by: &str, reason: &str| CronChange::Pause {
        by: by.into(),
        reason: Some(reason.into()),
    };
    vec![
        ("begin", CronChange::Begin),
        ("a new slot, skip", slot(20_000, 9, Overlap::Skip)),
        (
            "a new slot, buffer one",
            slot(20_000, 9, Overlap::BufferOne),
        ),
        ("a new slot, allow", slot(20_000, 9, Overlap::Allow)),
        ("a new slot, cancel other", slot(20_000, 9, cancel_other())),
        ("the slot it had", slot(12_000, 9, Overlap::Allow)),
        ("a slot just after", slot(12_001, 9, Overlap::Allow)),
        (
            "a slot with an id that is taken",
            slot(20_000, 1, Overlap::Allow),
        ),
        ("a part of time", pass(16_000, 18_000)),
        ("the part between", pass(12_000, 16_500)),
        ("release", release(14_000)),
        ("release of another slot", release(13_000)),
        ("trigger", CronChange::Trigger(Box::new(job(9, "k", AT)))),
        ("pause", pause("bob", "too loud")),
        ("pause by nobody can read", pause(&"b".repeat(10_000), "x")),
        (
            "pause for no end of a reason",
            pause("bob", &"r".repeat(100_000)),
        ),
        ("resume", CronChange::Resume),
        ("define the same", CronChange::Define("daily".into())),
        ("define another", CronChange::Define("hourly".into())),
        (
            "define too much",
            CronChange::Define("d".repeat(10_000_000)),
        ),
        ("forget", CronChange::Forget),
    ]
}

#[test]
fn every_schedule_takes_every_wish_as_the_table_says() {
    let mut text = String::new();
    for place in 0..states().len() {
        let (state, before) = states().swap_remove(place);
        let _ = writeln!(
            text,
            "== {state}: {}; jobs {}",
            before.shown(),
            before.jobs()
        );
        for (name, change) in wishes() {
            let (_, mut stage) = states().swap_remove(place);
            let said = match stage.cron(change, AT) {
                Err(why) => format!("refused: {}", why.get(..160).unwrap_or(&why)),
                Ok(_) => format!("{}; jobs {}", stage.shown(), stage.jobs()),
            };
            let _ = writeln!(text, "{name}\n    {said}");
            // Who reads the log knows the same.
            let mut again = Stage {
                ledger: Ledger::default(),
                log: stage.log.clone(),
            };
            (0..again.log.len()).for_each(|place| again.replay(place));
            assert_eq!(again.shown(), stage.shown(), "{state}, {name}");
            let names: Vec<&str> = stage.ledger.crons().map(|(name, _)| name).collect();
            let known = stage.ledger.cron(NAME).is_some();
            assert_eq!(names, [NAME][..usize::from(known)], "{state}, {name}");
        }
    }
    snapshot::matches("crons.txt", &text);
}

/// Whoever frees a part of the log asks which schedules were last told of there.
#[test]
fn a_schedule_lies_where_it_was_last_told_of() {
    let mut stage = Stage::default();
    stage.cron(CronChange::Begin, 10_000).expect("it is new");
    let told = |stage: &Stage, place| stage.ledger.crons_before(RecordAt(place)).count();
    assert_eq!((told(&stage, 1), told(&stage, 2)), (0, 1));
    stage
        .cron(CronChange::Define("x".into()), 10_000)
        .expect("it is known");
    assert_eq!((told(&stage, 2), told(&stage, 3)), (0, 1));
}

#[test]
fn ledgers_that_know_other_things_of_a_schedule_are_not_the_same() {
    let known = |at| {
        let mut stage = Stage::default();
        stage.cron(CronChange::Begin, at).expect("it is new");
        stage.ledger
    };
    assert_eq!(known(10_000), known(10_000));
    assert_ne!(known(10_000), known(10_001));
}
