//! Expressions, zones and instants, and the slots that come next: what other programs were reported to
//! get wrong, with the right values by the rules of `docs/cron.md`.

use sandhog_cron::{Schedule, Timestamp, Why, Zone};

/// The slots are right.
struct Case {
    says: &'static str,
    text: &'static str,
    zone: &'static str,
    after: &'static str,
    /// The next slots, or what is said instead.
    next: Next,
}

enum Next {
    Slots(&'static [&'static str]),
    Never,
    Refused,
}

use Next::{Never, Refused, Slots};

const fn case(
    says: &'static str,
    text: &'static str,
    zone: &'static str,
    after: &'static str,
    next: Next,
) -> Case {
    Case {
        says,
        text,
        zone,
        after,
        next,
    }
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    case("a skipped time of day runs once, right behind the gap", "30 2 * * *", "America/New_York", "2027-03-13T12:00:00-05:00",
        Slots(&["2027-03-14T07:00:00Z", "2027-03-15T06:30:00Z", "2027-03-16T06:30:00Z"])),
    case("the first minute of the gap itself is skipped too", "0 2 * * *", "America/New_York", "2025-03-09T01:30:00-05:00",
        Slots(&["2025-03-09T07:00:00Z", "2025-03-10T06:00:00Z", "2025-03-11T06:00:00Z"])),
    case("every hour goes on through a repeated hour", "0 * * * *", "America/New_York", "2027-11-07T00:30:00-04:00",
        Slots(&["2027-11-07T05:00:00Z", "2027-11-07T06:00:00Z", "2027-11-07T07:00:00Z"])),
    case("every half hour stays half an hour of real time when clocks go back", "*/30 * * * *", "Australia/Melbourne", "2024-04-07T01:45:00+11:00",
        Slots(&["2024-04-06T15:00:00Z", "2024-04-06T15:30:00Z", "2024-04-06T16:00:00Z"])),
    case("clocks that go back by half an hour do not repeat a time of day", "45 1 * * *", "Australia/Lord_Howe", "2027-04-03T12:00:00+11:00",
        Slots(&["2027-04-03T14:45:00Z", "2027-04-04T15:15:00Z", "2027-04-05T15:15:00Z"])),
    case("every hour leaves out a time that a gap of half an hour swallows", "0 * * * *", "Australia/Lord_Howe", "2027-10-03T00:30:00+10:30",
        Slots(&["2027-10-02T14:30:00Z", "2027-10-02T16:00:00Z", "2027-10-02T17:00:00Z"])),
    case("a day without a midnight has its other hours", "0 1 4 11 *", "America/Sao_Paulo", "2018-11-03T23:00:00-03:00",
        Slots(&["2018-11-04T03:00:00Z", "2019-11-04T04:00:00Z", "2020-11-04T04:00:00Z"])),
    case("a time of day after the night clocks went back is not early", "5 0 * * *", "Europe/Paris", "2019-10-27T01:05:00+02:00",
        Slots(&["2019-10-27T23:05:00Z", "2019-10-28T23:05:00Z", "2019-10-29T23:05:00Z"])),
    case("the century year without a leap day is passed over", "0 0 29 2 *", "UTC", "2096-03-01T00:00:00+00:00",
        Slots(&["2104-02-29T00:00:00Z", "2108-02-29T00:00:00Z", "2112-02-29T00:00:00Z"])),
    case("February has no 30th", "0 0 30 2 *", "UTC", "2026-12-01T00:00:00+00:00",
        Never),
    case("November has no 31st", "* * 31 11 *", "UTC", "2026-12-01T00:00:00+00:00",
        Never),
    case("months without a 31st are left out", "0 5 31 * *", "UTC", "2027-01-31T06:00:00+00:00",
        Slots(&["2027-03-31T05:00:00Z", "2027-05-31T05:00:00Z", "2027-07-31T05:00:00Z"])),
    case("either day field is enough when both are given", "0 0 13 * 5", "UTC", "2027-01-01T00:30:00+00:00",
        Slots(&["2027-01-08T00:00:00Z", "2027-01-13T00:00:00Z", "2027-01-15T00:00:00Z"])),
    case("the first of the month and Mondays, not Mondays that are the first", "30 0 1 * 1", "UTC", "2027-01-28T00:00:00+00:00",
        Slots(&["2027-02-01T00:30:00Z", "2027-02-08T00:30:00Z", "2027-02-15T00:30:00Z"])),
    case("a step that does not divide the hour starts anew with each hour", "*/7 * * * *", "UTC", "2027-01-01T10:49:30+00:00",
        Slots(&["2027-01-01T10:56:00Z", "2027-01-01T11:00:00Z", "2027-01-01T11:07:00Z"])),
    case("a step over a range that is written out", "0-59/15 * * * *", "UTC", "2027-01-01T10:46:00+00:00",
        Slots(&["2027-01-01T11:00:00Z", "2027-01-01T11:15:00Z", "2027-01-01T11:30:00Z"])),
    case("a step beyond the hour is refused", "*/90 * * * *", "UTC", "2027-01-01T00:00:01+00:00",
        Refused),
    case("7 is Sunday", "0 0 * * 7", "UTC", "2027-01-01T00:00:00+00:00",
        Slots(&["2027-01-03T00:00:00Z", "2027-01-10T00:00:00Z", "2027-01-17T00:00:00Z"])),
    case("a range may end in 7", "5 10 * * 6-7", "UTC", "2027-01-04T00:00:00+00:00",
        Slots(&["2027-01-09T10:05:00Z", "2027-01-10T10:05:00Z", "2027-01-16T10:05:00Z"])),
    case("days of the week wrap, by name", "0 0 * * FRI-MON", "UTC", "2027-01-05T12:00:00+00:00",
        Slots(&["2027-01-08T00:00:00Z", "2027-01-09T00:00:00Z", "2027-01-10T00:00:00Z"])),
    case("days of the week wrap, with a step", "0 0 * * 7-1/2", "UTC", "2027-01-05T12:00:00+00:00",
        Slots(&["2027-01-10T00:00:00Z", "2027-01-17T00:00:00Z", "2027-01-24T00:00:00Z"])),
    case("1 to 5 is Monday to Friday in the zone", "0 0 * * 1-5", "Asia/Taipei", "2026-05-09T00:00:00+08:00",
        Slots(&["2026-05-10T16:00:00Z", "2026-05-11T16:00:00Z", "2026-05-12T16:00:00Z"])),
    case("the last day of every month, short ones too", "0 0 11 L * ?", "UTC", "2017-02-28T05:00:00+00:00",
        Slots(&["2017-02-28T11:00:00Z", "2017-03-31T11:00:00Z", "2017-04-30T11:00:00Z"])),
    case("four days before the last day", "0 0 10 L-4 * ?", "UTC", "2025-02-20T08:58:00+00:00",
        Slots(&["2025-02-24T10:00:00Z", "2025-03-27T10:00:00Z", "2025-04-26T10:00:00Z"])),
    case("the last weekday of the month, not a day of the week", "0 0 LW * *", "UTC", "2027-02-01T00:00:00+00:00",
        Slots(&["2027-02-26T00:00:00Z", "2027-03-31T00:00:00Z", "2027-04-30T00:00:00Z"])),
    case("the weekday nearest to the first, when that is a Sunday", "0 30 15 1W * ?", "UTC", "2025-05-31T00:00:00+00:00",
        Slots(&["2025-06-02T15:30:00Z", "2025-07-01T15:30:00Z", "2025-08-01T15:30:00Z"])),
    case("a first that is a Saturday moves forward, within its month", "0 0 1W * *", "UTC", "2027-04-30T12:00:00+00:00",
        Slots(&["2027-05-03T00:00:00Z", "2027-06-01T00:00:00Z", "2027-07-01T00:00:00Z"])),
    case("the weekday nearest to the 31st, in months that have one", "0 0 31W * *", "UTC", "2027-01-01T00:00:00+00:00",
        Slots(&["2027-01-29T00:00:00Z", "2027-03-31T00:00:00Z", "2027-05-31T00:00:00Z"])),
    case("the last Sunday", "0 0 * * 7L", "UTC", "2027-01-01T00:00:00+00:00",
        Slots(&["2027-01-31T00:00:00Z", "2027-02-28T00:00:00Z", "2027-03-28T00:00:00Z"])),
    case("the second Sunday", "0 0 0 * * 7#2", "UTC", "2027-01-01T00:00:00+00:00",
        Slots(&["2027-01-10T00:00:00Z", "2027-02-14T00:00:00Z", "2027-03-14T00:00:00Z"])),
    case("L alone is no day of the week", "0 0 * * L", "UTC", "2027-01-01T00:00:00+00:00",
        Refused),
    case("six fields begin with seconds", "*/20 * * * * *", "UTC", "2027-01-01T00:00:41+00:00",
        Slots(&["2027-01-01T00:01:00Z", "2027-01-01T00:01:20Z", "2027-01-01T00:01:40Z"])),
    case("hours do not wrap", "0 22-2 * * *", "UTC", "2027-01-01T00:00:00+00:00",
        Refused),
    case("no month of the list has a 31st", "0 0 31 2,4,6,9,11 *", "UTC", "2027-01-01T00:00:00+00:00",
        Never),
    case("60 is no minute", "60 * * * *", "UTC", "2027-01-01T00:00:00+00:00",
        Refused),
    case("0 is no day of the month", "0 0 0 * *", "UTC", "2027-01-01T00:00:00+00:00",
        Refused),
    case("a date that does not exist beside a day of the week that does", "0 0 30 2 0", "UTC", "2027-01-01T00:00:00+00:00",
        Slots(&["2027-02-07T00:00:00Z", "2027-02-14T00:00:00Z", "2027-02-21T00:00:00Z"])),
    case("a list of dates or a day of the week", "0 0 1-7 * MON", "UTC", "2027-01-01T00:30:00+00:00",
        Slots(&["2027-01-02T00:00:00Z", "2027-01-03T00:00:00Z", "2027-01-04T00:00:00Z"])),
    case("a zone whose summer time is its standard time skips an hour in spring", "30 1 * * *", "Europe/Dublin", "2027-03-27T12:00:00+00:00",
        Slots(&["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z", "2027-03-30T00:30:00Z"])),
    case("and repeats one in autumn, of which the first counts", "30 1 * * *", "Europe/Dublin", "2027-10-30T12:00:00+00:00",
        Slots(&["2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z", "2027-11-02T01:30:00Z"])),
    case("asked half a minute before the gap", "30 2 * * *", "America/New_York", "2027-03-14T01:59:30-05:00",
        Slots(&["2027-03-14T07:00:00Z", "2027-03-15T06:30:00Z", "2027-03-16T06:30:00Z"])),
    case("asked in the second pass of the repeated hour, it has had its turn", "30 1 * * *", "America/New_York", "2027-11-07T01:15:00-05:00",
        Slots(&["2027-11-08T06:30:00Z", "2027-11-09T06:30:00Z", "2027-11-10T06:30:00Z"])),
    case("the last minute of half an hour that is repeated", "59 1 * * *", "Australia/Lord_Howe", "2027-04-03T12:00:00+11:00",
        Slots(&["2027-04-03T14:59:00Z", "2027-04-04T15:29:00Z", "2027-04-05T15:29:00Z"])),
    case("a whole day that is skipped still has its run, at its end", "0 12 * * *", "Pacific/Apia", "2011-12-29T23:00:00-10:00",
        Slots(&["2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z", "2011-12-31T22:00:00Z"])),
    case("right behind the gap and not skipped", "0 3 * * SUN", "America/New_York", "2027-03-13T12:00:00-05:00",
        Slots(&["2027-03-14T07:00:00Z", "2027-03-21T07:00:00Z", "2027-03-28T07:00:00Z"])),
    case("the weekday before a Saturday", "0 0 15W * *", "UTC", "2027-05-01T00:00:00+00:00",
        Slots(&["2027-05-14T00:00:00Z", "2027-06-15T00:00:00Z", "2027-07-15T00:00:00Z"])),
    case("a leap day beside a day of the week, in common years", "0 0 29 2 1", "UTC", "2027-01-01T00:00:00+00:00",
        Slots(&["2027-02-01T00:00:00Z", "2027-02-08T00:00:00Z", "2027-02-15T00:00:00Z"])),
    case("every hour through the repeated hour of the Pacific", "0 * * * *", "America/Los_Angeles", "2026-11-01T08:00:00Z",
        Slots(&["2026-11-01T09:00:00Z", "2026-11-01T10:00:00Z"])),
    case("a zone that skips midnight runs midnight's job behind the gap", "0 0 * * *", "Africa/Cairo", "2023-04-27T12:00:00Z",
        Slots(&["2023-04-27T22:00:00Z", "2023-04-28T21:00:00Z"])),
    case("the zone of the schedule counts, whatever the host's is", "30 1 * * *", "UTC", "2022-10-29T12:00:00Z",
        Slots(&["2022-10-30T01:30:00Z", "2022-10-31T01:30:00Z"])),
    case("days of the week in small letters, wrapping", "0 0 * * sat-sun", "UTC", "2025-03-13T00:00:00Z",
        Slots(&["2025-03-15T00:00:00Z", "2025-03-16T00:00:00Z", "2025-03-22T00:00:00Z"])),
    case("the last weekday again", "0 0 LW * *", "UTC", "2023-10-01T00:00:00Z",
        Slots(&["2023-10-31T00:00:00Z", "2023-11-30T00:00:00Z", "2023-12-29T00:00:00Z"])),
    case("the last day in five fields", "0 0 L * *", "UTC", "2028-01-31T12:00:00Z",
        Slots(&["2028-02-29T00:00:00Z", "2028-03-31T00:00:00Z"])),
    case("a day field that starts with a star joins the other one", "0 0 */2 * 3", "UTC", "2027-01-01T00:30:00Z",
        Slots(&["2027-01-13T00:00:00Z", "2027-01-27T00:00:00Z", "2027-02-03T00:00:00Z"])),
    case("the same with the star at the day of the week", "0 0 13 * */5", "UTC", "2027-01-01T00:00:00Z",
        Slots(&["2027-06-13T00:00:00Z", "2027-08-13T00:00:00Z", "2028-02-13T00:00:00Z"])),
    case("a plus joins the day fields", "0 0 13 * +FRI", "UTC", "2027-01-01T00:00:00Z",
        Slots(&["2027-08-13T00:00:00Z", "2028-10-13T00:00:00Z"])),
    case("asked on a leap day", "0 0 29 2 *", "UTC", "2028-02-29T12:00:00Z",
        Slots(&["2032-02-29T00:00:00Z"])),
    case("not due at the time it is asked but on its day", "0 9 * * 1", "UTC", "2027-01-06T12:00:00Z",
        Slots(&["2027-01-11T09:00:00Z"])),
    case("a date that cannot be, in one month", "0 0 31 4 *", "UTC", "2027-01-01T00:00:00Z",
        Never),
    case("and in several", "0 0 31 2,4,6 *", "UTC", "2027-01-01T00:00:00Z",
        Never),
    case("joined fields without a day in common", "0 0 30 2 +MON", "UTC", "2027-01-01T00:00:00Z",
        Never),
    case("a step beyond any field", "*/250 * * * *", "UTC", "2027-01-01T00:00:00Z",
        Refused),
    case("a fifth Thursday of a February", "0 0 * 2 THU#5", "UTC", "2027-01-01T00:00:00Z",
        Slots(&["2052-02-29T00:00:00Z"])),
    case("the last Friday by name, and by its other form", "30 4 * * FRIL,MON#L", "UTC", "2027-01-22T12:00:00Z",
        Slots(&["2027-01-25T04:30:00Z", "2027-01-29T04:30:00Z"])),
    case("a weekday near the third day from the last", "0 0 L-3W * *", "UTC", "2027-02-01T00:00:00Z",
        Slots(&["2027-02-25T00:00:00Z", "2027-03-29T00:00:00Z", "2027-04-27T00:00:00Z"])),
    case("months by name, blanks of all sizes", "  0\t12   1 jan-mar,OCT  * ", "UTC", "2027-03-01T12:00:00Z",
        Slots(&["2027-10-01T12:00:00Z", "2028-01-01T12:00:00Z"])),
    case("seconds and times of day across a gap", "15,45 30 2 * * *", "America/New_York", "2027-03-13T12:00:00-05:00",
        Slots(&["2027-03-14T07:00:00Z", "2027-03-15T06:30:15Z"])),
    case("a rhythm within one hour is left out with it", "*/30 2 * * *", "America/New_York", "2027-03-13T12:00:00-05:00",
        Slots(&["2027-03-15T06:00:00Z", "2027-03-15T06:30:00Z"])),
    case("two times that both fall behind the gap are one slot", "0 2,3 * * *", "America/New_York", "2027-03-13T12:00:00-05:00",
        Slots(&["2027-03-14T07:00:00Z", "2027-03-15T06:00:00Z", "2027-03-15T07:00:00Z"])),
    case("a star that comes second names times of day, which do not repeat", "0 0,* * * *", "America/New_York", "2027-11-07T00:30:00-04:00",
        Slots(&["2027-11-07T05:00:00Z", "2027-11-07T07:00:00Z"])),
    case("hourly by name", "@hourly", "Asia/Kolkata", "2027-01-01T00:00:00Z",
        Slots(&["2027-01-01T00:30:00Z", "2027-01-01T01:30:00Z"])),
    case("daily by name", "@daily", "Europe/Paris", "2027-06-01T00:00:00Z",
        Slots(&["2027-06-01T22:00:00Z"])),
    case("midnight by name", "@midnight", "Europe/Paris", "2027-06-01T00:00:00Z",
        Slots(&["2027-06-01T22:00:00Z"])),
    case("weekly by name is Sunday", "@weekly", "UTC", "2027-01-01T00:00:00Z",
        Slots(&["2027-01-03T00:00:00Z", "2027-01-10T00:00:00Z"])),
    case("monthly by name", "@monthly", "UTC", "2027-01-01T00:00:00Z",
        Slots(&["2027-02-01T00:00:00Z"])),
    case("yearly by name", "@Yearly", "UTC", "2027-01-01T00:00:00Z",
        Slots(&["2028-01-01T00:00:00Z"])),
    case("annually by name", "@annually", "UTC", "2027-01-01T00:00:00Z",
        Slots(&["2028-01-01T00:00:00Z"])),
    case("every ninety minutes, counted from 1970", "@every 90m", "Europe/Paris", "2027-01-01T00:00:01Z",
        Slots(&["2027-01-01T01:30:00Z", "2027-01-01T03:00:00Z"])),
    case("every 1 h 15 min, in two parts", "@every 1h 15m", "UTC", "1970-01-01T00:00:00Z",
        Slots(&["1970-01-01T01:15:00Z", "1970-01-01T02:30:00Z"])),
    case("before the time counts from", "@every 1d", "UTC", "1969-12-30T23:00:00.5Z",
        Slots(&["1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z"])),
    case("half a second before a slot", "* * * * * *", "UTC", "1969-12-31T23:59:58.5Z",
        Slots(&["1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z"])),
    case("right at a slot", "*/5 * * * *", "UTC", "2027-01-01T00:05:00Z",
        Slots(&["2027-01-01T00:10:00Z"])),
    case("no slot after the last year", "0 0 1 1 *", "UTC", "9999-06-01T00:00:00Z",
        Slots(&[])),
];

fn next(case: &Case) -> Result<Vec<String>, sandhog_cron::Refused> {
    let zone = Zone::named(case.zone).expect(case.zone);
    let after: Timestamp = case.after.parse().expect(case.after);
    let schedule = Schedule::parse(case.text, zone)?;
    let count = match case.next {
        Slots(slots) => slots.len().max(1),
        Never | Refused => 1,
    };
    let slots = schedule.slots_after(after).take(count);
    Ok(slots.map(|slot| slot.to_string()).collect())
}

#[test]
fn the_next_slots_are_the_right_ones() {
    let mut wrong = Vec::new();
    for case in CASES {
        let found = next(case);
        let right = match (&case.next, &found) {
            (Slots(slots), Ok(found)) => slots == found,
            (Never, Err(refused)) => refused.why == Why::Never,
            (Refused, Err(refused)) => refused.why != Why::Never && refused.field.is_some(),
            (Slots(_), Err(_)) | (Never | Refused, Ok(_)) => false,
        };
        if !right {
            wrong.push(format!(
                "{} ({} in {}): {found:?}",
                case.says, case.text, case.zone
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn asking_on_from_each_slot_and_from_anywhere_between_gives_the_same() {
    for case in CASES {
        let Slots(slots) = case.next else { continue };
        let schedule = Schedule::parse(case.text, Zone::named(case.zone).unwrap()).unwrap();
        let mut before: Timestamp = case.after.parse().unwrap();
        for slot in slots {
            let slot: Timestamp = slot.parse().unwrap();
            let middle = (before.as_nanosecond() + slot.as_nanosecond()).div_euclid(2);
            let middle = Timestamp::from_nanosecond(middle).unwrap();
            let just_before = slot - std::time::Duration::from_nanos(1);
            for from in [before, middle, just_before] {
                assert_eq!(
                    schedule.next_after(from),
                    Some(slot),
                    "{} from {from}",
                    case.says
                );
            }
            before = slot;
        }
    }
}

#[test]
fn on_a_leap_day_every_expression_has_its_next_slot() {
    let leap_day: Timestamp = "2028-02-29T12:00:00Z".parse().unwrap();
    for case in CASES.iter().filter(|case| matches!(case.next, Slots(_))) {
        let schedule = Schedule::parse(case.text, Zone::named(case.zone).unwrap()).unwrap();
        let next = schedule.next_after(leap_day);
        assert!(next.is_some_and(|next| next > leap_day), "{}", case.says);
    }
}
