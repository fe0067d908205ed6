//! Opening a data directory: take the lock, read the log, cut what was never acknowledged, and make
//! the dead letters and the log say the same.

use std::{
    collections::HashSet,
    io,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    time::Instant,
};

use sandhog_model::{Event, IdMint, JobId, Ledger, recover::Ending};
use tokio::sync::{Notify, broadcast, watch};

use super::{
    Wal, WalOptions,
    actor::Actor,
    compact::{CompactOptions, Compaction},
    layout::{self, LogId},
    live::Live,
    reconcile,
    replay::{self, Damage, Segment, Stopped},
    run::{self, MissingSegments, Run},
    segments::{Appender, SegmentFiles, Tail},
    upkeep::Upkeep,
    writer::{Batch, Counters, Unstaged, Writer},
};
use crate::{
    disk::{Disk, DiskError, DiskFile, OpenMode, create_dir_durably},
    store::{
        StoreError,
        dead::{self, DeadOpenError, DeadStore},
        lock::{self, Holder, LockError},
    },
};

/// Changes kept for a listener that is behind; a slower one misses some and hears that it did.
const CHANGES: usize = 4096;

/// Why a data directory was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// An option is out of its range.
    #[error("{0}")]
    Options(String),
    /// Another runner owns it.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The file system refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The dead letters cannot be opened.
    #[error(transparent)]
    Dead(#[from] DeadOpenError),
    /// The log is damaged where something acknowledged may be. Nothing was changed.
    #[error("{} is damaged at byte {offset}: {why}; nothing was changed, run `sandhog log check`", path.display())]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
        why: String,
    },
    /// Segments that the log needs are not there. Nothing was changed.
    #[error(transparent)]
    Missing(#[from] MissingSegments),
    /// Two logs lie in the directory.
    #[error("{} and {} both hold records: move one away and start again", one.display(), other.display())]
    SeveralLogs {
        /// The one.
        one: PathBuf,
        /// The other.
        other: PathBuf,
    },
    /// What a crash left half done could not be finished.
    #[error("what the last stop left half done cannot be finished: {0}")]
    Unfinished(StoreError),
}

impl From<Stopped> for OpenError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Disk(error) => Self::Disk(error),
            Stopped::Damage(Damage { path, offset, why }) => Self::Damaged { path, offset, why },
        }
    }
}

impl From<Unstaged> for OpenError {
    fn from(unstaged: Unstaged) -> Self {
        Self::Unfinished(match unstaged {
            Unstaged::Refused(error) => error,
            Unstaged::Poison(cause) => StoreError::Poisoned { cause },
        })
    }
}

/// What reading the log gave.
struct Recovered {
    ledger: Ledger,
    live: Live,
    /// Jobs that a record took out.
    forgotten: HashSet<JobId>,
    tail: Tail,
    /// The segments of the log, open to read.
    segments: Vec<(u32, Arc<dyn DiskFile>)>,
    torn_tail_bytes: u64,
}

/// Open a data directory, alone, and start its writer.
///
/// Every lease of the run before is lost here: its holder died with it, and no attempt is spent.
///
/// # Errors
/// Another runner has the directory, the log or the dead letters cannot be used as they are, or the
/// file system refuses.
pub fn open(options: WalOptions) -> Result<Arc<Wal>, OpenError> {
    options.check().map_err(OpenError::Options)?;
    let disk = options.disk.clone();
    create_dir_durably(&*disk, &options.data)?;
    let now = options.clock.now();
    let holder = Holder {
        passing: options.passing,
        ..Holder::this_process(now.wall, &options.command)
    };
    let lock = lock::take(&*disk, &options.data, &holder)?;
    let dead = DeadStore::open(disk.clone(), &dead::dir(&options.data), &holder)?;
    let log = choose_log(&*disk, &options)?;
    let dir = layout::log_dir(&options.data, log);
    let recovered = recover(&*disk, &options, log)?;
    let files = Arc::new(SegmentFiles::new(log));
    for (number, file) in recovered.segments {
        files.insert(number, file);
    }
    let appender = Appender::resume(
        disk,
        &dir,
        files.clone(),
        options.segment_bytes,
        &recovered.tail,
    )?;
    let mut mint = IdMint::default();
    let seen = recovered.ledger.last_id();
    let letters = dead.tokens().into_iter().map(|(id, _)| id);
    seen.into_iter().chain(letters).for_each(|id| mint.saw(id));
    let (changes, _) = broadcast::channel(CHANGES);
    let mut writer = Writer {
        ledger: recovered.ledger,
        live: recovered.live,
        appender,
        dead: Arc::new(dead),
        clock: options.clock.clone(),
        entropy: options.entropy.clone(),
        durability: options.durability,
        changes,
        ready: Arc::new(Notify::new()),
        counters: Counters::default(),
        last_sync: Instant::now(),
        batch: Batch::default(),
    };
    reconcile::reconcile(&mut writer, &recovered.forgotten, now)?;
    let actor = Actor {
        writer,
        poison: watch::Sender::new(None),
        lease_ms: options.lease_ms,
        max_letters: options.max_letters,
        torn_tail_bytes: recovered.torn_tail_bytes,
        upkeep: Upkeep::new(options.keep_ended_ms, options.max_ended),
        _lock: lock,
    };
    Ok(Arc::new(start(actor, dir, files, mint, &options)?))
}

/// Give the writer and the compaction their threads.
fn start(
    mut actor: Actor,
    dir: PathBuf,
    files: Arc<SegmentFiles>,
    mint: IdMint,
    options: &WalOptions,
) -> Result<Wal, DiskError> {
    let (mailbox, inbox) = mpsc::sync_channel(options.mailbox);
    let compaction = Compaction::start(CompactOptions {
        disk: options.disk.clone(),
        dir,
        files: files.clone(),
        clock: options.clock.clone(),
        mailbox: mailbox.clone(),
    })?;
    let writer = &actor.writer;
    let mut wal = Wal {
        mailbox: Some(mailbox),
        mailbox_size: options.mailbox,
        files,
        dead: writer.dead.clone(),
        mint: Mutex::new(mint),
        clock: writer.clock.clone(),
        entropy: writer.entropy.clone(),
        ready: writer.ready.clone(),
        changes: writer.changes.clone(),
        poison: actor.poison.subscribe(),
        behind: actor.upkeep.behind.subscribe(),
        #[cfg(test)]
        compaction: compaction.door(),
        thread: None,
    };
    actor.upkeep.compaction = Some(compaction);
    let poison = actor.poison.clone();
    let thread = std::thread::Builder::new()
        .name("store".to_owned())
        .spawn(move || {
            // A bug here must not leave a runner that waits for answers for ever.
            if catch_unwind(AssertUnwindSafe(|| actor.run(inbox))).is_err() {
                poison.send_replace(Some("the writer's thread panicked".to_owned()));
            }
        })
        .map_err(|cause| DiskError::new("start the writer of", &options.data, &cause))?;
    wal.thread = Some(thread);
    Ok(wal)
}

/// The log to go on with, or a new one. A directory that a crash left without a segment is used.
fn choose_log(disk: &dyn Disk, options: &WalOptions) -> Result<LogId, OpenError> {
    let data = &options.data;
    let used = replay::logs(disk, data)?;
    if let [one, other, ..] = used[..] {
        return Err(OpenError::SeveralLogs {
            one: layout::log_dir(data, one),
            other: layout::log_dir(data, other),
        });
    }
    let named = replay::named_logs(disk, data)?;
    let log = match used.first().or(named.first()) {
        Some(log) => *log,
        None => LogId(options.entropy.next()),
    };
    let dir = layout::log_dir(data, log);
    create_dir_durably(disk, &dir)?;
    // Names a killed run made but did not sync are relied on from here on.
    disk.sync_dir(&dir)?;
    disk.sync_dir(&layout::logs_dir(data))?;
    disk.sync_dir(data)?;
    sync_parent(disk, data)?;
    Ok(log)
}

/// Make the data directory's own name durable. Whoever may not read the directory above cannot have
/// made it there a moment ago.
fn sync_parent(disk: &dyn Disk, data: &Path) -> Result<(), DiskError> {
    let parent = match data.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Ok(()),
    };
    match disk.sync_dir(parent) {
        Err(error) if error.kind == io::ErrorKind::PermissionDenied => Ok(()),
        other => other,
    }
}

fn recover(disk: &dyn Disk, options: &WalOptions, log: LogId) -> Result<Recovered, OpenError> {
    let mono = options.clock.now().mono;
    let dir = layout::log_dir(&options.data, log);
    let run = Run::open(disk, &dir)?;
    let mut ledger = run.ledger();
    let mut live = Live::default();
    let mut forgotten = HashSet::new();
    let mut tail = Tail {
        last: None,
        next_sequence: 1,
        bytes_on_disk: 0,
    };
    let mut lengths = Vec::new();
    let mut last = None;
    replay::replay(
        &run,
        log,
        |told| {
            let at = told.at();
            let (record, bytes) = (&told.record, told.frame_bytes);
            if let Event::Deleted { .. } | Event::Pruned { .. } = record.event {
                forgotten.extend(record.event.ids());
            }
            live.take_in(&mut ledger, &record.event, at, bytes, |ledger| {
                ledger.replay(record, at, mono)
            })
            .map_err(|unsound| format!("job {}: {}", unsound.id, unsound.why))?;
            Ok(ControlFlow::Continue(()))
        },
        |segment| {
            if let Some(damage) = segment.refused() {
                return Err(Stopped::Damage(damage));
            }
            lengths.push((segment.number, segment.bytes.len() as u64));
            tail.next_sequence = segment.end.next_sequence;
            if segment.end.offset > 0 {
                tail.last = Some(segment.end_of_use());
            }
            if segment.last {
                last = Some(segment);
            }
            Ok(())
        },
    )?;
    ledger
        .complete()
        .map_err(|records| run.missing(&records, ledger.trimmed()))?;
    let torn_tail_bytes = match &last {
        Some(segment) => settle_end(disk, &dir, segment)?,
        None => 0,
    };
    // All that says so is on the device now.
    let trimmed = run.trimmed(ledger.trimmed());
    run::remove(disk, &dir, &trimmed)?;
    let end = tail.last.map_or(0, |last| last.number);
    let is_there = |number: &u32| !trimmed.contains(number) && *number <= end;
    let there = lengths.iter().filter(|(number, _)| is_there(number));
    tail.bytes_on_disk = there.map(|(_, bytes)| bytes).sum();
    let segments = run.segments.into_iter();
    Ok(Recovered {
        ledger,
        live,
        forgotten,
        tail,
        segments: segments.filter(|(number, _)| is_there(number)).collect(),
        torn_tail_bytes,
    })
}

/// Make the last segment's end certain: a torn tail is copied aside and overwritten with zeros, and
/// what was read from the system's memory is synced, since from now on it is built upon. Gives the
/// bytes that were cut.
fn settle_end(disk: &dyn Disk, dir: &Path, segment: &Segment) -> Result<u64, DiskError> {
    let file = disk.open(&segment.path, OpenMode::Write)?;
    let Ending::Cut { why } = segment.end.ending else {
        file.sync()?;
        return Ok(0);
    };
    let offset = segment.end.offset as u64;
    let tail = segment.tail();
    if !tail.is_empty() {
        let path = layout::torn_path(dir, segment.number, offset);
        let copy = disk.open(&path, OpenMode::Replace)?;
        copy.write_at(0, tail)?;
        copy.sync()?;
        disk.sync_dir(dir)?;
        tracing::warn!(
            path = %segment.path.display(), offset, bytes = tail.len(), why, copy = %path.display(),
            "the log ends in a record that was not written to its end; it was never acknowledged and is cut"
        );
    }
    if offset == 0 {
        disk.remove(&segment.path)?;
        disk.sync_dir(dir)?;
    } else {
        file.write_at(offset, &vec![0; tail.len()])?;
        file.sync()?;
    }
    Ok(tail.len() as u64)
}
