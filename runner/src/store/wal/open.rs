//! Opening a data directory: take the lock, read the log, cut what was never acknowledged, and make
//! the dead letters and the log say the same.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use sandhog_model::{IdMint, JobId, Ledger};

use super::{
    Durability, Wal, WalOptions,
    actor::Actor,
    compact::{CompactOptions, Compaction},
    crowd::Crowd,
    expiry::Expiry,
    flush::Flusher,
    layout::{self, LogId},
    logs::{self, LookError, Misplaced},
    mailbox::Mailbox,
    merge, reconcile,
    recovered::{self, Recovered},
    replay::{Damage, Stopped},
    run::MissingSegments,
    segments::{Appender, SegmentFiles},
    upkeep::Upkeep,
    writer::{Unstaged, Writer},
};
use crate::{
    disk::{Disk, DiskError, create_dir_durably},
    store::{
        StoreError,
        dead::{self, DeadOpenError, DeadStore},
        lock::{self, Holder, LockError},
    },
};

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
    /// A log lies under a name that is not its own. Nothing was changed.
    #[error(transparent)]
    Misplaced(#[from] Misplaced),
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

impl From<LookError> for OpenError {
    fn from(error: LookError) -> Self {
        match error {
            LookError::Disk(error) => Self::Disk(error),
            LookError::Misplaced(misplaced) => Self::Misplaced(misplaced),
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
    let found = logs::look(&*disk, &options.data)?;
    let several = found.used.len() > 1;
    // A job that is gone matters to its letter, and to the other logs that may know it.
    let keep_gone = |id| several || dead.token(id).is_some();
    let read = |log| recovered::recover(&*disk, &options, log, &keep_gone);
    let chosen = merge::choose(&found.used, read)?;
    let (log, others) = chosen.unwrap_or_else(|| {
        // A directory that a crash left without a segment is used.
        let empty = found.empty.first().copied();
        let log = empty.unwrap_or_else(|| LogId(options.entropy.next()));
        (log, Vec::new())
    });
    let dir = layout::log_dir(&options.data, log);
    make_certain(&*disk, &options.data, &dir)?;
    let mut recovered = read(log)?;
    let torn_tail_bytes = recovered.settle(&*disk, &dir)?;
    let gone = merge::gone(&recovered, &others);
    let files = Arc::new(SegmentFiles::new(log));
    for (number, file) in recovered.run.segments {
        files.insert(number, file);
    }
    let appender = Appender::resume(
        disk.clone(),
        &dir,
        files.clone(),
        options.segment_bytes,
        &recovered.tail,
        options.background,
    )?;
    let mut mint = IdMint::default();
    let Recovered { ledger, live, .. } = recovered;
    let mut writer = Writer::new(&options, ledger, live, appender, Arc::new(dead));
    let taken = merge::take_over(&mut writer, &*disk, &options.data, &others, &gone, now)?;
    merge::remove(&*disk, &options.data, log, &others, &found)?;
    let seen = writer.ledger.last_id();
    let letters = writer.dead.tokens().into_iter().map(|(id, _)| id);
    seen.into_iter().chain(letters).for_each(|id| mint.saw(id));
    let lost = leased(&writer.ledger);
    reconcile::reconcile(&mut writer, &gone, now)?;
    writer.ledger.govern(options.queues.clone(), now);
    let mut actor = Actor {
        writer,
        waiting: Vec::new(),
        leased: Vec::new(),
        lease_ms: options.lease_ms,
        letters: options.letters,
        purge_due: false,
        torn_tail_bytes,
        taken,
        upkeep: Upkeep::new(&options),
        expiry: Expiry::default(),
        crowd: Crowd::new(),
        _lock: lock,
    };
    actor.purge_at_start();
    let mut wal = start(actor, dir, files, mint, &options)?;
    wal.lost = lost;
    Ok(Arc::new(wal))
}

/// The jobs that were running when the process before this one ended, with their kinds.
fn leased(ledger: &Ledger) -> Vec<(JobId, String)> {
    let leases = ledger.leases().into_iter();
    leases
        .filter_map(|(id, _)| Some((id, ledger.look(id)?.kind().to_owned())))
        .collect()
}

/// Give the writer and the compaction their threads.
fn start(
    mut actor: Actor,
    dir: PathBuf,
    files: Arc<SegmentFiles>,
    mint: IdMint,
    options: &WalOptions,
) -> Result<Wal, DiskError> {
    let failed = |cause| DiskError::new("start the writer of", &options.data, &cause);
    let (mailbox, inbox) = Mailbox::new(options.mailbox);
    let compaction = Compaction::start(CompactOptions {
        disk: options.disk.clone(),
        dir,
        files: files.clone(),
        clock: options.clock.clone(),
        mailbox: mailbox.clone(),
    })?;
    let writer = &mut actor.writer;
    if options.background && options.durability == Durability::Commit {
        let flusher = Flusher::start(writer.bell.clone(), mailbox.clone());
        writer.flusher = Some(flusher.map_err(failed)?);
    }
    let bell = writer.bell.clone();
    let mut wal = Wal {
        mailbox,
        files,
        dead: writer.dead.clone(),
        mint: Mutex::new(mint),
        clock: writer.clock.clone(),
        entropy: writer.entropy.clone(),
        ready: bell.ready.clone(),
        changes: bell.changes.clone(),
        poison: bell.poison.subscribe(),
        behind: actor.upkeep.behind.subscribe(),
        lost: Vec::new(),
        #[cfg(test)]
        compaction: compaction.door(),
        thread: None,
    };
    actor.upkeep.compaction = Some(compaction);
    let thread = std::thread::Builder::new()
        .name("store".to_owned())
        .spawn(move || {
            // A bug here must not leave a runner that waits for answers for ever.
            if catch_unwind(AssertUnwindSafe(|| actor.run(inbox))).is_err() {
                bell.poison("the writer's thread panicked".to_owned());
            }
        })
        .map_err(failed)?;
    wal.thread = Some(thread);
    Ok(wal)
}

/// Make the log's directory. Names a killed run made but did not sync are relied on from here on.
fn make_certain(disk: &dyn Disk, data: &Path, dir: &Path) -> Result<(), DiskError> {
    create_dir_durably(disk, dir)?;
    disk.sync_dir(dir)?;
    disk.sync_dir(&layout::logs_dir(data))?;
    disk.sync_dir(data)?;
    sync_parent(disk, data)
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
