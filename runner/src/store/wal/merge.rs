//! Several logs in one directory: a crashed owner's, one copied from a dead machine, a restored
//! one. One goes on as the main log; what it lacks of the others is written into it, and only then
//! are they removed.
//!
//! A crash anywhere ends the same at the next open: until a log is out of the way, under another
//! name, it is whole and read again, and what was carried over already counts once.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use sandhog_model::{Event, JobId, Ledger, Now};

use super::{
    carry,
    layout::{self, LogId},
    logs::Logs,
    open::OpenError,
    recovered::Recovered,
    replay, rewrite,
    segments::SegmentFiles,
    upkeep::cron_as_it_is,
    writer::{Unstaged, WithLetter, Writer},
};
use crate::disk::{Disk, DiskError, OpenMode};

/// Bytes appended before they are written and synced.
const BATCH_BYTES: usize = 4 << 20;

/// A log besides the main one, read to its end and left as it is.
pub(super) struct Other {
    pub(super) log: LogId,
    read: Recovered,
}

/// What was taken over at an open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// Logs besides the main one.
    pub(super) logs: u64,
    /// Jobs of theirs that the main one lacked, or knew less of.
    pub(super) jobs: u64,
}

/// Which log goes on, and the others: the one with the largest id goes on, since ids only grow. The
/// main one of a take-over that was cut short is told by its record.
///
/// Each is read to its end first, so that damage in any of them is found before anything changes.
pub(super) fn choose(
    used: &[LogId],
    read: impl Fn(LogId) -> Result<Recovered, OpenError>,
) -> Result<Option<(LogId, Vec<Other>)>, OpenError> {
    if let [] | [_] = used {
        return Ok(used.first().map(|log| (*log, Vec::new())));
    }
    let mut others = Vec::with_capacity(used.len());
    for log in used {
        let read = read(*log)?;
        others.push(Other { log: *log, read });
    }
    let names: HashSet<String> = used.iter().map(LogId::to_string).collect();
    let main = others
        .iter()
        .enumerate()
        .max_by_key(|(_, other)| {
            let took = other.read.merged.iter().filter(|log| names.contains(*log));
            (other.read.ledger.last_id(), took.count(), other.log)
        })
        .map(|(at, _)| at);
    Ok(main.map(|at| {
        let main = others.swap_remove(at);
        others.sort_by_key(|other| other.log);
        (main.log, others)
    }))
}

/// Jobs that some log says were deleted or forgotten. They do not come back from another.
pub(super) fn gone(main: &Recovered, others: &[Other]) -> HashSet<JobId> {
    let reads = others.iter().map(|other| &other.read).chain([main]);
    reads.flat_map(|read| read.gone.iter()).copied().collect()
}

/// Write into the main log what it lacks of the others, and sync it.
///
/// A job that both know counts once: as the log says that gave it the later lease, or the main one
/// when neither did. A lease comes over as one, to be taken back like every other of a run before.
pub(super) fn take_over(
    writer: &mut Writer,
    disk: &dyn Disk,
    data: &Path,
    others: &[Other],
    gone: &HashSet<JobId>,
    now: Now,
) -> Result<Taken, OpenError> {
    let mut taken = Taken::default();
    for other in others {
        let files = open_files(disk, data, other.log)?;
        let mut jobs = 0;
        for (id, entry) in other.read.ledger.newest(None) {
            let known = writer.ledger.get(id).map(|known| known.token);
            if gone.contains(&id) || known.is_some_and(|token| token >= entry.token) {
                continue;
            }
            let carried = carry::carried(id, &entry, now.wall, |at| files.read(at))
                .map_err(OpenError::Unfinished)?;
            stage(writer, Event::Carried(Box::new(carried)), now)?;
            jobs += 1;
        }
        take_over_crons(writer, &other.read.ledger, now)?;
        for event in writer.ledger.unsaid(&other.read.ledger, now.wall) {
            stage(writer, event, now)?;
        }
        let merged = Event::Merged {
            log: other.log.to_string(),
            at: now.wall,
            last_token: other.read.ledger.last_token(),
        };
        stage(writer, merged, now)?;
        tracing::info!(
            log = %other.log, jobs, known = other.read.ledger.len() as u64 - jobs,
            "another log in the directory is taken over"
        );
        taken.logs += 1;
        taken.jobs += jobs;
    }
    commit(writer, now)?;
    // Whatever the durability: the others go next.
    writer.sync()?;
    Ok(taken)
}

/// Schedules that the main log lacks come over as they are. Of those that both know the main one says how
/// they are, and both what they are done with: a slot gets no second job.
fn take_over_crons(writer: &mut Writer, other: &Ledger, now: Now) -> Result<(), OpenError> {
    for (name, theirs) in other.crons() {
        let known = writer.ledger.cron(name);
        let mut state = known.unwrap_or(theirs).clone();
        state.done.join(&theirs.done);
        if known != Some(&state) {
            stage(writer, cron_as_it_is(name, &state, now), now)?;
        }
    }
    Ok(())
}

fn stage(writer: &mut Writer, event: Event, now: Now) -> Result<(), OpenError> {
    writer.stage(event, WithLetter::IsThere, now)?;
    if writer.appender.pending_bytes() > BATCH_BYTES {
        commit(writer, now)?;
    }
    Ok(())
}

fn commit(writer: &mut Writer, now: Now) -> Result<(), OpenError> {
    let failed = |error: DiskError| OpenError::from(Unstaged::Poison(error.to_string()));
    writer.commit(now).map_err(failed)
}

pub(super) fn open_files(
    disk: &dyn Disk,
    data: &Path,
    log: LogId,
) -> Result<SegmentFiles, DiskError> {
    let dir = layout::log_dir(data, log);
    let files = SegmentFiles::new(log);
    for number in replay::segments(disk, &dir)? {
        let file = disk.open(&layout::segment_path(&dir, number), OpenMode::Read)?;
        files.insert(number, file);
    }
    Ok(files)
}

/// Remove the logs that were taken over, what earlier removals left, and empty directories. What is
/// in them besides segments goes to the main log's directory.
pub(super) fn remove(
    disk: &dyn Disk,
    data: &Path,
    main: LogId,
    others: &[Other],
    logs: &Logs,
) -> Result<(), DiskError> {
    let all = layout::logs_dir(data);
    for dir in &logs.taken {
        rewrite::clear(disk, dir)?;
    }
    for other in others {
        let dir = layout::log_dir(data, other.log);
        keep_rest(disk, &layout::log_dir(data, main), &dir, other)?;
        let taken = layout::taken_dir(data, other.log);
        disk.rename(&dir, &taken)?;
        disk.sync_dir(&all)?;
        rewrite::clear(disk, &taken)?;
    }
    for log in logs.empty.iter().filter(|log| **log != main) {
        let dir = layout::log_dir(data, *log);
        let names = disk.list(&dir)?;
        if names.iter().all(|name| *name == layout::SPARE) {
            rewrite::clear(disk, &dir)?;
        } else {
            tracing::warn!(dir = %dir.display(), "a log's directory without a segment is left alone");
        }
    }
    for path in &logs.stray {
        tracing::warn!(path = %path.display(), "this is no log, and is left alone");
    }
    disk.sync_dir(&all)
}

/// Keep what a log's directory holds besides its records: what was cut from it, now and earlier.
fn keep_rest(disk: &dyn Disk, to: &Path, from: &Path, other: &Other) -> Result<(), DiskError> {
    let kept = |name: &str| -> PathBuf { to.join(format!("{}-{name}", other.log)) };
    if let Some(last) = &other.read.last
        && !last.tail().is_empty()
        && last.is_cut()
    {
        let torn = layout::torn_path(from, last.number, last.end.offset as u64);
        let name = torn.file_name().unwrap_or_default().to_string_lossy();
        let copy = disk.open(&kept(&name), OpenMode::Replace)?;
        copy.write_at(0, last.tail())?;
        copy.sync()?;
    }
    for name in disk.list(from)? {
        if layout::segment_number(&name).is_none() && name != layout::SPARE {
            disk.rename(&from.join(&name), &kept(&name))?;
        }
    }
    disk.sync_dir(to)?;
    disk.sync_dir(from)
}
