//! Reading a log from disk, segment by segment, for the open and for the check.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::mpsc::channel,
};

use sandhog_model::{
    Record, RecordAt,
    codec::FORMAT,
    recover::{End, Ending},
};

use super::{
    layout::{self, LogId},
    parts::{Ended, Part, Parts},
    run::Run,
    segments::LastSegment,
};
use crate::{
    disk::{Disk, DiskError},
    store::frames,
};

/// A segment that was read.
pub(super) struct Segment {
    pub(super) number: u32,
    pub(super) path: PathBuf,
    /// Bytes of its file.
    pub(super) length: u64,
    pub(super) end: End,
    pub(super) records: u64,
    /// What lies behind the last sound frame, when that is not as it should be.
    pub(super) rest: Vec<u8>,
}

/// A sound record, told while its segment is read.
pub(super) struct Told<'a> {
    pub(super) path: &'a Path,
    pub(super) segment: u32,
    pub(super) offset: u64,
    pub(super) sequence: u64,
    pub(super) frame_bytes: u64,
    /// Its body, whole or as much as the ledger needs.
    pub(super) body: &'a [u8],
}

impl Told<'_> {
    pub(super) fn at(&self) -> RecordAt {
        layout::place(self.segment, self.offset)
    }

    /// All of it.
    ///
    /// # Errors
    /// It is no record, or was not read [whole](Reads::Whole).
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

/// How segments are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// With all that their records say.
    Whole,
    /// With as much of each record as the ledger needs.
    Heads,
    /// The same on a thread of its own, some pieces ahead of those that are told.
    HeadsAhead,
}

/// Parts there are while one thread reads and another tells.
const PARTS: usize = 6;

/// Read a log's segments. `tell` hears every sound record and says whether it fits; `read` hears every segment
/// after its records. Gives the last segment, unless `tell` ended it before.
pub(super) fn replay(
    run: &Run,
    log: LogId,
    reads: Reads,
    tell: impl FnMut(Told<'_>) -> Result<ControlFlow<()>, String>,
    read: impl FnMut(&Segment) -> Result<(), Stopped>,
) -> Result<Option<Segment>, Stopped> {
    let mut parts = Parts::new(run, log, reads == Reads::Whole);
    if reads != Reads::HeadsAhead {
        return hear(run, tell, read, |used| parts.next(used.unwrap_or_default()));
    }
    std::thread::scope(|scope| {
        let (to, ready) = channel::<Result<Part, DiskError>>();
        let (back, free) = channel::<Part>();
        // All memory comes from this thread: what another one took stays with it for a while after its end.
        for _ in 0..PARTS {
            let _ = back.send(Part::roomy());
        }
        scope.spawn(move || {
            for part in free {
                let Some(part) = parts.next(part) else {
                    return;
                };
                let failed = part.is_err();
                if to.send(part).is_err() || failed {
                    return;
                }
            }
        });
        hear(run, tell, read, move |used| {
            // Nobody needs it any more when the thread is through.
            used.and_then(|used| back.send(used).ok());
            ready.recv().ok()
        })
    })
}

/// Tell the records of every part that `next` gives. It gets back what nobody needs any more.
fn hear(
    run: &Run,
    mut tell: impl FnMut(Told<'_>) -> Result<ControlFlow<()>, String>,
    mut read: impl FnMut(&Segment) -> Result<(), Stopped>,
    mut next: impl FnMut(Option<Part>) -> Option<Result<Part, DiskError>>,
) -> Result<Option<Segment>, Stopped> {
    let mut used = None;
    let mut last = None;
    for (number, file) in &run.segments {
        let mut hearing = Hearing {
            path: file.path(),
            number: *number,
            records: 0,
        };
        let segment = loop {
            let Some(part) = next(used.take()) else {
                unreachable!("every segment is read, or the reading failed");
            };
            let part = used.insert(part?);
            if hearing.part(part, &mut tell)?.is_break() {
                return Ok(None);
            }
            if let Some(ended) = part.end.take() {
                break hearing.end(ended);
            }
        };
        read(&segment)?;
        last = Some(segment);
    }
    Ok(last)
}

/// A segment while its records are told.
struct Hearing<'a> {
    path: &'a Path,
    number: u32,
    records: u64,
}

impl Hearing<'_> {
    fn part(
        &mut self,
        part: &Part,
        tell: &mut impl FnMut(Told<'_>) -> Result<ControlFlow<()>, String>,
    ) -> Result<ControlFlow<()>, Stopped> {
        self.records += part.frames.len() as u64;
        let mut bodies = part.bodies.as_slice();
        for found in &part.frames {
            let (body, behind) = bodies.split_at(found.kept as usize);
            bodies = behind;
            let offset = u64::from(found.offset);
            let told = Told {
                path: self.path,
                segment: self.number,
                offset,
                sequence: found.sequence,
                frame_bytes: frames::framed_len(found.length as usize) as u64,
                body,
            };
            let damage = |why| {
                Stopped::Damage(Damage {
                    path: self.path.to_path_buf(),
                    offset,
                    why,
                })
            };
            if tell(told).map_err(damage)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn end(self, Ended { length, end, rest }: Ended) -> Segment {
        Segment {
            number: self.number,
            path: self.path.to_path_buf(),
            length,
            end,
            records: self.records,
            rest,
        }
    }
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
        LastSegment {
            number: self.number,
            end: self.end.offset as u64,
            is_older: self.end.header.is_some_and(|header| header.format < FORMAT),
        }
    }

    /// Whether its end was never acknowledged and is to be cut.
    pub(super) fn is_cut(&self) -> bool {
        match self.end.ending {
            Ending::Cut { .. } => true,
            Ending::Clean | Ending::Refused(_) => false,
        }
    }

    /// What is not as it should be behind the last sound frame, up to the last byte that is no zero.
    pub(super) fn tail(&self) -> &[u8] {
        let used = self.rest.iter().rposition(|byte| *byte != 0);
        &self.rest[..used.map_or(0, |last| last + 1)]
    }
}
