//! Every sound record of a damaged log, also behind damage, and the places where there is none.

use std::path::{Path, PathBuf};

use sandhog_model::{
    Event, Record, RecordAt,
    codec::{FRAME_HEADER_BYTES, HeaderVerdict, SegmentHeader},
    limits::BODY_BYTES,
};
use serde::{Deserialize, Serialize};

use super::{
    layout::{self, LogId},
    replay,
};
use crate::{
    disk::{Disk, DiskError, OpenMode, read_all},
    store::frames,
};

/// How often the bytes of a segment are checksummed, at most, in the search for a frame behind
/// damage. Bytes made to look like many frames could hold the search up for hours otherwise.
const SEARCH_ROUNDS: usize = 16;

/// A place in a log where records are damaged or missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hole {
    /// The segment.
    pub file: PathBuf,
    /// Where it begins.
    pub offset: u64,
    /// Bytes that cannot be used; 0 when records are missing between two that are there.
    pub bytes: u64,
    /// What is wrong.
    pub why: String,
    /// How many records are lost there, when the ones around it tell.
    pub records: Option<u64>,
    /// The segment and the offset, as one.
    #[serde(skip)]
    pub(super) at: RecordAt,
}

/// What a log still holds.
#[derive(Debug, Default)]
pub(super) struct Salvaged {
    /// Sound records.
    pub(super) records: u64,
    /// In their order.
    pub(super) holes: Vec<Hole>,
    /// No record before it is needed.
    pub(super) trimmed: RecordAt,
}

/// Why a log is not salvaged.
#[derive(Debug)]
pub(super) enum Unsalvaged {
    Disk(DiskError),
    /// A segment of a newer format.
    Newer {
        path: PathBuf,
        found: u32,
    },
}

impl From<DiskError> for Unsalvaged {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

/// Where the reading is.
struct Reading {
    log: LogId,
    dir: PathBuf,
    found: Salvaged,
    /// The sequence of the last sound frame, and where it ended.
    last: u64,
    end: (u32, u64),
    /// Holes before this one are behind a sound frame.
    settled_holes: usize,
}

/// Tell every sound record of a log in order.
pub(super) fn salvage(
    disk: &dyn Disk,
    data: &Path,
    log: LogId,
    mut tell: impl FnMut(RecordAt, Record),
) -> Result<Salvaged, Unsalvaged> {
    let dir = layout::log_dir(data, log);
    let numbers = replay::segments(disk, &dir)?;
    let mut reading = Reading {
        log,
        dir: dir.clone(),
        found: Salvaged::default(),
        last: 0,
        end: (numbers.first().map_or(1, |first| *first), 0),
        settled_holes: 0,
    };
    let mut expected = 1;
    for number in numbers {
        for missing in expected..number {
            reading.hole(missing, 0, 0, "the segment is not there");
        }
        expected = number.saturating_add(1);
        let path = layout::segment_path(&dir, number);
        let bytes = read_all(&*disk.open(&path, OpenMode::Read)?)?;
        let header = SegmentHeader::decode(&bytes);
        if let HeaderVerdict::Newer { found } = header {
            return Err(Unsalvaged::Newer { path, found });
        }
        let bad = bad_header(header, log, number);
        reading.segment(number, &bytes, bad, &mut tell);
    }
    let mut found = reading.found;
    found.holes.retain(|hole| hole.at >= found.trimmed);
    Ok(found)
}

fn bad_header(header: HeaderVerdict, log: LogId, number: u32) -> Option<&'static str> {
    match header {
        HeaderVerdict::Good(header)
            if header.log == log.0 && header.segment == u64::from(number) =>
        {
            None
        }
        HeaderVerdict::Good(_) => Some("its header is that of another segment"),
        HeaderVerdict::Unfinished => Some("its header is missing"),
        HeaderVerdict::Damaged { why } => Some(why),
        HeaderVerdict::Newer { .. } => Some("it has a newer format"),
    }
}

impl Reading {
    fn hole(&mut self, segment: u32, offset: usize, bytes: usize, why: &str) {
        self.found.holes.push(Hole {
            file: layout::segment_path(&self.dir, segment),
            offset: offset as u64,
            bytes: bytes as u64,
            why: why.to_owned(),
            records: None,
            at: layout::place(segment, offset as u64),
        });
    }

    fn segment(
        &mut self,
        number: u32,
        bytes: &[u8],
        bad_header: Option<&str>,
        tell: &mut dyn FnMut(RecordAt, Record),
    ) {
        let used = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1);
        let mut at = frames::SEGMENT_HEADER;
        if let Some(why) = bad_header {
            self.hole(number, 0, used.min(at), why);
            at = 0;
        }
        let seed = frames::seed(self.log, number);
        let mut budget = bytes.len().saturating_mul(SEARCH_ROUNDS);
        while at < used {
            let why = match frames::first(&bytes[at..], seed) {
                frames::First::Frame(frame) if frame.sequence > self.last => {
                    let end = at + frame.len;
                    match frames::decode_record(frame.body) {
                        Ok(record) => self.record(number, at, end, frame.sequence, record, tell),
                        Err(why) => self.hole(number, at, frame.len, &why),
                    }
                    at = end;
                    continue;
                }
                frames::First::Frame(_) => "an old record stands where a later one belongs",
                frames::First::Short { .. } => "the record ends after the segment does",
                frames::First::Empty => "zeros where a record was",
                frames::First::Corrupt(why) => why,
            };
            let next = next_frame(bytes, at + 1, seed, self.last, &mut budget).unwrap_or(used);
            // The header that is not one is a hole already.
            if bad_header.is_none() || at > 0 {
                self.hole(number, at, next - at, why);
            } else if let Some(hole) = self.found.holes.last_mut() {
                hole.bytes = next as u64;
            }
            at = next;
        }
    }

    fn record(
        &mut self,
        number: u32,
        at: usize,
        end: usize,
        sequence: u64,
        record: Record,
        tell: &mut dyn FnMut(RecordAt, Record),
    ) {
        let lost = sequence - self.last - 1;
        let is_first = self.found.records == 0 && number > 1;
        if self.found.holes.len() == self.settled_holes && lost > 0 && !is_first {
            let (segment, offset) = self.end;
            self.hole(segment, offset as usize, 0, "records are missing here");
        }
        if self.found.holes.len() > self.settled_holes
            && let Some(hole) = self.found.holes.last_mut()
        {
            hole.records = Some(lost);
        }
        self.settled_holes = self.found.holes.len();
        self.last = sequence;
        self.end = (number, end as u64);
        self.found.records += 1;
        if let Event::Trimmed { before, .. } = &record.event {
            self.found.trimmed = self.found.trimmed.max(*before);
        }
        tell(layout::place(number, at as u64), record);
    }
}

/// Where the next sound frame begins that is later than all before.
fn next_frame(
    bytes: &[u8],
    from: usize,
    seed: frames::Seed,
    last: u64,
    budget: &mut usize,
) -> Option<usize> {
    (from..bytes.len()).find(|at| {
        let rest = &bytes[*at..];
        let (Some(length), Some(sequence)) = (
            rest.first_chunk()
                .map(|bytes| u32::from_le_bytes(*bytes) as usize),
            rest.get(4..12).and_then(|bytes| bytes.first_chunk()),
        ) else {
            return false;
        };
        let is_plausible = (1..=BODY_BYTES).contains(&length)
            && FRAME_HEADER_BYTES + length <= rest.len()
            && u64::from_le_bytes(*sequence) > last;
        if !is_plausible || *budget < length {
            return false;
        }
        *budget -= length;
        matches!(frames::first(rest, seed), frames::First::Frame(_))
    })
}
