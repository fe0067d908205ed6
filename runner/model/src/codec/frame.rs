//! One frame: a length, a place in the order, a checksum, and a body.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 4 | length of the body, 1 to 16 MiB |
//! | 4 | 8 | sequence: one more than that of the frame before |
//! | 12 | 4 | unsynced: frames right before this one that no completed sync covered when it was written |
//! | 16 | 4 | CRC-32 over log id, segment number, length, sequence, unsynced and body |
//! | 20 | | body |
//!
//! Zeros never are a frame: their length is 0. A frame of another log or segment, left in a recycled
//! file or copied there, fails the checksum. `unsynced` tells a batch that power loss tore in any
//! order from damage to what had been acknowledged: a later frame that was written when a broken one
//! was already synced proves the latter.

use alloc::vec::Vec;
use core::fmt;

use crc32fast::Hasher;

use super::segment::{SegmentHeader, array};
use crate::limits::BODY_BYTES;

/// Bytes before a frame's body.
pub const FRAME_HEADER_BYTES: usize = 20;

/// What ties frames to their segment: the checksum's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal(u32);

/// A frame's place in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    /// One more than that of the frame before, over all segments.
    pub sequence: u64,
    /// How many frames right before this one no completed sync covered when it was written: 0 for
    /// the first after a sync, 1 for the next, and so on.
    pub unsynced: u32,
}

/// What some bytes begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// A frame.
    Record {
        /// Its place in the order.
        head: FrameHead,
        /// Its body.
        body: &'a [u8],
        /// Bytes of the whole frame; the next one begins there.
        length: usize,
    },
    /// The beginning of a frame, or nothing at all.
    Incomplete,
    /// No frame.
    Corrupt {
        /// What is wrong, for a person.
        why: &'static str,
    },
}

/// A body that no frame holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// Its length in bytes.
    pub length: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.length;
        write!(
            f,
            "a record of {length} bytes: 1 to {BODY_BYTES} fit in a frame"
        )
    }
}

impl core::error::Error for TooLong {}

impl Seal {
    /// The seal of a segment.
    #[must_use]
    pub fn new(log: u128, segment: u64) -> Self {
        let mut hasher = Hasher::new();
        hasher.update(&log.to_le_bytes());
        hasher.update(&segment.to_le_bytes());
        Self(hasher.finalize())
    }

    /// Append a frame to `out`.
    ///
    /// # Errors
    /// The body is empty or longer than 16 MiB; `out` is unchanged.
    pub fn encode(self, head: FrameHead, body: &[u8], out: &mut Vec<u8>) -> Result<(), TooLong> {
        let fits = !body.is_empty() && body.len() <= BODY_BYTES;
        let length = u32::try_from(body.len()).ok().filter(|_| fits);
        let length = length.ok_or(TooLong { length: body.len() })?;
        let mut start = [0; 16];
        start[..4].copy_from_slice(&length.to_le_bytes());
        start[4..12].copy_from_slice(&head.sequence.to_le_bytes());
        start[12..].copy_from_slice(&head.unsynced.to_le_bytes());
        out.reserve(FRAME_HEADER_BYTES + body.len());
        out.extend_from_slice(&start);
        out.extend_from_slice(&self.checksum(&start, body).to_le_bytes());
        out.extend_from_slice(body);
        Ok(())
    }

    /// What `bytes` begin with.
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> Decoded<'_> {
        let (length, head) = match announced(bytes) {
            Ok(announced) => announced,
            Err(other) => return other,
        };
        let end = FRAME_HEADER_BYTES + length;
        let Some(body) = bytes.get(FRAME_HEADER_BYTES..end) else {
            return Decoded::Incomplete;
        };
        if self.checksum(&bytes[..16], body) != u32::from_le_bytes(array(bytes, 16)) {
            return Decoded::Corrupt {
                why: "the checksum does not match",
            };
        }
        Decoded::Record {
            head,
            body,
            length: end,
        }
    }

    fn checksum(self, start: &[u8], body: &[u8]) -> u32 {
        let mut hasher = Hasher::new_with_initial(self.0);
        hasher.update(start);
        hasher.update(body);
        hasher.finalize()
    }
}

impl From<&SegmentHeader> for Seal {
    fn from(header: &SegmentHeader) -> Self {
        Self::new(header.log, header.segment)
    }
}

/// The length and place that a frame's first bytes announce, not checked against its checksum.
pub(crate) fn announced(bytes: &[u8]) -> Result<(usize, FrameHead), Decoded<'_>> {
    let corrupt = |why| Err(Decoded::Corrupt { why });
    let Some(first) = bytes.get(..4) else {
        return Err(Decoded::Incomplete);
    };
    let length = match usize::try_from(u32::from_le_bytes(array(first, 0))) {
        Ok(0) => return corrupt("the length is 0"),
        Ok(length) if length <= BODY_BYTES => length,
        Ok(_) | Err(_) => return corrupt("the length is over 16 MiB"),
    };
    if bytes.len() < FRAME_HEADER_BYTES {
        return Err(Decoded::Incomplete);
    }
    let head = FrameHead {
        sequence: u64::from_le_bytes(array(bytes, 4)),
        unsynced: u32::from_le_bytes(array(bytes, 12)),
    };
    Ok((length, head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const HEAD: FrameHead = FrameHead {
        sequence: 7,
        unsynced: 2,
    };

    fn frame() -> Vec<u8> {
        let mut bytes = Vec::new();
        Seal::new(1, 1).encode(HEAD, b"body", &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_frame_reads_back_and_says_where_the_next_begins() {
        let mut bytes = frame();
        let length = bytes.len();
        bytes.extend_from_slice(b"more");
        let body: &[u8] = b"body";
        let head = HEAD;
        assert_eq!(
            Seal::new(1, 1).decode(&bytes),
            Decoded::Record { head, body, length }
        );
    }

    #[test]
    fn a_cut_frame_is_incomplete_at_every_length() {
        let bytes = frame();
        for cut in 0..bytes.len() {
            assert_eq!(Seal::new(1, 1).decode(&bytes[..cut]), Decoded::Incomplete);
        }
    }

    #[test]
    fn no_flipped_bit_goes_unseen() {
        let bytes = frame();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let decoded = Seal::new(1, 1).decode(&flipped);
            assert!(!matches!(decoded, Decoded::Record { .. }), "bit {bit}");
        }
    }

    #[test]
    fn frames_of_another_log_or_segment_are_refused() {
        let bytes = frame();
        for seal in [Seal::new(1, 2), Seal::new(2, 1)] {
            let why = "the checksum does not match";
            assert_eq!(seal.decode(&bytes), Decoded::Corrupt { why });
        }
    }

    #[test]
    fn zeros_and_wild_lengths_are_no_frame_and_allocate_nothing() {
        let why = "the length is 0";
        assert_eq!(Seal::new(1, 1).decode(&[0; 64]), Decoded::Corrupt { why });
        let why = "the length is over 16 MiB";
        for length in [BODY_BYTES as u32 + 1, 0x7FFF_FFFF, u32::MAX] {
            let mut bytes = length.to_le_bytes().to_vec();
            bytes.resize(64, 1);
            assert_eq!(Seal::new(1, 1).decode(&bytes), Decoded::Corrupt { why });
        }
    }

    #[test]
    fn a_body_that_fits_in_no_frame_is_refused_and_leaves_nothing_behind() {
        let mut out = vec![1, 2, 3];
        for length in [0, BODY_BYTES + 1] {
            let refused = Seal::new(1, 1).encode(HEAD, &vec![0; length], &mut out);
            assert_eq!(refused, Err(TooLong { length }));
        }
        assert_eq!(out, [1, 2, 3]);
        assert!(
            Seal::new(1, 1)
                .encode(HEAD, &vec![0; BODY_BYTES], &mut out)
                .is_ok()
        );
    }
}
