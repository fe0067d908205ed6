//! What a scheduler does over restarts and set clocks: one job for a slot, and none too many.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sandhog_cron::{
    Schedule, Timestamp, Zone,
    plan::{CatchUp, Plan, Planned, plan, unix},
};
use sandhog_model::cron::{Done, Span};

const HOUR: i64 = 3_600;
/// Saturday, 2027-11-06T00:00:00Z: a day before New York's clocks are set back.
const BEGIN: i64 = 1_825_459_200;

/// A schedule, what is done, and which slots got a job.
struct Stage {
    schedule: Schedule,
    catch_up: CatchUp,
    window: i64,
    done: Done,
    now: i64,
    jobs: BTreeMap<Timestamp, usize>,
    missed: usize,
}

impl Stage {
    fn new(text: &str, zone: &str, catch_up: CatchUp, window: i64) -> Self {
        Self::from(text, Zone::named(zone).unwrap(), catch_up, window, BEGIN)
    }

    fn from(text: &str, zone: Zone, catch_up: CatchUp, window: i64, begin: i64) -> Self {
        let mut stage = Self {
            schedule: Schedule::parse(text, zone).unwrap(),
            catch_up,
            window,
            done: Done::default(),
            now: begin,
            jobs: BTreeMap::new(),
            missed: 0,
        };
        let (after, upto) = (unix(instant(begin - 1)), unix(instant(begin)));
        stage.done.add(Span { after, upto });
        stage
    }

    /// In a zone, ten hours before its clocks are set for the `nth` time from 2027 on, if they ever are.
    fn before_a_change(text: &str, zone: &str, catch_up: CatchUp, window: i64, nth: usize) -> Self {
        let zone = Zone::named(zone).unwrap();
        let first = zone.next_change(instant(BEGIN));
        let changes = std::iter::successors(first, |last| zone.next_change(last.at));
        let change = changes.take(nth + 1).last();
        let begin = change.map_or(BEGIN, |change| change.at.as_second() - 10 * HOUR);
        Self::from(text, zone, catch_up, window, begin)
    }

    fn plan(&self) -> Plan {
        let window = jiff_seconds(self.window);
        plan(
            &self.schedule,
            &self.done,
            instant(self.now),
            self.catch_up,
            window,
        )
    }

    /// Look once, and do what is to be done.
    fn look(&mut self) -> Option<i64> {
        let plan = self.plan();
        for Planned { at, done } in plan.slots {
            assert!(at <= instant(self.now), "before its time");
            *self.jobs.entry(at).or_default() += 1;
            self.done.add(done);
        }
        if let Some(passed) = plan.passed {
            self.done.add(passed);
        }
        self.missed += plan.missed;
        plan.next.map(Timestamp::as_second)
    }

    /// A runner that is up for so many seconds and sleeps from look to look.
    fn up(&mut self, seconds: i64) {
        let end = self.now + seconds;
        while let Some(next) = self.look().filter(|next| *next <= end) {
            self.now = next.max(self.now);
        }
        self.now = end;
        self.look();
    }

    fn due(&self, from: i64, to: i64) -> Vec<Timestamp> {
        let slots = self.schedule.slots_after(instant(from));
        slots.take_while(|at| *at <= instant(to)).collect()
    }
}

fn instant(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn jiff_seconds(seconds: i64) -> sandhog_cron::SignedDuration {
    sandhog_cron::SignedDuration::from_secs(seconds)
}

#[test]
fn twelve_hours_down_are_made_good_as_the_entry_says() {
    for (catch_up, window, jobs, missed) in [
        (CatchUp::None, HOUR, 0, 720),
        (CatchUp::Latest, HOUR, 1, 719),
        (CatchUp::All, HOUR, 60, 660),
        (CatchUp::All, 24 * HOUR, 720, 0),
    ] {
        let mut stage = Stage::new("* * * * *", "UTC", catch_up, window);
        // Half a minute past the last slot, so that none is on time.
        stage.now += 12 * HOUR + 30;
        stage.look();
        assert_eq!(
            (stage.jobs.len(), stage.missed),
            (jobs, missed),
            "{catch_up:?}"
        );
        // What was left out is counted once.
        stage.look();
        assert_eq!(
            (stage.jobs.len(), stage.missed),
            (jobs, missed),
            "{catch_up:?}"
        );
        stage.up(60);
        assert_eq!(stage.jobs.len(), jobs + 1);
    }
}

#[test]
fn a_slot_that_is_a_little_late_was_not_missed() {
    for catch_up in [CatchUp::None, CatchUp::Latest, CatchUp::All] {
        let mut stage = Stage::new("@every 1s", "UTC", catch_up, HOUR);
        stage.now += 4;
        stage.look();
        assert_eq!((stage.jobs.len(), stage.missed), (4, 0), "{catch_up:?}");
    }
}

#[test]
fn an_old_start_is_no_reason_to_run() {
    // Ten days, and the schedule is due on Mondays at nine: it is Wednesday.
    let mut stage = Stage::new("0 9 * * 1", "UTC", CatchUp::Latest, HOUR);
    stage.now = BEGIN + 4 * 24 * HOUR + 12 * HOUR;
    let next = stage.look();
    assert_eq!((stage.jobs.len(), stage.missed), (0, 1));
    assert_eq!(
        next,
        stage
            .schedule
            .next_after(instant(stage.now))
            .map(Timestamp::as_second)
    );
}

#[test]
fn more_slots_than_a_plan_has_room_for_come_in_several() {
    let mut stage = Stage::new("@every 1s", "UTC", CatchUp::All, 24 * HOUR);
    stage.now += 2_500;
    let mut looks = 0;
    while stage.jobs.len() < 2_500 {
        stage.look();
        looks += 1;
    }
    assert_eq!((looks, stage.missed), (3, 0));
    assert_eq!(stage.look(), Some(stage.now + 1));
}

/// A clock set forward by ten years, and back: a job for the slot that was latest there, and then life
/// goes on where it was.
#[test]
fn a_clock_that_was_wrong_for_a_while_stops_nothing_for_good() {
    let mut stage = Stage::new("0 * * * *", "UTC", CatchUp::Latest, HOUR);
    stage.up(5 * HOUR);
    assert_eq!(stage.jobs.len(), 5);
    stage.now += 87_660 * HOUR + 1800;
    stage.look();
    assert_eq!(stage.jobs.len(), 6);
    stage.now -= 87_660 * HOUR + 1800;
    stage.up(3 * HOUR);
    assert_eq!(stage.jobs.len(), 9);
    assert!(stage.jobs.values().all(|jobs| *jobs == 1));
}

#[derive(Debug, Clone)]
enum Step {
    Up(i64),
    Down(i64),
    Set(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..8 * HOUR).prop_map(Step::Up),
        (0..48 * HOUR).prop_map(Step::Down),
        (-48 * HOUR..48 * HOUR).prop_map(Step::Set),
        prop_oneof![Just(-3600), Just(3600), Just(-1), Just(86_400 * 365 * 10)].prop_map(Step::Set),
    ]
}

fn catch_up() -> impl Strategy<Value = CatchUp> {
    prop_oneof![
        Just(CatchUp::None),
        Just(CatchUp::Latest),
        Just(CatchUp::All)
    ]
}

/// Of every kind: summer time in either half of the year, by half an hour, by two hours, in Ramadan, on odd days,
/// with an end at midnight, and none.
fn zone() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("America/New_York"),
        Just("Europe/Paris"),
        Just("Australia/Lord_Howe"),
        Just("Antarctica/Troll"),
        Just("Africa/Casablanca"),
        Just("Africa/Cairo"),
        Just("Asia/Gaza"),
        Just("Asia/Beirut"),
        Just("America/Havana"),
        Just("America/Santiago"),
        Just("Pacific/Chatham"),
        Just("Europe/Dublin"),
        Just("Asia/Kathmandu"),
    ]
}

fn text() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("*/10 * * * *"),
        Just("30 1,2 * * *"),
        Just("0 * * * *"),
        Just("@every 17m"),
        Just("*/20 30 * * * *"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_slot_gets_two_jobs_whatever_happens(
        text in text(),
        catch_up in catch_up(),
        window in 1..30 * HOUR,
        zone in zone(),
        nth in 0..4_usize,
        steps in prop::collection::vec(step(), 1..12),
    ) {
        let mut stage = Stage::before_a_change(text, zone, catch_up, window, nth);
        for step in steps {
            match step {
                Step::Up(seconds) => stage.up(seconds),
                Step::Down(seconds) | Step::Set(seconds) => stage.now = (stage.now + seconds).max(HOUR),
            }
            let (now, before) = (stage.now, stage.jobs.len());
            let next = stage.look();
            prop_assert!(next.is_none_or(|next| next > now || stage.jobs.len() >= before + 1000));
        }
        prop_assert!(stage.jobs.values().all(|jobs| *jobs == 1), "{:?}", stage.jobs);
    }

    #[test]
    fn while_a_runner_is_up_each_slot_gets_its_job(
        text in text(),
        catch_up in catch_up(),
        zone in zone(),
        nth in 0..4_usize,
        spells in prop::collection::vec(0..20 * HOUR, 1..5),
    ) {
        let mut stage = Stage::before_a_change(text, zone, catch_up, HOUR, nth);
        let begin = stage.now;
        for seconds in spells {
            stage.up(seconds);
        }
        let due = stage.due(begin, stage.now);
        prop_assert_eq!(stage.jobs.keys().copied().collect::<Vec<_>>(), due);
        prop_assert_eq!(stage.missed, 0);
        prop_assert_eq!(stage.done.spans().len(), 1);
    }

    #[test]
    fn with_a_wide_window_all_of_them_are_made_good(
        text in text(),
        zone in zone(),
        nth in 0..4_usize,
        steps in prop::collection::vec((0..9 * HOUR, 0..9 * HOUR), 1..5),
    ) {
        let mut stage = Stage::before_a_change(text, zone, CatchUp::All, 1_000 * HOUR, nth);
        let begin = stage.now;
        for (up, down) in steps {
            stage.up(up);
            stage.now += down;
        }
        stage.look();
        let due = stage.due(begin, stage.now);
        prop_assert_eq!(stage.jobs.keys().copied().collect::<Vec<_>>(), due);
    }
}
