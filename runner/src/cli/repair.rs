//! `sandhog log repair`.

use serde_json::{Value, json};

use super::{
    exit::{Exit, Outcome},
    rooms::{Finding, LogRepair, RepairedLog},
    session::Session,
    text,
};

/// Jobs and places named in a table; the list has all.
const SHOWN: usize = 20;

pub(super) fn run(session: &mut Session<'_, '_>, dry_run: bool) -> Outcome<Exit> {
    let repair = session.rooms.repair_log(&session.config, dry_run)?;
    if session.is_json() {
        session.json(&shape(&repair, dry_run))?;
    } else {
        session.say(&shown(&repair, dry_run))?;
    }
    Ok(Exit::Done)
}

fn shape(repair: &LogRepair, dry_run: bool) -> Value {
    let logs = repair.logs.iter().map(|log| {
        let removed = log.removed.iter().map(|(hole, lost)| {
            json!({
                "file": hole.file,
                "offset": hole.offset,
                "what": hole.what,
                "records_lost": lost,
            })
        });
        let affected = log
            .affected
            .iter()
            .map(|(id, how)| json!({ "id": id, "how": how }));
        json!({
            "log": log.log,
            "kept": log.kept,
            "list": log.list,
            "records": log.records,
            "unused": log.unused,
            "jobs": log.jobs,
            "removed": removed.collect::<Value>(),
            "affected": affected.collect::<Value>(),
        })
    });
    let letters = repair.letters.as_ref().map(|(damage, kept)| {
        let damage = damage
            .iter()
            .map(|found| json!({ "offset": found.offset, "what": found.what }));
        json!({ "kept": kept, "damage": damage.collect::<Value>() })
    });
    json!({
        "dry_run": dry_run,
        "logs": logs.collect::<Value>(),
        "letters": letters,
    })
}

fn shown(repair: &LogRepair, dry_run: bool) -> String {
    let mut lines = Vec::new();
    for log in &repair.logs {
        show_log(log, dry_run, &mut lines);
    }
    if let Some((damage, kept)) = &repair.letters {
        lines.extend(damage.iter().map(place));
        let kept = kept.display();
        lines.push(match dry_run {
            false => {
                format!("the dead letters go on without that; they are kept as they were in {kept}")
            }
            true => format!(
                "would leave that out of the dead letters, and keep them as they are in {kept}"
            ),
        });
    }
    if lines.is_empty() {
        lines.push("nothing to repair".to_owned());
    } else if dry_run {
        lines.push("nothing was changed: this was a dry run".to_owned());
    }
    lines.join("\n")
}

fn place(found: &Finding) -> String {
    format!(
        "{}: at byte {}: {}",
        found.file.display(),
        found.offset,
        text::plain(&found.what)
    )
}

fn show_log(log: &RepairedLog, dry_run: bool, lines: &mut Vec<String>) {
    for (hole, lost) in log.removed.iter().take(SHOWN) {
        let lost = match lost {
            Some(lost) => format!("; {} lost", text::count(*lost, "record")),
            None => "; how many records are lost is not known".to_owned(),
        };
        lines.push(place(hole) + &lost);
    }
    let more = log.removed.len().saturating_sub(SHOWN) as u64;
    if more > 0 {
        lines.push(format!("and {}", text::count(more, "place")));
    }
    for (id, how) in log.affected.iter().take(SHOWN) {
        lines.push(format!("job {id}: {how}"));
    }
    let more = log.affected.len().saturating_sub(SHOWN) as u64;
    if more > 0 {
        let what = text::count(more, "job");
        lines.push(format!("and {what} more: the list and `-o json` name all"));
    }
    let jobs = text::count(log.jobs, "job");
    let records = text::count(log.records, "sound record");
    lines.push(if dry_run {
        format!("{jobs} of {records} would go on in a new log")
    } else {
        format!(
            "{jobs} of {records} go on in a new log; the damaged one is kept in {}, what did not \
             come along is listed in {}",
            log.kept.display(),
            log.list.display()
        )
    });
}
