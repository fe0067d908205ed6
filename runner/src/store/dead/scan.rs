//! Reading frames past damage: which bytes are entries, which are holes, which a torn tail.

use crate::store::frames::{self, First};

/// Part of the file, in its order.
pub(super) enum Piece<'a> {
    /// A sound frame.
    Frame {
        offset: usize,
        len: usize,
        body: &'a [u8],
    },
    /// Bytes that are no frame, with frames after them.
    Hole {
        offset: usize,
        len: usize,
        why: &'static str,
    },
}

/// What a file holds.
pub(super) struct Scanned<'a> {
    pub(super) pieces: Vec<Piece<'a>>,
    /// Where the next frame goes.
    pub(super) end: usize,
    /// Bytes after `end` that are no zeros.
    pub(super) torn: usize,
    pub(super) last_sequence: u64,
}

struct Found<'a> {
    piece: Piece<'a>,
    sequence: u64,
    /// The first sequence that was not known to be on the device when the frame was written.
    unsynced_from: u64,
}

/// Read all frames from `start`.
///
/// A hole that the frames after it were written together with is no damage: none of them was
/// acknowledged when the power went. Only a frame written after the hole's own sync proves that
/// something was lost.
pub(super) fn scan(bytes: &[u8], start: usize, seed: frames::Seed) -> Scanned<'_> {
    let mut found: Vec<Found<'_>> = Vec::new();
    let mut at = start;
    let mut last_sequence = 0;
    let mut end = start;
    while at < bytes.len() {
        match frame_after(bytes, at, seed, last_sequence) {
            Step::Frame { frame, len } => {
                last_sequence = frame.sequence;
                found.push(Found {
                    piece: Piece::Frame {
                        offset: at,
                        len,
                        body: frame.body,
                    },
                    sequence: frame.sequence,
                    unsynced_from: frame.unsynced_from,
                });
                at += len;
                end = at;
            }
            Step::Hole { len, why } => {
                found.push(Found {
                    piece: Piece::Hole {
                        offset: at,
                        len,
                        why,
                    },
                    sequence: last_sequence + 1,
                    unsynced_from: 0,
                });
                at += len;
            }
            Step::NothingMore => break,
        }
    }
    if let Some((cut, sequence)) = unacknowledged_hole(&found) {
        found.truncate(cut);
        last_sequence = sequence - 1;
        end = found.last().map_or(start, |last| match last.piece {
            Piece::Frame { offset, len, .. } | Piece::Hole { offset, len, .. } => offset + len,
        });
    }
    let torn = bytes[end..]
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    Scanned {
        pieces: found.into_iter().map(|found| found.piece).collect(),
        end,
        torn,
        last_sequence,
    }
}

enum Step<'a> {
    Frame {
        frame: frames::Frame<'a>,
        len: usize,
    },
    Hole {
        len: usize,
        why: &'static str,
    },
    NothingMore,
}

fn frame_after(bytes: &[u8], at: usize, seed: frames::Seed, last: u64) -> Step<'_> {
    let why = match frames::first(&bytes[at..], seed) {
        First::Frame(frame) if frame.sequence > last => {
            let len = frame.len;
            return Step::Frame { frame, len };
        }
        First::Frame(_) => "an entry from before, out of its order",
        First::Short { .. } => "an entry that ends beyond the file",
        First::Empty => "zeros where an entry should be",
        First::Corrupt(why) => why,
    };
    let next = (at + 1..bytes.len()).find(|next| {
        matches!(frames::first(&bytes[*next..], seed), First::Frame(frame) if frame.sequence > last)
    });
    match next {
        Some(next) => Step::Hole {
            len: next - at,
            why,
        },
        None => Step::NothingMore,
    }
}

/// The first hole that no later frame proves to have been synced: its place among `found`, and the
/// sequence it would have had.
fn unacknowledged_hole(found: &[Found<'_>]) -> Option<(usize, u64)> {
    let mut synced_to = 0;
    let mut first = None;
    for (at, found) in found.iter().enumerate().rev() {
        match found.piece {
            Piece::Frame { .. } => synced_to = synced_to.max(found.unsynced_from),
            Piece::Hole { .. } if synced_to <= found.sequence => first = Some((at, found.sequence)),
            Piece::Hole { .. } => {}
        }
    }
    first
}
