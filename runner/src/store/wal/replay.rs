//! Reading a log from disk, segment by segment, for the open and for the check.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use sandhog_model::{
    Record, RecordAt, Slim,
    recover::{End, Ending, Expected, Scan},
};

use super::layout::{self, LogId};
use crate::{
    disk::{Disk, DiskError, OpenMode, read_all},
    store::frames,
};

/// A segment that was read.
pub(super) struct Segment {
    pub(super) number: u32,
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    pub(super) end: End,
    pub(super) records: u64,
    pub(super) last: bool,
}

/// A sound record, told while its segment is read.
pub(super) struct Told<'a> {
    pub(super) path: &'a Path,
    pub(super) segment: u32,
    pub(super) offset: u64,
    pub(super) sequence: u64,
    pub(super) frame_bytes: u64,
    body: &'a [u8],
}

impl<'a> Told<'a> {
    pub(super) fn at(&self) -> RecordAt {
        layout::place(self.segment, self.offset)
    }

    /// As much of it as the ledger needs.
    pub(super) fn slim(&self) -> Result<Slim<'a>, String> {
        frames::decode_slim(self.body)
    }

    /// All of it.
    pub(super) fn record(&self) -> Result<Record, String> {
        frames::decode_record(self.body)
    }
}

/// A place where reading has to end.
#[derive(Debug, Clone)]
pub(super) struct Damage {
    pub(super) path: PathBuf,
    pub(super) offset: u64,
    pub(super) why: String,
}

/// Why a log was not read to its end.
pub(super) enum Stopped {
    Disk(DiskError),
    Damage(Damage),
}

impl From<DiskError> for Stopped {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

/// The logs in a data directory, those without a segment left out.
pub(super) fn logs(disk: &dyn Disk, data: &Path) -> Result<Vec<LogId>, DiskError> {
    let mut logs = Vec::new();
    for log in named_logs(disk, data)? {
        if !segments(disk, &layout::log_dir(data, log))?.is_empty() {
            logs.push(log);
        }
    }
    Ok(logs)
}

/// The directories named like a log.
pub(super) fn named_logs(disk: &dyn Disk, data: &Path) -> Result<Vec<LogId>, DiskError> {
    let dir = layout::logs_dir(data);
    if !disk.exists(&dir)? {
        return Ok(Vec::new());
    }
    let names = disk.list(&dir)?;
    Ok(names.iter().filter_map(|name| LogId::parse(name)).collect())
}

/// The numbers of a log's segments, in their order.
pub(super) fn segments(disk: &dyn Disk, dir: &Path) -> Result<Vec<u32>, DiskError> {
    let names = disk.list(dir)?;
    Ok(names
        .iter()
        .filter_map(|name| layout::segment_number(name))
        .collect())
}

/// Read a log. `tell` hears every sound record and says whether it fits; `read` hears every segment
/// after its records.
pub(super) fn replay(
    disk: &dyn Disk,
    data: &Path,
    log: LogId,
    mut tell: impl FnMut(Told<'_>) -> Result<ControlFlow<()>, String>,
    mut read: impl FnMut(Segment) -> Result<(), Stopped>,
) -> Result<(), Stopped> {
    let dir = layout::log_dir(data, log);
    let numbers = segments(disk, &dir)?;
    let mut first_sequence = Some(1);
    for (at, number) in numbers.iter().enumerate() {
        let path = layout::segment_path(&dir, *number);
        let bytes = read_all(&*disk.open(&path, OpenMode::Read)?)?;
        let last = at + 1 == numbers.len();
        let expected = Expected {
            log: Some(log.0),
            segment: u64::from(*number),
            first_sequence,
            last,
        };
        let mut scan = Scan::new(&bytes, expected);
        let mut records = 0;
        for found in scan.by_ref() {
            let damage = |why| {
                Stopped::Damage(Damage {
                    path: path.clone(),
                    offset: found.offset as u64,
                    why,
                })
            };
            let told = Told {
                path: &path,
                segment: *number,
                offset: found.offset as u64,
                sequence: found.head.sequence,
                frame_bytes: frames::framed_len(found.body.len()) as u64,
                body: found.body,
            };
            records += 1;
            if tell(told).map_err(damage)?.is_break() {
                return Ok(());
            }
        }
        let end = scan.finish();
        first_sequence = Some(end.next_sequence);
        read(Segment {
            number: *number,
            path,
            bytes,
            end,
            records,
            last,
        })?;
    }
    Ok(())
}

impl Segment {
    /// What the table refuses here.
    pub(super) fn refused(&self) -> Option<Damage> {
        match self.end.ending {
            Ending::Clean | Ending::Cut { .. } => None,
            Ending::Refused(refusal) => Some(Damage {
                path: self.path.clone(),
                offset: self.end.offset as u64,
                why: refusal.to_string(),
            }),
        }
    }

    /// The bytes after the last sound frame, up to the last that is no zero.
    pub(super) fn tail(&self) -> &[u8] {
        let rest = &self.bytes[self.end.offset.min(self.bytes.len())..];
        let used = rest.iter().rposition(|byte| *byte != 0);
        &rest[..used.map_or(0, |last| last + 1)]
    }
}
