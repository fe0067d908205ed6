//! Slots and schedules as JSON, and the parts of them that the tables share.

use sandhog_cron::{Pass, Slot, Zone};
use sandhog_model::cron::CronState;
use serde_json::{Value, json};

use super::when::rfc3339;
use crate::api::{ActedOnCron, CronView};

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

pub(crate) fn slot(zone: &Zone, slot: &Slot) -> Value {
    json!({
        "utc": slot.at.to_string(),
        "local": local(slot),
        "weekday": weekday(slot),
        "zone": zone.name(),
        "abbreviation": slot.abbreviation,
        "clock_change": slot.change.map(|change| json!({
            "at": change.at.to_string(),
            "from": change.from.to_string(),
            "to": change.to.to_string(),
            "dst": change.is_dst,
        })),
        "pass": slot.pass.map(|pass| match pass {
            Pass::First => "first",
            Pass::Second => "second",
        }),
        "moved": slot.is_moved,
    })
}

pub(crate) fn entry(view: &CronView) -> Value {
    let CronState {
        slot,
        latest,
        waiting,
        paused,
        ..
    } = &view.state;
    let does = view.does.as_ref();
    json!({
        "name": view.name,
        "schedule": does.map(|does| &does.schedule),
        "zone": does.map(|does| &does.zone),
        "kind": does.map(|does| &does.kind),
        "queue": does.and_then(|does| does.queue.as_ref()),
        "added": view.is_added,
        "fault": view.fault,
        "next": view.next.map(rfc3339),
        "last_slot": slot.map(rfc3339),
        "latest_job": latest,
        "latest_state": view.latest,
        "waiting_slot": waiting.map(rfc3339),
        "paused": paused.as_ref().map(|paused| json!({
            "at": rfc3339(paused.at),
            "by": paused.by,
            "reason": paused.reason,
        })),
    })
}

/// What came of a change of a schedule.
pub(crate) fn acted(acted: &ActedOnCron) -> Value {
    json!({ "job": acted.job, "schedule": acted.view.as_ref().map(entry) })
}

/// An entry as a table of the settings has it.
pub(crate) fn table<'k>(
    texts: impl IntoIterator<Item = (&'k str, Option<String>)>,
    priority: Option<i64>,
) -> String {
    let mut entry = toml::Table::new();
    for (key, text) in texts {
        entry.extend(text.map(|text| (key.to_owned(), text.into())));
    }
    entry.extend(priority.map(|priority| ("priority".to_owned(), priority.into())));
    format!("\n{entry}")
}

/// RFC 3339 with the offset of the zone. Offsets with seconds ended in 1972, and are written with them.
pub(crate) fn local(slot: &Slot) -> String {
    let sign = if slot.offset_s < 0 { '-' } else { '+' };
    let offset = slot.offset_s.unsigned_abs();
    let (hours, minutes, seconds) = (offset / 3_600, offset / 60 % 60, offset % 60);
    let mut text = format!("{}{sign}{hours:02}:{minutes:02}", slot.local);
    if seconds != 0 {
        text += &format!(":{seconds:02}");
    }
    text
}

pub(crate) fn weekday(slot: &Slot) -> &'static str {
    let from_sunday = slot.local.weekday().to_sunday_zero_offset();
    WEEKDAYS[from_sunday.rem_euclid(7) as usize]
}
