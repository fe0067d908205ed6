//! Text that nobody sensible writes: refused or taken, never a panic, and quickly.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use sandhog_cron::{Schedule, Timestamp, Why, Zone};

/// Generous on a busy machine without optimisation; a search that walks days one by one for centuries
/// takes longer.
const BOUND: Duration = Duration::from_millis(500);

fn long_or(short: u32) -> u32 {
    match std::env::var_os("SANDHOG_LONG") {
        Some(_) => 500_000,
        None => short,
    }
}

#[test]
fn large_texts_are_refused_with_a_short_message() {
    let large = [
        "*".repeat(10_240),
        "1,".repeat(5_120),
        "0-59/".repeat(2_048),
        format!("{} * * * *", "9".repeat(10_240)),
        "* ".repeat(5_120),
        " ".repeat(10_240),
        format!("@every {}s", "9".repeat(10_240)),
        "é".repeat(5_120),
        "\u{1b}[2J".repeat(2_000),
    ];
    for text in large {
        let begun = Instant::now();
        let refused = Schedule::parse(&text, Zone::utc()).unwrap_err();
        assert_eq!(refused.why, Why::TooLong(text.len()));
        let message = refused.to_string();
        assert!(
            message.len() < 400 && message.contains("512 at most"),
            "{message}"
        );
        assert!(!message.contains('\u{1b}'));
        assert!(begun.elapsed() < BOUND, "{:?}", begun.elapsed());
    }
}

#[test]
fn dates_that_cannot_be_and_dates_far_away_are_found_out_quickly() {
    let after: Timestamp = "2026-12-01T00:00:00Z".parse().unwrap();
    let zone = || Zone::named("America/New_York").unwrap();
    for text in [
        "0 0 30 2 *",
        "* * * 31 11 *",
        "0 0 31 2,4,6,9,11 *",
        "0 0 29 2 +MON#1",
    ] {
        let begun = Instant::now();
        assert_eq!(Schedule::parse(text, zone()).unwrap_err().why, Why::Never);
        assert!(begun.elapsed() < BOUND, "{text}: {:?}", begun.elapsed());
    }
    for day in 0..7 {
        let leap = format!("0 0 29 2 +{day}#5");
        assert!(Schedule::parse(&leap, zone()).is_ok(), "{leap}");
    }
    for text in ["* * * 29 2 +SUN#5", "0 0 29 2 +SUN#5", "0 0 29 2 *"] {
        let begun = Instant::now();
        let schedule = Schedule::parse(text, zone()).unwrap();
        let slots = schedule.slots_after(after).take(10).count();
        assert_eq!(slots, 10, "{text}");
        assert!(begun.elapsed() < BOUND, "{text}: {:?}", begun.elapsed());
    }
}

/// Mostly the characters that mean something.
fn text() -> impl Strategy<Value = String> {
    let word = "[-*/,?LW#+0-9A-Za-z]{0,8}";
    let near = proptest::collection::vec(word, 3..8).prop_map(|words| words.join(" "));
    let every = "@every [0-9]{0,12}[a-zA-Z ]{0,6}".prop_map(String::from);
    prop_oneof![4 => near, 1 => every, 1 => any::<String>(), 1 => "@\\PC{0,10}"]
}

/// Fields that are right or nearly so.
fn sound() -> impl Strategy<Value = String> {
    let field = "(\\*|[0-9]{1,2}|[0-9]-[1-5][0-9])(/[0-9]{1,2})?(,[0-9]{1,2})?";
    let days = "(\\*|\\?|L|L-[0-9]|[0-9]W|[1-3][0-9](,[0-9])?)";
    let week = "(\\*|\\?|[0-7]-[0-7](/[1-7])?|[0-7]#[1-5]|[0-7]L|\\+[0-7])";
    (field, field, days, "(\\*|[1-9]|1[0-2]|[1-6]-[5-9])", week).prop_map(
        |(minute, hour, day, month, week)| format!("{minute} {hour} {day} {month} {week}"),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: long_or(4_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_taken_or_refused(text in prop_oneof![text(), sound()], after in -3_000_000_000_i64..20_000_000_000) {
        let after = Timestamp::from_second(after).unwrap();
        match Schedule::parse(&text, Zone::utc()) {
            Ok(schedule) => {
                let slots: Vec<Timestamp> = schedule.slots_after(after).take(5).collect();
                prop_assert_eq!(slots.len(), if schedule.is_at_start() { 0 } else { 5 });
                prop_assert!(slots[..].first().is_none_or(|first| *first > after));
                prop_assert!(slots.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", slots);
            }
            Err(refused) => prop_assert!(refused.to_string().len() < 600, "{}", refused),
        }
    }

    #[test]
    fn any_text_is_a_zone_or_none(text in any::<String>()) {
        let _ = Zone::named(&text).map_err(|refused| refused.to_string());
    }
}
