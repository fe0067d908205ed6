//! `sandhog dead import`.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use sandhog_model::Letter;
use serde_json::json;

use super::{
    super::{
        door::Need,
        each::Each,
        exit::{Exit, Fault, Outcome},
        interrupt::Interrupt,
        session::{Session, ask},
        text,
    },
    ndjson,
};
use crate::{api::Request, store::Imported};

/// Longest line, in bytes: a letter of 16 MiB with its payload twice, in base64 and as text.
const LINE_BYTES: usize = 64 << 20;
/// Bytes read at a time.
const READ_BYTES: usize = 1 << 18;
/// Letters, and bytes of lines, that are sent together.
const BATCH: usize = 200;
const BATCH_BYTES: usize = 8 << 20;

/// What became of the lines so far.
#[derive(Default)]
struct Counts {
    taken: u64,
    known: u64,
    wrong: u64,
    each: Each,
}

pub(super) fn run(session: &mut Session<'_, '_>, file: &Path, dry_run: bool) -> Outcome<Exit> {
    // Found out before the input is read: someone may be typing it.
    session.door(Need::Anything)?;
    let interrupt = Interrupt::listen();
    let mut lines = Lines::open(file)?;
    let (mut counts, mut batch, mut bytes) = (Counts::default(), Vec::new(), 0);
    let (mut number, mut line) = (0_u64, Vec::new());
    let mut stopped = false;
    while lines.next(session, &mut line)? {
        stopped = interrupt.came();
        if stopped {
            break;
        }
        number += 1;
        if line.len() >= LINE_BYTES {
            let mebi = LINE_BYTES >> 20;
            let told = counts.told(dry_run);
            return Err(Fault::usage(format!(
                "line {number} is longer than {mebi} MiB: this is no export; {told}"
            )));
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        let letter = str::from_utf8(text).map_err(|_| "no UTF-8".to_owned());
        match letter.and_then(ndjson::letter) {
            Ok(letter) => {
                bytes += text.len();
                batch.push((number, letter));
            }
            Err(why) => counts.wrong(session, number, &why),
        }
        if batch.len() >= BATCH || bytes >= BATCH_BYTES {
            send(session, &mut batch, dry_run, &mut counts)?;
            bytes = 0;
        }
    }
    if !stopped {
        send(session, &mut batch, dry_run, &mut counts)?;
    }
    end(session, counts, dry_run, stopped)
}

fn end(
    session: &mut Session<'_, '_>,
    mut counts: Counts,
    dry_run: bool,
    stopped: bool,
) -> Outcome<Exit> {
    if session.is_json() {
        session.json(&json!({
            "imported": counts.taken,
            "known": counts.known,
            "wrong": counts.wrong,
            "dry_run": dry_run,
        }))?;
    }
    session.note(&counts.told(dry_run));
    if stopped {
        session.note("stopped before the end: import the same file again for the rest");
        counts.each.refused(Exit::Failed);
    }
    counts.each.end()
}

impl Counts {
    fn wrong(&mut self, session: &mut Session<'_, '_>, line: u64, why: &str) {
        self.wrong += 1;
        self.each.refused(Exit::Failed);
        session.note(&format!("line {line}: {}", text::plain(why)));
    }

    fn told(&self, dry_run: bool) -> String {
        let would = if dry_run { "would be " } else { "" };
        format!(
            "{} {would}imported, {} here already and left alone, {} not right",
            text::count(self.taken, "letter"),
            self.known,
            text::count(self.wrong, "line"),
        )
    }
}

/// The lines of a file, or of the command's input.
struct Lines {
    /// `None` for the command's input.
    file: Option<(File, PathBuf)>,
    /// Read and not given out yet.
    rest: Vec<u8>,
    given: usize,
}

impl Lines {
    fn open(path: &Path) -> Outcome<Self> {
        let file = match path == Path::new("-") {
            true => None,
            false => {
                let opened = File::open(path).map_err(|error| {
                    let cannot = format!("cannot read {}", path.display());
                    Fault::new(Exit::Usage, anyhow::Error::new(error).context(cannot))
                });
                Some((opened?, path.to_path_buf()))
            }
        };
        Ok(Self {
            file,
            rest: Vec::new(),
            given: 0,
        })
    }

    /// The next line, or its beginning when it is too long; `false` at the end.
    fn next(&mut self, session: &mut Session<'_, '_>, line: &mut Vec<u8>) -> Outcome<bool> {
        line.clear();
        loop {
            let rest = &self.rest[self.given..];
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                line.extend_from_slice(&rest[..end]);
                self.given += end + 1;
                return Ok(true);
            }
            line.extend_from_slice(rest);
            self.rest.resize(READ_BYTES, 0);
            self.given = 0;
            let read = match &mut self.file {
                Some((file, path)) => file
                    .read(&mut self.rest)
                    .with_context(|| format!("cannot read {}", path.display()))?,
                None => session
                    .io
                    .input
                    .read(&mut self.rest)
                    .context("cannot read standard input")?,
            };
            self.rest.truncate(read);
            if read == 0 || line.len() >= LINE_BYTES {
                return Ok(!line.is_empty());
            }
        }
    }
}

/// Send what was gathered, with the numbers of its lines for what is refused.
fn send(
    session: &mut Session<'_, '_>,
    batch: &mut Vec<(u64, Letter)>,
    dry_run: bool,
    counts: &mut Counts,
) -> Outcome<()> {
    if batch.is_empty() {
        return Ok(());
    }
    let (lines, letters): (Vec<u64>, Vec<Letter>) = std::mem::take(batch).into_iter().unzip();
    let ids: Vec<_> = letters.iter().map(Letter::id).collect();
    let answers = ask!(session, Request::ImportDead { letters, dry_run }, Imported);
    for ((line, id), answer) in lines.into_iter().zip(ids).zip(answers) {
        match answer {
            Ok(Imported::Taken) => {
                counts.taken += 1;
                counts.each.done();
            }
            Ok(Imported::Known) => {
                counts.known += 1;
                counts.each.done();
                session.note(&format!("line {line}: {id} is here already"));
            }
            Err(error) => counts.wrong(session, line, &error.to_string()),
        }
    }
    Ok(())
}
