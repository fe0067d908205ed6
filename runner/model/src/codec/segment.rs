//! The first bytes of a segment.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | magic `SANDHOG` and a line feed |
//! | 8 | 4 | format version |
//! | 12 | 16 | log id, drawn at random when the log was made |
//! | 28 | 8 | segment number |
//! | 36 | 8 | sequence of the first frame |
//! | 44 | 4 | CRC-32 of the 44 bytes before |
//!
//! Magic and version stay where they are in every format to come. Formats 1 and 2 have records without
//! a head, and format 1 none of the facts `Carried`, `Pruned`, `Trimmed` and `Merged`; they are read,
//! and never appended to.

use crc32fast::Hasher;

/// The version written, and the newest one read.
pub const FORMAT: u32 = 5;
/// Bytes of a segment header.
pub const SEGMENT_HEADER_BYTES: usize = 48;

const MAGIC: [u8; 8] = *b"SANDHOG\n";

/// What a segment says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The version of the format it is written in; [`FORMAT`] in a new one.
    pub format: u32,
    /// The log it belongs to.
    pub log: u128,
    /// Its number in that log.
    pub segment: u64,
    /// The sequence of its first frame.
    pub first_sequence: u64,
}

/// What the first bytes of a segment are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderVerdict {
    /// A header.
    Good(SegmentHeader),
    /// Written by a newer Sandhog.
    Newer {
        /// The format it has.
        found: u32,
    },
    /// Nothing, zeros alone, or the beginning of a header and then nothing: the segment was never
    /// finished.
    Unfinished,
    /// Something else.
    Damaged {
        /// What is wrong, for a person.
        why: &'static str,
    },
}

impl SegmentHeader {
    /// The header's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; SEGMENT_HEADER_BYTES] {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.format.to_le_bytes());
        bytes[12..28].copy_from_slice(&self.log.to_le_bytes());
        bytes[28..36].copy_from_slice(&self.segment.to_le_bytes());
        bytes[36..44].copy_from_slice(&self.first_sequence.to_le_bytes());
        let crc = checksum(&bytes[..44]);
        bytes[44..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Read the header at the beginning of `bytes`, which hold the segment from its start.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> HeaderVerdict {
        let known = bytes.len().min(MAGIC.len());
        let Some(header) = bytes.get(..SEGMENT_HEADER_BYTES) else {
            let begun = bytes[..known] == MAGIC[..known];
            return if begun || bytes.iter().all(|byte| *byte == 0) {
                HeaderVerdict::Unfinished
            } else {
                damaged("it is shorter than a segment header and does not begin like one")
            };
        };
        if header.iter().all(|byte| *byte == 0) {
            return HeaderVerdict::Unfinished;
        }
        if header[..8] != MAGIC {
            return damaged("it does not begin like a segment of a log");
        }
        let format = u32::from_le_bytes(array(header, 8));
        if format > FORMAT {
            return HeaderVerdict::Newer { found: format };
        }
        if checksum(&header[..44]) != u32::from_le_bytes(array(header, 44)) {
            return damaged("the checksum of its header does not match");
        }
        if format == 0 {
            return damaged("its header names format 0, which never was");
        }
        HeaderVerdict::Good(Self {
            format,
            log: u128::from_le_bytes(array(header, 12)),
            segment: u64::from_le_bytes(array(header, 28)),
            first_sequence: u64::from_le_bytes(array(header, 36)),
        })
    }
}

fn damaged(why: &'static str) -> HeaderVerdict {
    HeaderVerdict::Damaged { why }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(bytes);
    hasher.finalize()
}

/// `N` bytes from `at` on, zeros where there are none.
#[inline]
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    if let Some(there) = bytes.get(at..at + N) {
        array.copy_from_slice(there);
    }
    array
}
