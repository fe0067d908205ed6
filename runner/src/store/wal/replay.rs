//! Reading a log from disk, segment by segment, for the open and for the check.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use sandhog_model::{
    Record, RecordAt,
    codec::{FORMAT, HeaderVerdict, Reading, SegmentHeader},
    recover::{End, Ending, Expected, Scan},
};

use super::{
    layout::{self, LogId},
    run::Run,
    segments::LastSegment,
};
use crate::{
    disk::{Disk, DiskError, read_all},
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
    pub(super) fn slim(&self) -> Result<Reading<'a>, String> {
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

/// The numbers of a log's segments, in their order.
pub(super) fn segments(disk: &dyn Disk, dir: &Path) -> Result<Vec<u32>, DiskError> {
    let names = disk.list(dir)?;
    Ok(names
        .iter()
        .filter_map(|name| layout::segment_number(name))
        .collect())
}

/// Read a log's segments. `tell` hears every sound record and says whether it fits; `read` hears every segment
/// after its records.
pub(super) fn replay(
    run: &Run,
    log: LogId,
    mut tell: impl FnMut(Told<'_>) -> Result<ControlFlow<()>, String>,
    mut read: impl FnMut(Segment) -> Result<(), Stopped>,
) -> Result<(), Stopped> {
    let mut first_sequence = run.first_sequence();
    for (at, (number, file)) in run.segments.iter().enumerate() {
        let path = file.path().to_path_buf();
        let bytes = read_all(&**file)?;
        let last = at + 1 == run.segments.len();
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

    /// Where the next frame goes, in this segment or the next.
    pub(super) fn end_of_use(&self) -> LastSegment {
        let header = SegmentHeader::decode(&self.bytes);
        LastSegment {
            number: self.number,
            end: self.end.offset as u64,
            is_older: matches!(header, HeaderVerdict::Good(header) if header.format < FORMAT),
        }
    }

    /// Whether its end was never acknowledged and is to be cut.
    pub(super) fn is_cut(&self) -> bool {
        match self.end.ending {
            Ending::Cut { .. } => true,
            Ending::Clean | Ending::Refused(_) => false,
        }
    }

    /// The bytes after the last sound frame, up to the last that is no zero.
    pub(super) fn tail(&self) -> &[u8] {
        let rest = &self.bytes[self.end.offset.min(self.bytes.len())..];
        let used = rest.iter().rposition(|byte| *byte != 0);
        &rest[..used.map_or(0, |last| last + 1)]
    }
}
