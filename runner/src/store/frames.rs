//! Frames as the log and the dead letters use them: the model's codec with sequences and the synced
//! mark spelled out.

use sandhog_model::{
    Job, Record, Slim,
    codec::{
        self, Decoded, FORMAT, FRAME_HEADER_BYTES, FrameHead, HeaderVerdict, SEGMENT_HEADER_BYTES,
        Seal, SegmentHeader, decode_record as decode, encode_record, with_slim as slim,
    },
};
use serde::Serialize;

use super::wal::layout::LogId;

pub(super) const SEGMENT_HEADER: usize = SEGMENT_HEADER_BYTES;

pub(super) type Seed = Seal;

/// A sound frame.
pub(super) struct Frame<'a> {
    pub(super) sequence: u64,
    /// The first sequence that no completed sync covered when the frame was written.
    pub(super) unsynced_from: u64,
    pub(super) body: &'a [u8],
    /// Bytes of the whole frame.
    pub(super) len: usize,
}

/// What some bytes begin with.
pub(super) enum First<'a> {
    Frame(Frame<'a>),
    /// The beginning of a frame of which this many bytes are needed.
    Short {
        need: usize,
    },
    /// Zeros, or nothing at all.
    Empty,
    Corrupt(&'static str),
}

pub(super) fn seed(log: LogId, segment: u32) -> Seed {
    Seal::new(log.0, u64::from(segment))
}

pub(super) fn segment_header(
    log: LogId,
    segment: u32,
    first_sequence: u64,
) -> [u8; SEGMENT_HEADER] {
    SegmentHeader {
        format: FORMAT,
        log: log.0,
        segment: u64::from(segment),
        first_sequence,
    }
    .encode()
}

/// Whether `bytes` begin with the header of this segment.
pub(super) fn check_header(bytes: &[u8], log: LogId, segment: u32) -> Result<(), String> {
    match SegmentHeader::decode(bytes) {
        HeaderVerdict::Good(header)
            if header.log == log.0 && header.segment == u64::from(segment) =>
        {
            Ok(())
        }
        HeaderVerdict::Good(_) => Err("its header is that of another file".to_owned()),
        HeaderVerdict::Newer { found } => Err(format!(
            "it has format {found}, written by a newer version: use that one"
        )),
        HeaderVerdict::Unfinished => Err("its header was never written".to_owned()),
        HeaderVerdict::Damaged { why } => Err(why.to_owned()),
    }
}

/// Bytes of a frame around a body of `body` bytes.
pub(super) fn framed_len(body: usize) -> usize {
    FRAME_HEADER_BYTES + body
}

/// Append a frame.
///
/// # Panics
/// The body does not fit in a frame; whoever encodes one checks that first.
pub(super) fn put(out: &mut Vec<u8>, seed: Seed, sequence: u64, unsynced_from: u64, body: &[u8]) {
    let head = FrameHead {
        sequence,
        unsynced: u32::try_from(sequence - unsynced_from).unwrap_or(u32::MAX),
    };
    seed.encode(head, body, out)
        .expect("a body is bounded when it is encoded");
}

/// What `bytes` begin with.
pub(super) fn first(bytes: &[u8], seed: Seed) -> First<'_> {
    let header = &bytes[..bytes.len().min(FRAME_HEADER_BYTES)];
    if header.iter().all(|byte| *byte == 0) {
        return First::Empty;
    }
    match seed.decode(bytes) {
        Decoded::Record { head, body, length } => First::Frame(Frame {
            sequence: head.sequence,
            unsynced_from: head.sequence.saturating_sub(u64::from(head.unsynced)),
            body,
            len: length,
        }),
        Decoded::Incomplete => {
            let length = header
                .first_chunk::<4>()
                .map_or(0, |bytes| u32::from_le_bytes(*bytes));
            First::Short {
                need: framed_len(length as usize),
            }
        }
        Decoded::Corrupt { why } => First::Corrupt(why),
    }
}

pub(super) fn decode_record(body: &[u8]) -> Result<Record, String> {
    decode(body).map_err(|bad| bad.to_string())
}

/// As much of a record's body as [`with_slim`] reads.
#[inline]
pub(super) fn slim_part(body: &[u8]) -> &[u8] {
    codec::slim_part(body)
}

/// Hand on what the ledger needs of a record's body.
#[inline]
pub(super) fn with_slim<T>(body: &[u8], to: impl FnOnce(&Slim<'_>) -> T) -> Result<T, String> {
    slim(body, to).map_err(|bad| bad.to_string())
}

/// A record's body.
///
/// # Errors
/// It is larger than a frame may be: the reason, for a person.
pub(super) fn encode(record: &Record, out: &mut Vec<u8>) -> Result<(), String> {
    encode_record(record, out).map_err(|bad| bad.to_string())
}

/// The body of the record that accepts a job, which no other record of it comes before.
///
/// # Errors
/// As [`encode`].
pub(super) fn encode_job(job: &Job) -> Result<Vec<u8>, String> {
    let mut body = Vec::with_capacity(job.weight());
    codec::encode_job(job, &mut body).map_err(|bad| bad.to_string())?;
    Ok(body)
}

/// Any other body, of which the caller checks the length.
pub(super) fn encode_entry<T: Serialize>(entry: &T) -> Vec<u8> {
    rmp_serde::to_vec(entry).expect("letters and tombstones have no map keys or lengths to refuse")
}
