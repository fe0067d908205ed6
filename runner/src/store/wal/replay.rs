//! Reading a log from disk, segment by segment, for the open and for the check.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::mpsc::{channel, sync_channel},
};

use sandhog_model::{
    Record, RecordAt, Slim,
    codec::{FORMAT, HeaderVerdict, SegmentHeader},
    recover::{Arriving, End, Ending, Expected, Found},
};

use super::{
    layout::{self, LogId},
    run::Run,
    segments::LastSegment,
};
use crate::{
    disk::{Disk, DiskError, DiskFile, read_pieces},
    store::frames,
};

/// A segment that was read.
pub(super) struct Segment {
    pub(super) number: u32,
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    pub(super) end: End,
    pub(super) records: u64,
}

/// A sound record, told while its segment is read.
pub(super) struct Told<'a> {
    pub(super) path: &'a Path,
    pub(super) segment: u32,
    pub(super) offset: u64,
    pub(super) sequence: u64,
    pub(super) frame_bytes: u64,
    body: &'a [u8],
    /// What the ledger needs of the body.
    slim: &'a [u8],
}

impl Told<'_> {
    pub(super) fn at(&self) -> RecordAt {
        layout::place(self.segment, self.offset)
    }

    /// Hand on as much of it as the ledger needs.
    #[inline]
    pub(super) fn with_slim<T>(&self, to: impl FnOnce(&Slim<'_>) -> T) -> Result<T, String> {
        frames::with_slim(self.slim, to)
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

/// Where segments are read and checksummed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// Between the records told.
    Here,
    /// On a thread of its own, while those of the segment before are told.
    Ahead,
}

/// Bytes read at once: as many as lie near a processor while they are checksummed.
const PIECE: usize = 512 << 10;

/// A segment that was scanned.
struct Scanned {
    room: Room,
    end: End,
}

/// A segment's bytes and what lies in them. What one was read into is used again for the next.
#[derive(Default)]
struct Room {
    bytes: Vec<u8>,
    frames: Vec<Sound>,
    /// What the ledger needs of each frame's body, one behind the other. It is gathered where the bytes were
    /// just checksummed: whoever tells the records would have to wait for memory at each of them.
    slims: Vec<u8>,
}

/// A sound frame.
struct Sound {
    offset: usize,
    sequence: u64,
    body: usize,
    /// Bytes of it among the slims.
    slim: usize,
}

impl Room {
    fn take(&mut self, found: Found<'_>) {
        let slim = frames::slim_part(found.body);
        self.slims.extend_from_slice(slim);
        self.frames.push(Sound {
            offset: found.offset,
            sequence: found.head.sequence,
            body: found.body.len(),
            slim: slim.len(),
        });
    }
}

/// Read a log's segments. `tell` hears every sound record and says whether it fits; `read` hears every segment
/// after its records. Gives the last segment, unless `tell` ended it before.
pub(super) fn replay(
    run: &Run,
    log: LogId,
    reads: Reads,
    mut tell: impl FnMut(Told<'_>) -> Result<ControlFlow<()>, String>,
    mut read: impl FnMut(&Segment) -> Result<(), Stopped>,
) -> Result<Option<Segment>, Stopped> {
    if reads == Reads::Here || run.segments.len() < 2 {
        let mut scans = Scans::new(run, log);
        return hear(run, &mut tell, &mut read, |used| {
            scans.next(used.unwrap_or_default())
        });
    }
    std::thread::scope(|scope| {
        // One segment is told while one is read; what the one before was read into is used again.
        let (to, scanned) = sync_channel::<Result<Scanned, DiskError>>(0);
        let (back, rooms) = channel::<Room>();
        scope.spawn(move || {
            let mut scans = Scans::new(run, log);
            while let Some(next) = scans.next(rooms.try_recv().unwrap_or_default()) {
                let failed = next.is_err();
                if to.send(next).is_err() || failed {
                    return;
                }
            }
        });
        hear(run, &mut tell, &mut read, move |used| {
            if let Some(used) = used {
                // Nobody needs it any more when the thread is through.
                let _ = back.send(used);
            }
            scanned.recv().ok()
        })
    })
}

/// The segments of a log, read one after the other.
struct Scans<'a> {
    run: &'a Run,
    log: LogId,
    at: usize,
    first_sequence: Option<u64>,
}

impl<'a> Scans<'a> {
    fn new(run: &'a Run, log: LogId) -> Self {
        Self {
            run,
            log,
            at: 0,
            first_sequence: run.first_sequence(),
        }
    }

    fn next(&mut self, room: Room) -> Option<Result<Scanned, DiskError>> {
        let (number, file) = self.run.segments.get(self.at)?;
        self.at += 1;
        let expected = Expected {
            log: Some(self.log.0),
            segment: u64::from(*number),
            first_sequence: self.first_sequence,
            last: self.at == self.run.segments.len(),
        };
        let scanned = scan(&**file, expected, room);
        if let Ok(Scanned { end, .. }) = &scanned {
            self.first_sequence = Some(end.next_sequence);
        }
        Some(scanned)
    }
}

/// Read a segment. Each piece is scanned before the next one is read.
fn scan(file: &dyn DiskFile, expected: Expected, mut room: Room) -> Result<Scanned, DiskError> {
    room.frames.clear();
    room.slims.clear();
    let mut bytes = std::mem::take(&mut room.bytes);
    let mut arriving = Arriving::new(expected);
    read_pieces(file, &mut bytes, PIECE, |so_far| {
        arriving.more(so_far, |found| room.take(found));
    })?;
    let end = arriving.end(&bytes, |found| room.take(found));
    room.bytes = bytes;
    Ok(Scanned { room, end })
}

/// Tell the records of every segment that `next` gives. It gets back what the last one was read into.
fn hear(
    run: &Run,
    tell: &mut impl FnMut(Told<'_>) -> Result<ControlFlow<()>, String>,
    read: &mut impl FnMut(&Segment) -> Result<(), Stopped>,
    mut next: impl FnMut(Option<Room>) -> Option<Result<Scanned, DiskError>>,
) -> Result<Option<Segment>, Stopped> {
    let mut used = None;
    for (at, (number, file)) in run.segments.iter().enumerate() {
        let Some(scanned) = next(used.take()) else {
            unreachable!("every segment is read, or the reading failed");
        };
        let Scanned { room, end } = scanned?;
        let path = file.path().to_path_buf();
        let mut slims = room.slims.as_slice();
        for found in &room.frames {
            let damage = |why| {
                Stopped::Damage(Damage {
                    path: path.clone(),
                    offset: found.offset as u64,
                    why,
                })
            };
            let body = found.offset + frames::framed_len(0);
            let (slim, rest) = slims.split_at(found.slim);
            slims = rest;
            let told = Told {
                path: &path,
                segment: *number,
                offset: found.offset as u64,
                sequence: found.sequence,
                frame_bytes: frames::framed_len(found.body) as u64,
                body: &room.bytes[body..body + found.body],
                slim,
            };
            if tell(told).map_err(damage)?.is_break() {
                return Ok(None);
            }
        }
        let last = at + 1 == run.segments.len();
        let segment = Segment {
            number: *number,
            path,
            end,
            records: room.frames.len() as u64,
            bytes: room.bytes,
        };
        read(&segment)?;
        if last {
            return Ok(Some(segment));
        }
        used = Some(Room {
            bytes: segment.bytes,
            frames: room.frames,
            slims: room.slims,
        });
    }
    Ok(None)
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
