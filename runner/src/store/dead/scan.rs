//! Reading frames past damage, a window of the file at a time: which bytes are entries, which are
//! holes, which a torn tail.

use sandhog_model::limits::BODY_BYTES;

use super::index::Place;
use crate::{
    disk::{DiskError, DiskFile},
    store::frames::{self, First},
};

/// Bytes read at a time.
const WINDOW_BYTES: usize = 1 << 20;
/// Bytes of the smallest frame: a header and one byte.
const SMALLEST: u64 = 21;
const HEADER: usize = 20;

/// Part of the file, in its order.
pub(super) enum Piece<T> {
    /// A sound frame.
    Entry { place: Place, told: T },
    /// Bytes that are no frame, with frames after them.
    Hole { place: Place, why: &'static str },
}

/// Where the entries end.
#[derive(Debug)]
pub(super) struct Scanned {
    /// Where the next frame goes.
    pub(super) end: u64,
    /// Bytes after `end` up to the last that is no zero.
    pub(super) torn: u64,
    pub(super) last_sequence: u64,
}

/// A window that moves forwards over a file.
struct Window<'a> {
    file: &'a dyn DiskFile,
    len: u64,
    from: u64,
    bytes: Vec<u8>,
}

impl<'a> Window<'a> {
    fn over(file: &'a dyn DiskFile, from: u64) -> Result<Self, DiskError> {
        Ok(Self {
            len: file.len()?,
            file,
            from,
            bytes: Vec::new(),
        })
    }

    /// The bytes at `at`: `want` of them, fewer only at the file's end.
    fn at(&mut self, at: u64, want: usize) -> Result<&[u8], DiskError> {
        let want = (want as u64).min(self.len.saturating_sub(at)) as usize;
        let have = self.from + self.bytes.len() as u64;
        if at < self.from || at + want as u64 > have {
            let kept = if (self.from..have).contains(&at) {
                self.bytes.drain(..(at - self.from) as usize);
                self.bytes.len()
            } else {
                self.bytes.clear();
                0
            };
            self.from = at;
            let room = (want.max(WINDOW_BYTES) as u64).min(self.len.saturating_sub(at)) as usize;
            self.bytes.resize(room.max(kept), 0);
            let mut filled = kept;
            while filled < self.bytes.len() {
                let more = self
                    .file
                    .read_at(at + filled as u64, &mut self.bytes[filled..])?;
                if more == 0 {
                    self.bytes.truncate(filled);
                }
                filled += more;
            }
        }
        let start = (at - self.from) as usize;
        let end = (start + want).min(self.bytes.len());
        Ok(&self.bytes[start.min(end)..end])
    }

    /// What the file has at `at`.
    fn first(&mut self, at: u64, seed: frames::Seed) -> Result<First<'_>, DiskError> {
        let header = self.at(at, HEADER)?;
        let body = header
            .first_chunk::<4>()
            .map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
        let want = if body <= BODY_BYTES {
            frames::framed_len(body)
        } else {
            HEADER
        };
        Ok(frames::first(self.at(at, want)?, seed))
    }

    /// Whether a frame with a sequence that can follow `last` may begin at `at`. Cheap: a checksum
    /// over megabytes at every byte of a large hole would take minutes.
    fn may_begin(&mut self, at: u64, last: u64) -> Result<bool, DiskError> {
        let most = last + 1 + self.len / SMALLEST;
        let header = self.at(at, HEADER)?;
        let (Some(length), Some(rest)) = (header.first_chunk::<4>(), header.get(4..12)) else {
            return Ok(false);
        };
        let length = u32::from_le_bytes(*length) as usize;
        let sequence = rest
            .first_chunk::<8>()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Ok((1..=BODY_BYTES).contains(&length) && sequence > last && sequence <= most)
    }
}

struct Hole {
    /// The sequence that would have stood there.
    sequence: u64,
    at: u64,
    /// Pieces that were told before it.
    before: usize,
    last_sequence: u64,
}

/// Read all frames from `start`. `read` sees each sound frame, `tell` hears of each piece that
/// counts, in the file's order.
///
/// A hole that the frames after it were written together with is no damage: none of them was
/// acknowledged when the power went. Only a frame written after the hole's own sync proves that
/// something was lost. What comes after such a hole is told once that is certain.
pub(super) fn scan<T>(
    file: &dyn DiskFile,
    start: u64,
    seed: frames::Seed,
    mut read: impl FnMut(Place, &[u8]) -> T,
    mut tell: impl FnMut(Piece<T>),
) -> Result<Scanned, DiskError> {
    let mut window = Window::over(file, start)?;
    let (mut at, mut end, mut last_sequence) = (start, start, 0);
    // Holes that nothing proves yet, and what came after the first of them.
    let mut open: Vec<Hole> = Vec::new();
    let mut pending: Vec<Piece<T>> = Vec::new();
    while at < window.len {
        let why = match window.first(at, seed)? {
            First::Frame(frame) if frame.sequence > last_sequence => {
                let place = Place {
                    offset: at,
                    len: frame.len as u64,
                };
                let told = read(place, frame.body);
                let unsynced_from = frame.unsynced_from;
                last_sequence = frame.sequence;
                at += place.len;
                end = at;
                pending.push(Piece::Entry { place, told });
                let proven = open.partition_point(|hole| hole.sequence < unsynced_from);
                open.drain(..proven);
                let sure = open.first().map_or(pending.len(), |hole| hole.before);
                for piece in pending.drain(..sure) {
                    tell(piece);
                }
                open.iter_mut().for_each(|hole| hole.before -= sure);
                continue;
            }
            First::Frame(_) => "an entry from before, out of its order",
            First::Short { .. } => "an entry that ends beyond the file",
            First::Empty => "zeros where an entry should be",
            First::Corrupt(why) => why,
        };
        let Some(next) = next_frame(&mut window, at, seed, last_sequence)? else {
            break;
        };
        open.push(Hole {
            sequence: last_sequence + 1,
            at,
            before: pending.len(),
            last_sequence,
        });
        let place = Place {
            offset: at,
            len: next - at,
        };
        pending.push(Piece::Hole { place, why });
        at = next;
    }
    if let Some(hole) = open.first() {
        end = hole.at;
        last_sequence = hole.last_sequence;
    }
    let torn = torn(&mut window, end)?;
    Ok(Scanned {
        end,
        torn,
        last_sequence,
    })
}

/// Where the next frame after a break begins. The length that the broken one announces is tried
/// first: mostly its body alone is broken.
fn next_frame(
    window: &mut Window<'_>,
    at: u64,
    seed: frames::Seed,
    last: u64,
) -> Result<Option<u64>, DiskError> {
    let sound = |window: &mut Window<'_>, next: u64| -> Result<bool, DiskError> {
        Ok(window.may_begin(next, last)?
            && matches!(window.first(next, seed)?, First::Frame(frame) if frame.sequence > last))
    };
    let announced = window.at(at, 4)?.first_chunk::<4>().copied();
    if let Some(bytes) = announced {
        let next = at + frames::framed_len(u32::from_le_bytes(bytes) as usize) as u64;
        if next < window.len && sound(window, next)? {
            return Ok(Some(next));
        }
    }
    for next in at + 1..window.len {
        if sound(window, next)? {
            return Ok(Some(next));
        }
    }
    Ok(None)
}

/// Bytes from `end` up to the last that is no zero.
fn torn(window: &mut Window<'_>, end: u64) -> Result<u64, DiskError> {
    let (mut at, mut torn) = (end, 0);
    while at < window.len {
        let bytes = window.at(at, WINDOW_BYTES)?;
        if bytes.is_empty() {
            break;
        }
        if let Some(last) = bytes.iter().rposition(|byte| *byte != 0) {
            torn = at + last as u64 + 1 - end;
        }
        at += bytes.len() as u64;
    }
    Ok(torn)
}
