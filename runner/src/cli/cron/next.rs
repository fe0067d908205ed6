//! `sandhog cron next`: the slots of an expression.

use sandhog_cron::{Change, DateTime, Pass, Schedule, Slot, Timestamp, Zone};
use sandhog_model::UnixMs;

use super::{
    super::{
        exit::{Exit, Fault, Outcome},
        session::{Session, wall},
        text,
    },
    shapes,
};

pub(super) fn run(
    session: &mut Session<'_, '_>,
    expression: &str,
    tz: &str,
    after: Option<UnixMs>,
    count: u16,
) -> Outcome<Exit> {
    let zone = Zone::named(tz).map_err(|error| Fault::new(Exit::Usage, error))?;
    let schedule =
        Schedule::parse(expression, zone).map_err(|error| Fault::new(Exit::Usage, error))?;
    if schedule.is_at_start() {
        let why = "`@reboot`: has no slots to show, it is each start of the runner";
        return Err(Fault::usage(why));
    }
    let after = after.unwrap_or_else(wall);
    let after = i64::try_from(after.0)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok())
        .ok_or_else(|| Fault::usage("--after is behind the end of the calendar, the year 9999"))?;
    let slots = schedule.slots_after(after).take(usize::from(count));
    let slots: Vec<Slot> = slots.map(|at| schedule.slot(at)).collect();
    if session.is_json() {
        let rows = slots.iter().map(|slot| shapes::slot(schedule.zone(), slot));
        session.json(&rows.collect())?;
    } else {
        session.say(&table(&slots))?;
    }
    if slots.len() < usize::from(count) {
        session.note("no more slots: the calendar ends with the year 9999");
    }
    Ok(Exit::Done)
}

fn table(slots: &[Slot]) -> String {
    let rows = slots.iter().map(|slot| {
        vec![
            slot.at.to_string(),
            shapes::local(slot),
            shapes::weekday(slot).into(),
            slot.abbreviation.clone(),
            note(slot),
        ]
    });
    text::table(&["UTC", "LOCAL", "DAY", "TIME", "CLOCKS"], &[], rows)
}

/// What is special about the day, and about the slot on it.
fn note(slot: &Slot) -> String {
    let mut parts: Vec<String> = slot.change.iter().map(set).collect();
    if slot.is_moved {
        parts.push("the time asked for is skipped".into());
    }
    parts.extend(slot.pass.map(|pass| {
        let which = match pass {
            Pass::First => "first",
            Pass::Second => "second",
        };
        format!("{} comes twice, this is the {which}", time(slot.local))
    }));
    parts.join("; ")
}

fn set(change: &Change) -> String {
    let what = match change.is_dst {
        true => "DST day",
        false => "zone change",
    };
    match change.from.date() == change.to.date() {
        true => format!("{what}: {} becomes {}", time(change.from), time(change.to)),
        false => format!(
            "{what}: {} {} becomes {} {}",
            change.from.date(),
            time(change.from),
            change.to.date(),
            time(change.to)
        ),
    }
}

/// Hours and minutes, and seconds when there are some.
fn time(at: DateTime) -> String {
    match at.second() {
        0 => format!("{:02}:{:02}", at.hour(), at.minute()),
        second => format!("{:02}:{:02}:{second:02}", at.hour(), at.minute()),
    }
}
