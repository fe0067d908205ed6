//! `sandhog dead purge`.

use std::time::Duration;

use serde_json::json;

use super::super::{
    exit::{Exit, Fault, Outcome},
    interrupt::Interrupt,
    session::{Session, ask},
    text, when,
};
use crate::{
    api::Request,
    store::{LetterBounds, PurgeCounts},
};

/// Letters shown by a dry run.
const SHOWN: usize = 10;

pub(super) fn run(
    session: &mut Session<'_, '_>,
    keep: Option<Duration>,
    max_letters: Option<u64>,
    max_bytes: Option<u64>,
    dry_run: bool,
) -> Outcome<Exit> {
    let settings = &session.config.dead;
    let mut bounds = LetterBounds {
        keep_ms: keep.map(when::millis),
        max_letters,
        max_bytes,
    };
    if bounds.is_empty() {
        bounds = LetterBounds {
            keep_ms: settings.keep.map(when::millis),
            max_letters: settings.max_letters,
            max_bytes: settings.max_bytes,
        };
    }
    if bounds.is_empty() {
        return Err(Fault::usage(
            "no bound: give --keep, --max-letters or --max-bytes, or set them under `[dead]`",
        ));
    }
    let interrupt = Interrupt::listen();
    let (mut counts, mut first) = (PurgeCounts::default(), Vec::new());
    let left = loop {
        let purged = ask!(session, Request::PurgeDead { bounds, dry_run }, Purged);
        let gone = purged.letters.len();
        for (id, reason) in purged.letters {
            counts.add(reason);
            if first.len() < SHOWN || !dry_run {
                first.push((id.text(), reason));
            }
        }
        // Nothing went although something should: it is not in this log, and stays.
        if dry_run || purged.left == 0 || gone == 0 || interrupt.came() {
            break purged.left;
        }
    };
    let total = counts.total() + if dry_run { left } else { 0 };
    if session.is_json() {
        let shown: Vec<_> = first
            .iter()
            .map(|(id, reason)| json!({ "id": id, "reason": reason }))
            .collect();
        session.json(&json!({ "count": total, "letters": shown, "dry_run": dry_run }))?;
    } else {
        for (id, reason) in &first {
            session.say(&format!("{id}  {reason}"))?;
        }
    }
    let letters = text::count(total, "letter");
    session.note(&match dry_run {
        true => format!("{letters} would be purged; nothing was changed"),
        false => format!("{letters} purged"),
    });
    if !dry_run && left > 0 {
        session.note(&format!("{} more are over the bounds", left));
        return Ok(Exit::Failed);
    }
    Ok(Exit::Done)
}
