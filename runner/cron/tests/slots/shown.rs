//! Slots as the people of a zone see them.

use sandhog_cron::{Pass, Schedule, Slot, Timestamp, Zone};

fn slots(text: &str, zone: &str, after: &str, count: usize) -> Vec<Slot> {
    let schedule = Schedule::parse(text, Zone::named(zone).unwrap()).unwrap();
    let after: Timestamp = after.parse().unwrap();
    let slots = schedule.slots_after(after).take(count);
    slots.map(|at| schedule.slot(at)).collect()
}

#[test]
fn a_day_on_which_clocks_go_forward_is_marked_and_so_is_what_moved() {
    let slots = slots("30 2 * * *", "America/New_York", "2027-03-13T00:00:00Z", 3);
    assert_eq!(slots[0].local.to_string(), "2027-03-13T02:30:00");
    assert_eq!(
        (slots[0].abbreviation.as_str(), slots[0].offset_s),
        ("EST", -18_000)
    );
    assert!(slots[0].change.is_none() && !slots[0].is_moved);
    assert_eq!(slots[1].local.to_string(), "2027-03-14T03:00:00");
    assert_eq!(
        (slots[1].abbreviation.as_str(), slots[1].offset_s),
        ("EDT", -14_400)
    );
    assert!(slots[1].is_moved && slots[1].pass.is_none());
    let change = slots[1].change.unwrap();
    assert!(change.is_forward() && change.is_dst);
    assert_eq!(change.at.to_string(), "2027-03-14T07:00:00Z");
    assert_eq!(change.from.to_string(), "2027-03-14T02:00:00");
    assert_eq!(change.to.to_string(), "2027-03-14T03:00:00");
    assert!(slots[2].change.is_none() && !slots[2].is_moved);
}

#[test]
fn a_repeated_time_says_which_pass_it_is() {
    let slots = slots("0 * * * *", "America/New_York", "2027-11-07T04:30:00Z", 4);
    let passes: Vec<_> = slots.iter().map(|slot| slot.pass).collect();
    assert_eq!(passes, [Some(Pass::First), Some(Pass::Second), None, None]);
    assert!(slots.iter().all(|slot| !slot.is_moved));
    assert!(
        slots
            .iter()
            .all(|slot| slot.change.is_some_and(|change| !change.is_forward()))
    );
    let names: Vec<&str> = slots
        .iter()
        .map(|slot| slot.abbreviation.as_str())
        .collect();
    assert_eq!(names, ["EDT", "EST", "EST", "EST"]);
}

#[test]
fn the_whole_local_day_is_marked_before_and_after_the_change_and_no_other() {
    for (zone, day, after) in [
        ("Europe/Paris", "2027-03-28", "2027-03-26T12:00:00Z"),
        ("Africa/Cairo", "2023-04-28", "2023-04-26T12:00:00Z"),
        ("America/Havana", "2023-11-05", "2023-11-03T12:00:00Z"),
        ("America/Sao_Paulo", "2018-02-17", "2018-02-15T12:00:00Z"),
        ("Pacific/Apia", "2011-12-31", "2011-12-28T12:00:00Z"),
    ] {
        let slots = slots("*/15 * * * *", zone, after, 400);
        let marked = |slot: &&Slot| slot.change.is_some();
        let on_day = |slot: &&Slot| slot.local.date().to_string() == day;
        let (marks, days) = (
            slots.iter().filter(marked).count(),
            slots.iter().filter(on_day).count(),
        );
        assert!(days > 80, "{zone}: {days}");
        assert_eq!(marks, days, "{zone}");
        assert!(
            slots
                .iter()
                .filter(on_day)
                .all(|slot| slot.change.is_some()),
            "{zone}"
        );
    }
}

#[test]
fn a_new_offset_of_the_zone_is_no_summer_time() {
    let slots = slots("0 12 * * *", "Asia/Pyongyang", "2018-05-04T04:00:00Z", 1);
    assert!(slots[0].change.is_some_and(|change| !change.is_dst));
}

#[test]
fn a_new_name_of_the_same_time_is_no_change() {
    let slots = slots("0 12 * * *", "America/Anchorage", "1983-11-29T22:00:00Z", 1);
    assert_eq!(slots[0].local.to_string(), "1983-11-30T12:00:00");
    assert!(slots[0].change.is_none(), "{:?}", slots[0]);
}

#[test]
fn what_follows_no_calendar_is_never_moved() {
    let slots = slots("@every 7h", "America/New_York", "2027-03-14T00:00:00Z", 5);
    assert!(slots.iter().all(|slot| !slot.is_moved));
    let start = Schedule::parse("@reboot", Zone::utc()).unwrap();
    assert!(start.is_at_start() && start.next_after(Timestamp::UNIX_EPOCH).is_none());
    assert_eq!(
        Schedule::parse(" @daily ", Zone::utc()).unwrap().text(),
        "@daily"
    );
}
