//! `sandhog dead show`.

use std::fmt::Write as _;

use sandhog_model::Letter;

use super::{
    super::{
        exit::{Exit, Fault, Outcome},
        job,
        session::{Session, ask, wall},
        text,
    },
    shapes,
};
use crate::{api::Request, store::LetterName};

/// Bytes of a payload in one line of hex.
const HEX_LINE: usize = 16;

pub(super) fn run(
    session: &mut Session<'_, '_>,
    name: LetterName,
    logs: bool,
    payload: usize,
) -> Outcome<Exit> {
    let LetterName::Job(id) = name else {
        // Only what cannot be read has a place for a name.
        ask!(session, Request::RawLetter { name }, RawLetter);
        return Err(Fault::usage(format!(
            "the letter {name} cannot be read: see its bytes with --raw"
        )));
    };
    let letter = ask!(session, Request::Letter { id, logs }, Letter);
    if session.is_json() {
        session.json(&shapes::letter(&letter))?;
    } else {
        session.say(&shown(&letter, payload))?;
    }
    Ok(Exit::Done)
}

/// The bytes, for a file or another program.
pub(super) fn raw(session: &mut Session<'_, '_>, name: LetterName) -> Outcome<Exit> {
    let raw = ask!(session, Request::RawLetter { name }, RawLetter);
    if session.is_json() {
        session.json(&shapes::raw(name, raw.unreadable.as_deref(), &raw.bytes))?;
        return Ok(Exit::Done);
    }
    if session.io.out_is_terminal {
        let mut shown = String::new();
        hex(&mut shown, &raw.bytes);
        session.say(&shown)?;
    } else {
        session.io.out.write_all(&raw.bytes)?;
    }
    if let Some(why) = &raw.unreadable {
        session.note(&format!("it cannot be read: {}", text::plain(why)));
    }
    Ok(Exit::Done)
}

fn shown(letter: &Letter, payload: usize) -> String {
    let (job, now) = (&letter.job, wall());
    let size = text::size(job.payload.len() as u64);
    let mut fields = vec![
        ("id", job.id.text()),
        ("kind", job.kind.clone()),
        ("queue", job.queue.clone()),
        ("priority", job.priority.to_string()),
        ("died", text::ago(letter.died_at, now)),
        ("enqueued", text::ago(job.enqueued_at, now)),
        (
            "payload",
            format!("{size} of {}", text::plain(&job.content_type)),
        ),
    ];
    for (key, value) in &job.headers {
        fields.push(("header", text::cell(&format!("{key}={value}"))));
    }
    if let Some(parent) = job.parent {
        fields.push(("parent", parent.text()));
    }
    if letter.losses > 0 {
        fields.push(("lost", format!("{} times with its runner", letter.losses)));
    }
    let mut shown = text::fields(&fields);
    self::payload(&mut shown, &job.payload, payload);
    job::history(&mut shown, &letter.attempts);
    shown
}

/// The beginning of a payload: text as it is, anything else in hex.
fn payload(shown: &mut String, bytes: &[u8], most: usize) {
    if bytes.is_empty() || most == 0 {
        return;
    }
    let part = &bytes[..bytes.len().min(most)];
    shown.push('\n');
    match str::from_utf8(bytes) {
        Ok(text) => {
            let end = text.floor_char_boundary(part.len());
            for line in text::plain_lines(&text[..end]).lines() {
                let _ = writeln!(shown, "  {line}");
            }
        }
        Err(_) => hex(shown, part),
    }
    if part.len() < bytes.len() {
        let left = text::size((bytes.len() - part.len()) as u64);
        let _ = writeln!(shown, "  … and {left} more: see --payload");
    }
}

/// Bytes in hex, with the printable ones beside them.
fn hex(shown: &mut String, bytes: &[u8]) {
    for (line, part) in bytes.chunks(HEX_LINE).enumerate() {
        let _ = write!(shown, "  {:08x} ", line * HEX_LINE);
        for byte in part {
            let _ = write!(shown, " {byte:02x}");
        }
        let pad = 3 * (HEX_LINE - part.len()) + 2;
        let _ = write!(shown, "{:pad$}", "");
        for byte in part {
            let printable = byte.is_ascii_graphic() || *byte == b' ';
            shown.push(if printable { char::from(*byte) } else { '.' });
        }
        shown.push('\n');
    }
}
