//! What lies in `logs/`: logs, what a take-over left behind, and what is in the wrong place.

use std::path::{Path, PathBuf};

use sandhog_model::codec::{HeaderVerdict, SEGMENT_HEADER_BYTES, SegmentHeader};

use super::layout::{self, LogId};
use crate::disk::{Disk, DiskError, OpenMode};

/// What the directory holds.
#[derive(Debug, Default)]
pub(super) struct Logs {
    /// Logs with segments, by id.
    pub(super) used: Vec<LogId>,
    /// Directories named like a log, without a segment.
    pub(super) empty: Vec<LogId>,
    /// Logs that were taken over and not yet removed to their end.
    pub(super) taken: Vec<PathBuf>,
    /// What is no log, and left alone.
    pub(super) stray: Vec<PathBuf>,
}

/// A log that is not where its segments say, so that nobody can tell whether it counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} holds segments of the log {log}, which is not its name: {}; nothing was changed",
    path.display(),
    if *.is_copy { "that log is there too, so move this copy out of `logs`" }
    else { "give it that name, or move it out of `logs`" }
)]
pub struct Misplaced {
    /// The directory.
    pub path: PathBuf,
    /// The log's id, as its segments have it.
    pub log: String,
    /// Whether a directory of that name is there as well.
    pub is_copy: bool,
}

/// Why the directory cannot be looked through.
pub(super) enum LookError {
    Disk(DiskError),
    Misplaced(Misplaced),
}

impl From<DiskError> for LookError {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

/// Look through `logs/` of a data directory. One that is not there holds nothing.
pub(super) fn look(disk: &dyn Disk, data: &Path) -> Result<Logs, LookError> {
    let mut logs = Logs::default();
    let dir = layout::logs_dir(data);
    if !disk.exists(&dir)? {
        return Ok(logs);
    }
    for name in disk.list(&dir)? {
        let path = dir.join(&name);
        let Some(numbers) = segments_in(disk, &path)? else {
            logs.stray.push(path);
            continue;
        };
        let log = LogId::parse(&name);
        if layout::taken_log(&name).is_some() {
            logs.taken.push(path);
        } else if let Some(foreign) = foreign(disk, &path, log, &numbers)? {
            return Err(LookError::Misplaced(Misplaced {
                is_copy: disk.exists(&layout::log_dir(data, foreign))?,
                log: foreign.to_string(),
                path,
            }));
        } else if let Some(log) = log {
            let list = match numbers[..] {
                [] => &mut logs.empty,
                [_, ..] => &mut logs.used,
            };
            list.push(log);
        } else {
            logs.stray.push(path);
        }
    }
    Ok(logs)
}

/// The numbers of the segments in a directory; `None` when it is a file.
fn segments_in(disk: &dyn Disk, path: &Path) -> Result<Option<Vec<u32>>, DiskError> {
    match disk.list(path) {
        Ok(names) => Ok(Some(
            names
                .iter()
                .filter_map(|name| layout::segment_number(name))
                .collect(),
        )),
        Err(error) if error.is_missing() || error.kind == std::io::ErrorKind::NotADirectory => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The log that a directory's segments belong to, when it is not the one the directory is named by.
/// One segment among others that is another log's is damage in it, and no reason to take it for
/// that log.
fn foreign(
    disk: &dyn Disk,
    dir: &Path,
    named: Option<LogId>,
    numbers: &[u32],
) -> Result<Option<LogId>, DiskError> {
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
        return Ok(None);
    };
    let found = owner(disk, &layout::segment_path(dir, *first))?;
    if found.is_none() || found == named {
        return Ok(None);
    }
    let same = found == owner(disk, &layout::segment_path(dir, *last))?;
    Ok(found.filter(|_| same))
}

/// The log that a segment's header names.
fn owner(disk: &dyn Disk, path: &Path) -> Result<Option<LogId>, DiskError> {
    let mut header = [0; SEGMENT_HEADER_BYTES];
    let filled = disk.open(path, OpenMode::Read)?.read_at(0, &mut header)?;
    Ok(match SegmentHeader::decode(&header[..filled]) {
        HeaderVerdict::Good(header) => Some(LogId(header.log)),
        HeaderVerdict::Newer { .. } | HeaderVerdict::Unfinished | HeaderVerdict::Damaged { .. } => {
            None
        }
    })
}
