//! A slot as JSON, and the parts of it that the table shares.

use sandhog_cron::{Pass, Slot, Zone};
use serde_json::{Value, json};

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

pub(super) fn slot(zone: &Zone, slot: &Slot) -> Value {
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

/// RFC 3339 with the offset of the zone. Offsets with seconds ended in 1972, and are written with them.
pub(super) fn local(slot: &Slot) -> String {
    let sign = if slot.offset_s < 0 { '-' } else { '+' };
    let offset = slot.offset_s.unsigned_abs();
    let (hours, minutes, seconds) = (offset / 3_600, offset / 60 % 60, offset % 60);
    let mut text = format!("{}{sign}{hours:02}:{minutes:02}", slot.local);
    if seconds != 0 {
        text += &format!(":{seconds:02}");
    }
    text
}

pub(super) fn weekday(slot: &Slot) -> &'static str {
    let from_sunday = slot.local.weekday().to_sunday_zero_offset();
    WEEKDAYS[from_sunday.rem_euclid(7) as usize]
}
