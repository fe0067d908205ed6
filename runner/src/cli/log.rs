//! `sandhog log`: reads the files, whether a runner is up or not.

use std::io::Write as _;

use sandhog_model::JobId;
use serde_json::{Value, json};

use super::{
    args::LogCommand,
    exit::{Exit, Outcome},
    repair,
    rooms::{Dumped, LogCheck, LogRecord},
    session::Session,
    text,
};

pub(super) fn run(session: &mut Session<'_, '_>, command: LogCommand) -> Outcome<Exit> {
    match command {
        LogCommand::Check => check(session),
        LogCommand::Repair { dry_run } => repair::run(session, dry_run),
        LogCommand::Dump {
            limit,
            job,
            from,
            log,
        } => {
            let from = from.map(|place| (place.segment, place.offset));
            dump(session, limit, job, &Dumped { log, from })
        }
    }
}

fn check(session: &mut Session<'_, '_>) -> Outcome<Exit> {
    let found = session.rooms.check_log(&session.config)?;
    let damaged = found.findings.iter().any(|finding| finding.damage);
    if session.is_json() {
        session.json(&shape(&found, !damaged))?;
    } else {
        session.say(&shown(&found))?;
    }
    Ok(if damaged { Exit::Failed } else { Exit::Done })
}

fn shape(check: &LogCheck, sound: bool) -> Value {
    let findings = check.findings.iter().map(|finding| {
        json!({
            "file": finding.file,
            "offset": finding.offset,
            "what": finding.what,
            "damage": finding.damage,
        })
    });
    json!({
        "sound": sound,
        "segments": check.segments,
        "records": check.records,
        "bytes": check.bytes,
        "dead_letters": check.dead_letters,
        "findings": findings.collect::<Value>(),
    })
}

fn shown(check: &LogCheck) -> String {
    let mut lines: Vec<String> = check
        .findings
        .iter()
        .map(|finding| {
            let word = if finding.damage {
                "damaged"
            } else {
                "torn tail"
            };
            let what = text::plain(&finding.what);
            format!(
                "{}: {word} at byte {}: {what}",
                finding.file.display(),
                finding.offset
            )
        })
        .collect();
    // Reading a log ends at its first damage; a repair reads on.
    let up_to = match check.findings.iter().any(|finding| finding.damage) {
        true => " up to the first damage",
        false => "",
    };
    lines.push(format!(
        "{} in {} ({}){up_to}, {}, {}",
        text::count(check.records, "record"),
        text::count(check.segments, "segment"),
        text::size(check.bytes),
        text::count(check.dead_letters, "dead letter"),
        text::count(check.findings.len() as u64, "finding")
    ));
    lines.join("\n")
}

fn dump(
    session: &mut Session<'_, '_>,
    limit: Option<usize>,
    job: Option<JobId>,
    wanted: &Dumped,
) -> Outcome<Exit> {
    let json = session.is_json();
    let mut left = limit.unwrap_or(usize::MAX);
    let mut written = Ok(());
    let mut count = 0_usize;
    let out = &mut session.io.out;
    session
        .rooms
        .dump_log(&session.config, wanted, &mut |record| {
            if left == 0 {
                return false;
            }
            if job.is_some_and(|id| !record.ids.contains(&id)) {
                return true;
            }
            let between = match (json, count) {
                (true, 0) => "[",
                (true, _) => ",\n",
                (false, _) => "",
            };
            let end = if json { "" } else { "\n" };
            written = write!(out, "{between}{}{end}", line(&record, json));
            count += 1;
            left -= 1;
            written.is_ok()
        })?;
    written?;
    if json {
        writeln!(out, "{}", if count == 0 { "[]" } else { "]" })?;
    }
    Ok(Exit::Done)
}

fn line(record: &LogRecord, json: bool) -> String {
    if json {
        return text::json(&json!({
            "file": record.file,
            "offset": record.offset,
            "sequence": record.sequence,
            "id": record.id,
            "event": record.event,
        }));
    }
    let file = record
        .file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    format!(
        "{file}:{} {} {} {}",
        record.offset,
        record.sequence,
        record.id.map_or_else(|| "-".to_owned(), JobId::text),
        text::json(&record.event)
    )
}
