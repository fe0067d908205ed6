//! A file of jobs: read through once to find every fault before anything is enqueued, then once more
//! to send it.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use anyhow::{Context as _, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sandhog_model::{NewJob, UnixMs};

use super::{ndjson, printer::Printer, send, where_they_wait};
use crate::{
    api::{JOBS_PER_ENQUEUE, check_job},
    cli::{
        door::Need,
        exit::{Exit, Fault, Outcome},
        session::{Session, wall},
    },
};

/// Longest line, in bytes. The largest payload in base64 and all else of a job fit in.
const LINE_BYTES: u64 = 16 << 20;
/// Lines that are not right and are told of.
const TOLD: usize = 20;
/// Payload bytes after which a chunk is sent although it could hold more jobs.
const CHUNK_BYTES: usize = 8 << 20;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A bulk file's lines with their numbers. Blank lines and a byte order mark are passed over.
struct Lines {
    reader: BufReader<File>,
    number: u64,
    /// Bytes read so far.
    bytes: u64,
    buffer: Vec<u8>,
}

impl Lines {
    fn new(file: &File) -> anyhow::Result<Self> {
        let mut file = file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        Ok(Self {
            reader: BufReader::with_capacity(1 << 20, file),
            number: 0,
            bytes: 0,
            buffer: Vec::new(),
        })
    }

    /// The next line; its number is then in `number`.
    fn next(&mut self) -> Outcome<Option<&str>> {
        loop {
            self.buffer.clear();
            self.number += 1;
            let read = (&mut self.reader)
                .take(LINE_BYTES + 1)
                .read_until(b'\n', &mut self.buffer)
                .context("cannot read the file of jobs")?;
            if read == 0 {
                return Ok(None);
            }
            self.bytes += read as u64;
            if read as u64 > LINE_BYTES {
                let why = format!("is longer than the {LINE_BYTES} bytes allowed");
                return Err(at(self.number, why));
            }
            if self.number == 1 && self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.buffer.drain(..BYTE_ORDER_MARK.len());
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        let text = str::from_utf8(self.buffer.trim_ascii());
        text.map(Some)
            .map_err(|error| at(self.number, format!("is not UTF-8: {error}")))
    }
}

fn at(line: u64, why: impl std::fmt::Display) -> Fault {
    Fault::usage(format!("line {line} {why}"))
}

/// A file of which every line is a job.
pub(in crate::cli) struct Checked {
    file: File,
    /// When it was read: what its times count from.
    now: UnixMs,
    jobs: usize,
    kinds: BTreeSet<String>,
}

pub(super) fn run(session: &mut Session<'_, '_>, path: &Path, pattern: &NewJob) -> Outcome<Exit> {
    let checked = prepare(session, path, pattern, false)?;
    enqueue(session, &checked, path, pattern)
}

/// Read a file to its end, and find every fault. Of what is to be a batch no line may name another one.
pub(in crate::cli) fn prepare(
    session: &mut Session<'_, '_>,
    path: &Path,
    pattern: &NewJob,
    is_batch: bool,
) -> Outcome<Checked> {
    let file = open(session, path).map_err(|error| Fault::new(Exit::Usage, error))?;
    let now = wall();
    let (jobs, kinds) = check(session, &file, pattern, now, is_batch)
        .map_err(|fault| about(fault, path, "nothing was enqueued"))?;
    Ok(Checked {
        file,
        now,
        jobs,
        kinds,
    })
}

/// Enqueue the jobs of a file, and print their ids.
pub(in crate::cli) fn enqueue(
    session: &mut Session<'_, '_>,
    checked: &Checked,
    path: &Path,
    pattern: &NewJob,
) -> Outcome<Exit> {
    let Checked {
        file,
        now,
        jobs,
        kinds,
    } = checked;
    session.door(Need::Anything)?;
    let bar = bar(session, file.metadata().map_or(0, |data| data.len()));
    let mut printer = Printer::new(session.is_json());
    let sent = push(session, file, pattern, *now, &bar, &mut printer);
    bar.finish_and_clear();
    printer.end(session)?;
    let taken = printer.each.count();
    if let Err(fault) = sent {
        let done = format!(
            "{taken} of {jobs} jobs were enqueued: their ids were printed; what comes after line {} was not answered",
            printer.line
        );
        printer.each.broke(about(fault, path, &done));
        return printer.each.end();
    }
    let of = printer.each.has_refused().then_some(*jobs as u64);
    session.note(&printer.told(of));
    if printer.fresh() > 0 {
        where_they_wait(session, kinds, "they wait");
    }
    printer.each.end()
}

fn about(fault: Fault, path: &Path, done: &str) -> Fault {
    let told = |error: anyhow::Error| anyhow!("{}: {error:#}; {done}", path.display());
    Fault {
        exit: fault.exit,
        error: fault.error.map(told),
    }
}

/// The file itself; standard input goes into a nameless one first, to be read twice.
fn open(session: &mut Session<'_, '_>, path: &Path) -> anyhow::Result<File> {
    if path != Path::new("-") {
        return File::open(path).with_context(|| format!("cannot read {}", path.display()));
    }
    let mut spool = tempfile::tempfile().context("cannot make a file for standard input")?;
    std::io::copy(session.io.input, &mut spool).context("cannot keep standard input")?;
    Ok(spool)
}

/// Every line, with every rule that does not need the runner. Their number and their kinds.
fn check(
    session: &Session<'_, '_>,
    file: &File,
    pattern: &NewJob,
    now: UnixMs,
    is_batch: bool,
) -> Outcome<(usize, BTreeSet<String>)> {
    let payload_bytes = session.config.limits.payload as usize;
    let mut lines = Lines::new(file)?;
    let (mut jobs, mut kinds) = (0, BTreeSet::new());
    let mut wrong = Vec::new();
    while let Some(line) = lines.next()? {
        jobs += 1;
        let parsed = ndjson::parse(line, pattern, now).and_then(|job| match is_batch {
            true => ndjson::goes_into(pattern.batch, &job).map(|()| job),
            false => Ok(job),
        });
        let checked = parsed.map_err(|error| error.to_string()).and_then(|job| {
            if !kinds.contains(&job.kind) {
                kinds.insert(job.kind.clone());
            }
            check_job(job, now, payload_bytes).map_err(|refused| format!("is refused: {refused}"))
        });
        if let Err(why) = checked {
            wrong.push(format!("line {} {why}", lines.number));
        }
    }
    match wrong.len() {
        0 => Ok((jobs, kinds)),
        count => {
            if count > TOLD {
                wrong.truncate(TOLD);
                wrong.push(format!("and {} more", count - TOLD));
            }
            Err(Fault::usage(wrong.join("\n  ")))
        }
    }
}

fn push(
    session: &mut Session<'_, '_>,
    file: &File,
    pattern: &NewJob,
    now: UnixMs,
    bar: &ProgressBar,
    printer: &mut Printer,
) -> Outcome<()> {
    let mut lines = Lines::new(file)?;
    let mut chunk = Chunk::default();
    loop {
        let line = lines.next()?;
        let job = line.map(|line| ndjson::parse(line, pattern, now));
        let last = job.is_none();
        if let Some(job) = job {
            chunk.add(lines.number, job.map_err(|error| at(lines.number, error))?);
        }
        if chunk.is_full() || last {
            chunk.send(session, printer)?;
            bar.set_position(lines.bytes);
        }
        if last {
            return Ok(());
        }
    }
}

/// Jobs that are sent together.
#[derive(Default)]
struct Chunk {
    jobs: Vec<NewJob>,
    lines: Vec<u64>,
    bytes: usize,
}

impl Chunk {
    fn add(&mut self, line: u64, job: NewJob) {
        self.bytes += job.payload.len();
        self.lines.push(line);
        self.jobs.push(job);
    }

    fn is_full(&self) -> bool {
        self.jobs.len() == JOBS_PER_ENQUEUE || self.bytes >= CHUNK_BYTES
    }

    /// Send and print. What is refused stands in its place, and the rest goes on.
    fn send(&mut self, session: &mut Session<'_, '_>, printer: &mut Printer) -> Outcome<()> {
        if self.jobs.is_empty() {
            return Ok(());
        }
        self.bytes = 0;
        let lines = std::mem::take(&mut self.lines);
        let answers = send(session, std::mem::take(&mut self.jobs))?;
        for (line, answer) in lines.into_iter().zip(answers) {
            match answer {
                Ok(job) => printer.taken(session, line, &job)?,
                Err(error) => printer.refused(session, line, error)?,
            }
        }
        Ok(())
    }
}

fn bar(session: &Session<'_, '_>, size: u64) -> ProgressBar {
    let target = if session.io.err_is_terminal {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(size), target);
    if let Ok(style) =
        ProgressStyle::with_template("enqueueing {wide_bar} {bytes}/{total_bytes} {eta}")
    {
        bar.set_style(style);
    }
    bar
}
