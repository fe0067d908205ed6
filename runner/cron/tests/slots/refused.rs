//! What is no schedule, and what is said of it.

use sandhog_cron::{Field, Schedule, Why, Zone};

/// A text, the field and column at fault, why, and what the message says of it.
type Row = (&'static str, Option<Field>, usize, Why, &'static str);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("", None, 1, Why::Empty, "the expression is empty: write five fields"),
    (" \t ", None, 1, Why::Empty, "the expression is empty"),
    ("* * * *", None, 1, Why::Fields(4), "`* * * *`: has 4 fields, not five or six: write [second] minute"),
    ("*", None, 1, Why::Fields(1), "`*`: is one field, not five or six"),
    ("0 0 0 1 1 * 2027", None, 1, Why::Fields(7), "there is no field for the year"),
    ("TZ=Asia/Tokyo 0 3 * * *", None, 1, Why::ZoneInFront, "give it beside it"),
    ("CRON_TZ=UTC 0 3 * * *", None, 1, Why::ZoneInFront, "the zone is not part of the expression"),
    ("@fortnightly", None, 1, Why::UnknownMacro, "`@fortnightly`: is not known: write @yearly, @annually, @monthly"),
    ("@daily *", None, 1, Why::UnknownMacro, "`@daily *`: is not known"),
    ("*/90 * * * *", Some(Field::Minute), 1, Why::StepRange, "minute field, column 1, `*/90`: the step is out of range: in the minute field it is a number from 1 to 59"),
    ("*/0 * * * *", Some(Field::Minute), 1, Why::StepRange, "from 1 to 59"),
    ("*/60 * * * *", Some(Field::Minute), 1, Why::StepRange, "from 1 to 59"),
    ("0 */24 * * *", Some(Field::Hour), 3, Why::StepRange, "hour field, column 3, `*/24`: the step is out of range: in the hour field it is a number from 1 to 23"),
    ("0 0 */32 * *", Some(Field::DayOfMonth), 5, Why::StepRange, "from 1 to 31"),
    ("0 0 1 */13 *", Some(Field::Month), 7, Why::StepRange, "from 1 to 12"),
    ("0 0 * * */8", Some(Field::DayOfWeek), 9, Why::StepRange, "from 1 to 7"),
    ("*/99999999999999999999999 * * * *", Some(Field::Minute), 1, Why::StepRange, "`*/99999999999999999999999`"),
    ("*/ * * * *", Some(Field::Minute), 1, Why::NoStep, "`*/`: is no step: write a number from 1 to 59 after the /"),
    ("*/-5 * * * *", Some(Field::Minute), 1, Why::NoStep, "is no step"),
    ("*/5/5 * * * *", Some(Field::Minute), 1, Why::NoStep, "is no step"),
    ("/5 * * * *", Some(Field::Minute), 1, Why::StepAlone, "write 0-59/5, or */5 for the whole range"),
    ("5/15 * * * *", Some(Field::Minute), 1, Why::StepAlone, "write 5-59/15, or */15"),
    ("60 * * * *", Some(Field::Minute), 1, Why::OutOfRange, "minute field, column 1, `60`: is out of range: write a number from 0 to 59"),
    ("0 24 * * *", Some(Field::Hour), 3, Why::OutOfRange, "a number from 0 to 23"),
    ("0 0 0 * *", Some(Field::DayOfMonth), 5, Why::OutOfRange, "a number from 1 to 31"),
    ("0 0 32W * *", Some(Field::DayOfMonth), 5, Why::OutOfRange, "`32W`"),
    ("0 0 1 0 *", Some(Field::Month), 7, Why::OutOfRange, "a number from 1 to 12, or JAN to DEC"),
    ("0 0 1 13 *", Some(Field::Month), 7, Why::OutOfRange, "from 1 to 12"),
    ("0 0 * * 8", Some(Field::DayOfWeek), 9, Why::OutOfRange, "a number from 0 to 7 (0 and 7 are Sunday)"),
    ("0 0 * * 8#1", Some(Field::DayOfWeek), 9, Why::OutOfRange, "`8#1`"),
    ("0 0 * * 8L", Some(Field::DayOfWeek), 9, Why::OutOfRange, "`8L`"),
    ("61 0 0 * * *", Some(Field::Second), 1, Why::OutOfRange, "second field, column 1"),
    ("4294967301 * * * *", Some(Field::Minute), 1, Why::OutOfRange, "is out of range"),
    ("1,2, * * * *", Some(Field::Minute), 5, Why::EmptyItem, "minute field, column 5: nothing stands here: write a value"),
    (",1 * * * *", Some(Field::Minute), 1, Why::EmptyItem, "take the comma away"),
    ("1,,2 * * * *", Some(Field::Minute), 3, Why::EmptyItem, "column 3"),
    ("0 0 1, * *", Some(Field::DayOfMonth), 7, Why::EmptyItem, "day-of-month field, column 7"),
    ("0 0 * * MON,", Some(Field::DayOfWeek), 13, Why::EmptyItem, "day-of-week field, column 13"),
    ("0 0 * * +", Some(Field::DayOfWeek), 10, Why::EmptyItem, "column 10"),
    ("0 22-2 * * *", Some(Field::Hour), 3, Why::Backwards, "write its two parts with a comma, such as 22-23,0-2"),
    ("0 0 1 NOV-FEB *", Some(Field::Month), 7, Why::Backwards, "such as NOV-12,1-FEB"),
    ("0 0 20-10 * *", Some(Field::DayOfMonth), 5, Why::Backwards, "such as 20-31,1-10"),
    ("1-5-7 * * * *", Some(Field::Minute), 1, Why::NoValue, "`1-5-7`: is no minute"),
    ("*-5 * * * *", Some(Field::Minute), 1, Why::NoValue, "is no minute"),
    ("- * * * *", Some(Field::Minute), 1, Why::NoValue, "is no minute"),
    ("1.5 * * * *", Some(Field::Minute), 1, Why::NoValue, "is no minute"),
    ("+5 * * * *", Some(Field::Minute), 1, Why::NoValue, "is no minute"),
    ("5x/2 * * * *", Some(Field::Minute), 1, Why::NoValue, "is no minute"),
    ("0 ٣ * * *", Some(Field::Hour), 3, Why::NoValue, "`٣`: is no hour"),
    ("0\u{a0}0 * * * *", Some(Field::Minute), 1, Why::NoValue, "is no minute"),
    ("0 é,x * * *", Some(Field::Hour), 3, Why::NoValue, "column 3"),
    ("0 0,é,25 * * *", Some(Field::Hour), 5, Why::NoValue, "column 5"),
    ("0 0 * JANUARY *", Some(Field::Month), 7, Why::NoValue, "JAN to DEC"),
    ("0 0 * * FUN", Some(Field::DayOfWeek), 9, Why::NoValue, "SUN to SAT"),
    ("0 0 * * 1-5L", Some(Field::DayOfWeek), 9, Why::NoValue, "5L for the last Friday"),
    ("0 0 1-5W * *", Some(Field::DayOfMonth), 5, Why::NoValue, "15W for the nearest weekday"),
    ("0 L * * *", Some(Field::Hour), 3, Why::NoValue, "is no hour"),
    ("0 0 * * L", Some(Field::DayOfWeek), 9, Why::BareLast, "write 5L for the last Friday, or 6 for Saturday"),
    ("0 0 W * *", Some(Field::DayOfMonth), 5, Why::NoNearest, "write such as 15W, or LW for the last weekday"),
    ("0 0 L-31 * *", Some(Field::DayOfMonth), 5, Why::LastOffset, "N is a number from 1 to 30"),
    ("0 0 L-0 * *", Some(Field::DayOfMonth), 5, Why::LastOffset, "from 1 to 30"),
    ("0 0 L/2 * *", Some(Field::DayOfMonth), 5, Why::LastOffset, "from 1 to 30"),
    ("0 0 LAST * *", Some(Field::DayOfMonth), 5, Why::LastOffset, "from 1 to 30"),
    ("0 0 * * 5#6", Some(Field::DayOfWeek), 9, Why::Nth, "# needs a number from 1 to 5 behind it"),
    ("0 0 * * 5#0", Some(Field::DayOfWeek), 9, Why::Nth, "from 1 to 5"),
    ("0 0 * * 5#", Some(Field::DayOfWeek), 9, Why::Nth, "from 1 to 5"),
    ("? * * * *", Some(Field::Minute), 1, Why::Question, "write * here"),
    ("0 0 ?/2 * *", Some(Field::DayOfMonth), 5, Why::Question, "alone in a day field"),
    ("0 0 1 * ?,1", Some(Field::DayOfWeek), 9, Why::Question, "alone in a day field"),
    ("0 0 30 2 *", None, 1, Why::Never, "NEVER: `0 0 30 2 *`: can never occur: none of its months has a day that its day fields allow"),
    ("* * 31 11 *", None, 1, Why::Never, "change the day or the month"),
    ("@every", None, 7, Why::NoDuration, "write such as @every 90m"),
    ("@every soon", None, 7, Why::NoDuration, "is no duration"),
    ("@every 5", None, 7, Why::NoDuration, "is no duration"),
    ("@every -5m", None, 7, Why::NoDuration, "is no duration"),
    ("@every 1.5h", None, 7, Why::NoDuration, "is no duration"),
    ("@every 5 parsecs", None, 7, Why::NoDuration, "with the units s, m, h, d and w"),
    ("@every1h", None, 1, Why::UnknownMacro, "is not known"),
    ("@every 0s", None, 7, Why::DurationRange, "@every takes whole seconds, from 1s to 366d"),
    ("@every 500ms", None, 7, Why::DurationRange, "whole seconds"),
    ("@every 367d", None, 7, Why::DurationRange, "to 366d"),
    ("@every 99999999999999999999w", None, 7, Why::DurationRange, "to 366d"),
    ("@every 1M", None, 7, Why::LooseUnit, "write days, or @monthly or @yearly"),
    ("@every 1 year", None, 7, Why::LooseUnit, "is not fixed"),
];

#[test]
fn what_is_refused_says_where_why_and_what_to_do() {
    for &(text, field, column, why, says) in ROWS {
        let refused = Schedule::parse(text, Zone::utc()).expect_err(text);
        let place = (refused.field, refused.column, refused.why);
        assert_eq!(place, (field, column, why), "{text:?}: {refused}");
        let message = refused.to_string();
        assert!(message.contains(says), "{text:?} gave {message:?}");
    }
}

#[test]
fn bounds_themselves_are_taken() {
    let taken = [
        "*/59 */23 */31 */12 */7",
        "0-59/59 0 1-31/31 1-12/12 0-7/7",
        "59 59 23 31 12 7",
        "0 0 0 1 1 0",
        "00 08 01 01 00",
        "5,* * * * *",
        "*,5 * * * *",
        "0 0 L-30 * *",
        "0 0 1,15W,L-3,LW,l * 1,5#1,5l,sun#l",
        "0 0 ? * ?",
        "1-1 1-1 1-1 1-1 1-1",
        "0 0 * * +*",
        "@every 1s",
        "@every 366d",
        "@every 52 weeks 2days",
        "@REBOOT",
    ];
    for text in taken {
        assert!(Schedule::parse(text, Zone::utc()).is_ok(), "{text}");
    }
    let all: Vec<String> = (0..60).map(|one| one.to_string()).collect();
    let long = format!("{0} {0} * * * *", all.join(","));
    assert!(Schedule::parse(&long, Zone::utc()).is_ok());
}

#[test]
fn zones_are_known_by_name_and_nothing_else() {
    assert_eq!(Zone::named("europe/paris").unwrap().name(), "Europe/Paris");
    assert_eq!(Zone::named("UTC").unwrap().name(), "UTC");
    for (wrong, says) in [
        ("Paris", "did you mean Europe/Paris?"),
        ("new york", "did you mean America/New_York?"),
        ("", "write its name, such as Europe/Paris"),
        ("+02:00", "is no zone of the IANA database"),
        ("Local", "is no zone"),
        ("localtime", "is no zone"),
        ("Etc/Unknown", "is no zone"),
        ("../../etc/passwd", "is no zone"),
        ("EST5EDT,M3.2.0,M11.1.0", "is no zone"),
    ] {
        let refused = Zone::named(wrong).expect_err(wrong).to_string();
        assert!(refused.contains(says), "{wrong:?}: {refused}");
    }
    let long = Zone::named(&"x".repeat(10_000)).unwrap_err().to_string();
    assert!(long.len() < 200, "{long}");
}
