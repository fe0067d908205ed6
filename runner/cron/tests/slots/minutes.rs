//! The slots around the moments at which clocks are set, against a count that knows nothing of the
//! search: it looks at what the clocks show at every minute.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use sandhog_cron::{DateTime, Schedule, Timestamp, Zone};

/// Zones whose clocks do odd things: half hours, two hours, a skipped day, Ramadan, summer time that is
/// standard time, no midnight, a new offset for good.
const ODD: [&str; 18] = [
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
    "Europe/Dublin",
    "Africa/Cairo",
    "America/Sao_Paulo",
    "Antarctica/Troll",
    "Asia/Gaza",
    "Pacific/Kwajalein",
    "America/Caracas",
    "Asia/Pyongyang",
    "Europe/Volgograd",
    "Asia/Tehran",
    "America/Havana",
    "Asia/Kathmandu",
    "America/New_York",
    "Europe/Paris",
    "America/Scoresbysund",
];

/// Expressions without a field for seconds, and whether each is a rhythm.
const TEXTS: [(&str, bool); 16] = [
    ("30 2 * * *", false),
    ("0 0 * * *", false),
    ("59 23 * * *", false),
    ("0 1,2,3 * * *", false),
    ("0-59 0-23 * * *", false),
    ("15,45 1-3 * * *", false),
    ("0 3 * * SUN", false),
    ("30 1 L * *", false),
    ("5 0 1-7,25-31 * *", false),
    ("* * * * *", true),
    ("*/30 * * * *", true),
    ("*/7 * * * *", true),
    ("0 * * * *", true),
    ("0 */2 * * *", true),
    ("*/20 2 * * *", true),
    ("45 * * * SUN,SAT", true),
];

const MINUTE: i64 = 60;
/// Looked at on both sides of a change, in minutes.
const AROUND: i64 = 30 * 60;

fn instant(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Whether the fields of an expression name a local minute, read with another, simpler reader.
fn names(text: &str, local: DateTime) -> bool {
    let fields: Vec<&str> = text.split(' ').collect();
    let value = |text: &str| match text {
        "SUN" => 0,
        "SAT" => 6,
        number => number.parse::<i8>().unwrap(),
    };
    let within = |field: &str, now: i8| {
        field.split(',').any(|one| {
            if let Some(step) = one.strip_prefix("*/") {
                now % value(step) == 0
            } else if let Some((from, to)) = one.split_once('-') {
                (value(from)..=value(to)).contains(&now)
            } else {
                one == "*"
                    || one == "L" && now == local.days_in_month()
                    || one != "L" && value(one) == now
            }
        })
    };
    // None of the expressions gives both day fields.
    within(fields[0], local.minute())
        && within(fields[1], local.hour())
        && within(fields[2], local.day())
        && within(fields[4], local.weekday().to_sunday_zero_offset())
}

/// Every slot between two instants: by what the clocks show at each minute.
fn counted(text: &str, is_rhythm: bool, zone: &Zone, from: i64, to: i64) -> BTreeSet<Timestamp> {
    // Wider than what is asked for, so that a time repeated or skipped at the edge is seen whole.
    let minutes = (from - 2 * 86_400..to + 2 * 86_400)
        .step_by(MINUTE as usize)
        .map(instant);
    let shown: Vec<(Timestamp, DateTime)> = minutes.map(|at| (at, zone.local(at))).collect();
    let mut slots = BTreeSet::new();
    if is_rhythm {
        slots.extend(
            shown
                .iter()
                .filter(|(_, local)| names(text, *local))
                .map(|(at, _)| *at),
        );
    } else {
        let mut first: BTreeMap<DateTime, Timestamp> = BTreeMap::new();
        for (at, local) in &shown {
            first.entry(*local).or_insert(*at);
        }
        let (mut local, last) = (shown[0].1, shown[shown.len() - 1].1);
        while local <= last {
            if names(text, local) {
                // The first time the clocks show it, or else the first time they show anything later.
                let at = first.get(&local).copied().unwrap_or_else(|| {
                    let mut later = shown.iter().filter(|(_, shown)| *shown > local);
                    later.next().unwrap().0
                });
                slots.insert(at);
            }
            local = local
                .checked_add(std::time::Duration::from_secs(60))
                .unwrap();
        }
    }
    slots.retain(|at| *at > instant(from) && *at <= instant(to));
    slots
}

fn zone() -> impl Strategy<Value = Zone> {
    let names = Zone::names();
    let any = (0..names.len()).prop_map(move |at| names[at].clone());
    let odd = prop::sample::select(&ODD[..]).prop_map(String::from);
    prop_oneof![any, odd].prop_map(|name| Zone::named(&name).unwrap())
}

/// An instant just before clocks are set, or any where they never are. Since 1973 all offsets are whole
/// minutes.
fn moment(zone: &Zone, near: i64) -> i64 {
    let change = zone.next_change(instant(near));
    change.map_or(near - near.rem_euclid(MINUTE), |change| {
        change.at.as_second()
    })
}

fn cases() -> u32 {
    match std::env::var_os("SANDHOG_LONG") {
        Some(_) => 20_000,
        None => 150,
    }
}

const FROM: i64 = 100_000_000;
const TO: i64 = 4_000_000_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_slot_comes_once_and_none_is_missing(
        zone in zone(),
        near in FROM..TO,
        (text, is_rhythm) in prop::sample::select(&TEXTS[..]),
        restarts in prop::collection::vec(-AROUND * MINUTE..AROUND * MINUTE, 40),
    ) {
        let moment = moment(&zone, near);
        let (from, to) = (moment - AROUND * MINUTE, moment + AROUND * MINUTE);
        let right = counted(text, is_rhythm, &zone, from, to);
        let schedule = Schedule::parse(text, zone.clone()).unwrap();

        let found: Vec<Timestamp> = schedule
            .slots_after(instant(from))
            .take_while(|at| *at <= instant(to))
            .collect();
        prop_assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", found);
        let once: BTreeSet<Timestamp> = found.iter().copied().collect();
        prop_assert_eq!(&once, &right, "{} in {} around {}", text, zone.name(), instant(moment));

        // Whoever asks at any other instant, after a restart or after the clock was set, finds the same.
        for second in restarts {
            let at = instant(moment + second);
            let next = schedule.next_after(at).filter(|next| *next <= instant(to));
            let expected = right.range((std::ops::Bound::Excluded(at), std::ops::Bound::Unbounded)).next();
            prop_assert_eq!(next.as_ref(), expected, "{} in {} from {}", text, zone.name(), at);
        }
    }
}

#[test]
fn every_zone_has_each_time_of_day_once_a_day_through_both_changes_of_a_year() {
    for name in Zone::names() {
        let zone = Zone::named(&name).unwrap();
        let schedule = Schedule::parse("30 2 * * *", zone.clone()).unwrap();
        let year: Timestamp = "2027-01-01T14:00:00Z".parse().unwrap();
        let slots: Vec<Timestamp> = schedule.slots_after(year).take(400).collect();
        let days: BTreeSet<_> = slots.iter().map(|at| zone.local(*at).date()).collect();
        assert_eq!(days.len(), 400, "{name}");
        for pair in slots.windows(2) {
            let hours = (pair[1].as_second() - pair[0].as_second()) as f64 / 3_600.0;
            assert!(
                (22.0..=26.0).contains(&hours),
                "{name}: {hours} h after {}",
                pair[0]
            );
        }
    }
}
