//! Segments read piece by piece: what lies in each piece, and how each segment ends.

use sandhog_model::recover::{Arriving, End, Ending, Expected, Found};

use super::{layout::LogId, run::Run};
use crate::{
    disk::{DiskError, DiskFile},
    store::frames,
};

/// Bytes read at once: as many as lie near a processor while they are checksummed, and while what lies in them is told.
const PIECE: usize = 512 << 10;

/// What was found in a piece of a segment. What one was made in is used again for another.
#[derive(Default)]
pub(super) struct Part {
    pub(super) frames: Vec<Sound>,
    /// What is kept of the frames' bodies, one behind the other. It is gathered where the bytes were just checksummed:
    /// whoever tells the records would have to wait for memory at each of them.
    pub(super) bodies: Vec<u8>,
    /// How the segment ended, when it did.
    pub(super) end: Option<Ended>,
}

/// A sound frame.
pub(super) struct Sound {
    /// Where it begins in the segment.
    pub(super) offset: u32,
    /// Bytes of its body.
    pub(super) length: u32,
    /// Bytes of it among the bodies.
    pub(super) kept: u32,
    pub(super) sequence: u64,
}

/// The end of a segment.
pub(super) struct Ended {
    /// Bytes of its file.
    pub(super) length: u64,
    pub(super) end: End,
    /// What lies behind the last sound frame, when that is not as it should be.
    pub(super) rest: Vec<u8>,
}

impl Part {
    /// One that need not grow for the records of most logs.
    pub(super) fn roomy() -> Self {
        Self {
            frames: Vec::with_capacity(PIECE / 256),
            bodies: Vec::with_capacity(PIECE / 4),
            end: None,
        }
    }

    fn clear(&mut self) {
        self.frames.clear();
        self.bodies.clear();
        self.end = None;
    }

    fn take(&mut self, found: Found<'_>, whole: bool) {
        let body = match whole {
            true => found.body,
            false => frames::slim_part(found.body),
        };
        self.bodies.extend_from_slice(body);
        self.frames.push(Sound {
            // A place in a segment has 32 bits.
            offset: found.offset as u32,
            length: found.body.len() as u32,
            kept: body.len() as u32,
            sequence: found.head.sequence,
        });
    }
}

/// The segments of a log, read one after the other.
pub(super) struct Parts<'a> {
    run: &'a Run,
    log: LogId,
    /// Whether bodies are kept whole.
    whole: bool,
    /// Bytes read at once.
    piece: usize,
    next: usize,
    first_sequence: Option<u64>,
    open: Option<Reading<'a>>,
    window: Window,
}

/// What was read and is still needed.
struct Window {
    /// Room for a piece and what is left of those before.
    room: Vec<u8>,
    filled: usize,
    /// Zeros instead of all that, which need no room as long as nothing else comes: most of a last segment is zeros.
    zeros: usize,
}

impl Window {
    /// One with room for a piece and a small record.
    fn roomy() -> Self {
        Self {
            room: vec![0; PIECE + PIECE / 8],
            filled: 0,
            zeros: 0,
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.room[..self.filled]
    }

    /// Read at most so many bytes behind what is here, and give how many came.
    fn fill(&mut self, file: &dyn DiskFile, from: u64, most: usize) -> Result<usize, DiskError> {
        let end = self.filled + most;
        if self.room.len() < end {
            self.room.resize(end, 0);
        }
        let more = file.read_at(from, &mut self.room[self.filled..end])?;
        self.filled += more;
        Ok(more)
    }

    /// Count zeros instead of keeping them, if there is nothing else. Whether there was not.
    fn count_zeros(&mut self) -> bool {
        if self.bytes().iter().any(|byte| *byte != 0) {
            let zeros = std::mem::take(&mut self.zeros);
            self.room.splice(..0, std::iter::repeat_n(0, zeros));
            self.filled += zeros;
            return false;
        }
        self.zeros += std::mem::take(&mut self.filled);
        true
    }

    /// Leave the first bytes out.
    fn pass(&mut self, bytes: usize) {
        self.room.copy_within(bytes..self.filled, 0);
        self.filled -= bytes;
    }

    fn clear(&mut self) {
        (self.filled, self.zeros) = (0, 0);
    }
}

/// A segment that is being read.
struct Reading<'a> {
    file: &'a dyn DiskFile,
    length: u64,
    /// How far it was read.
    read: u64,
    arriving: Arriving,
    /// Whether zeros are counted: from its header on, until something else comes behind some.
    counts_zeros: bool,
}

impl<'a> Parts<'a> {
    pub(super) fn new(run: &'a Run, log: LogId, whole: bool) -> Self {
        Self {
            run,
            log,
            whole,
            piece: PIECE,
            next: 0,
            first_sequence: run.first_sequence(),
            open: None,
            window: Window::roomy(),
        }
    }

    /// The next part, made in one that nobody needs any more; `None` behind the last. Where bodies are kept whole it is
    /// the whole segment: that may be written to meanwhile, and a piece read much later than the one before would not
    /// fit it.
    pub(super) fn next(&mut self, mut part: Part) -> Option<Result<Part, DiskError>> {
        part.clear();
        if self.open.is_none() {
            match self.begin()? {
                Ok(reading) => self.open = Some(reading),
                Err(error) => return Some(Err(error)),
            }
        }
        while let Some(reading) = self.open.take() {
            if let Err(error) = self.read(reading, &mut part) {
                return Some(Err(error));
            }
            if !self.whole {
                break;
            }
        }
        Some(Ok(part))
    }

    fn begin(&mut self) -> Option<Result<Reading<'a>, DiskError>> {
        let (number, file) = self.run.segments.get(self.next)?;
        self.next += 1;
        self.window.clear();
        let expected = Expected {
            log: Some(self.log.0),
            segment: u64::from(*number),
            first_sequence: self.first_sequence,
            last: self.next == self.run.segments.len(),
        };
        Some(file.len().map(|length| Reading {
            file: &**file,
            length,
            read: 0,
            arriving: Arriving::new(expected),
            counts_zeros: false,
        }))
    }

    /// Read a piece, and go on from there or end the segment.
    fn read(&mut self, mut reading: Reading<'a>, part: &mut Part) -> Result<(), DiskError> {
        let (window, whole) = (&mut self.window, self.whole);
        let left = reading.length.saturating_sub(reading.read);
        let piece = left.min(self.piece as u64) as usize;
        let more = window.fill(reading.file, reading.read, piece)?;
        reading.read += more as u64;
        let arriving = &mut reading.arriving;
        let had_zeros = window.zeros > 0;
        if !reading.counts_zeros || !window.count_zeros() {
            arriving.more(window.bytes(), |found| part.take(found, whole));
            let told = arriving.pass();
            window.pass(told);
            reading.counts_zeros |= told > 0;
            reading.counts_zeros &= !had_zeros;
        }
        if more > 0 && reading.read < reading.length {
            self.open = Some(reading);
            return Ok(());
        }
        let Reading {
            arriving,
            read: length,
            ..
        } = reading;
        let end = arriving.end(window.bytes(), |found| part.take(found, whole));
        self.first_sequence = Some(end.next_sequence);
        let rest = match end.ending {
            Ending::Clean => Vec::new(),
            Ending::Cut { .. } | Ending::Refused(_) => {
                let passed = length as usize - window.bytes().len();
                window.bytes()[end.offset - passed..].to_vec()
            }
        };
        part.end = Some(Ended { length, end, rest });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{
        disk::{Disk, OpenMode, sim::SimDisk},
        store::wal::layout,
    };

    const LOG: LogId = LogId(5);

    /// Frames with bodies of these many bytes, and where they end.
    fn segment(bodies: &[usize]) -> Vec<u8> {
        let mut bytes = frames::segment_header(LOG, 1, 1).to_vec();
        for (sequence, length) in (1..).zip(bodies) {
            let body = vec![7; *length];
            frames::put(&mut bytes, frames::seed(LOG, 1), sequence, 1, &body);
        }
        bytes
    }

    /// All that is found: places, bodies, and how it ends.
    fn found(bytes: &[u8], whole: bool, piece: usize) -> (Vec<u32>, Vec<u8>, u64, End, Vec<u8>) {
        let disk = SimDisk::default();
        let dir = Path::new("/log");
        disk.create_dir(dir).unwrap();
        let file = disk
            .open(&layout::segment_path(dir, 1), OpenMode::Create)
            .unwrap();
        file.write_at(0, bytes).unwrap();
        let run = Run::open(&disk, dir).unwrap();
        let mut parts = Parts {
            piece,
            ..Parts::new(&run, LOG, whole)
        };
        let (mut places, mut bodies) = (Vec::new(), Vec::new());
        let mut part = Part::default();
        loop {
            part = parts.next(part).expect("it has no end yet").unwrap();
            places.extend(part.frames.iter().map(|sound| sound.offset));
            bodies.extend_from_slice(&part.bodies);
            if let Some(Ended { length, end, rest }) = part.end.take() {
                assert!(parts.next(part).is_none());
                return (places, bodies, length, end, rest);
            }
        }
    }

    #[test]
    fn in_pieces_a_segment_is_what_it_is_at_once() {
        let sound = segment(&[3, 1, 900, 40]);
        let with = |zeros: usize, more: &[u8]| [&sound, &vec![0; zeros][..], more].concat();
        let torn = segment(&[3, 1, 900, 40, 5]);
        for bytes in [
            sound.clone(),
            with(2000, &[]),
            with(2000, &[1]),
            with(300, &torn[sound.len()..]),
            with(0, &[9; 500]),
            torn[..torn.len() - 1].to_vec(),
            sound[..7].to_vec(),
            vec![0; 500],
            [vec![0; 500], vec![1]].concat(),
            vec![8; 500],
            Vec::new(),
        ] {
            for whole in [true, false] {
                let at_once = found(&bytes, whole, usize::MAX);
                let (_, _, length, end, rest) = &at_once;
                assert_eq!(*length, bytes.len() as u64);
                if end.ending != Ending::Clean {
                    assert_eq!(*rest, bytes[end.offset..]);
                }
                for piece in [1, 7, 64, 1000] {
                    let in_pieces = found(&bytes, whole, piece);
                    assert_eq!(in_pieces, at_once, "{piece} bytes at once");
                }
            }
        }
    }

    /// Whoever looks at a log that is written to must not be told of it piece by piece.
    #[test]
    fn a_segment_with_whole_bodies_is_one_part() {
        let disk = SimDisk::default();
        let dir = Path::new("/log");
        disk.create_dir(dir).unwrap();
        let path = layout::segment_path(dir, 1);
        let file = disk.open(&path, OpenMode::Create).unwrap();
        file.write_at(0, &segment(&[3, 1, 900, 40])).unwrap();
        let run = Run::open(&disk, dir).unwrap();
        for (whole, most) in [(true, 4), (false, 1)] {
            let mut parts = Parts {
                piece: frames::SEGMENT_HEADER + frames::framed_len(3),
                ..Parts::new(&run, LOG, whole)
            };
            let first = parts.next(Part::default()).expect("a part").unwrap();
            assert_eq!((first.frames.len(), first.end.is_some()), (most, whole));
        }
    }

    #[test]
    fn zeros_behind_the_records_take_no_room() {
        let mut window = Window::roomy();
        let room = window.room.len();
        let disk = SimDisk::default();
        let file = disk.open(Path::new("/zeros"), OpenMode::Create).unwrap();
        file.write_at(0, &[0; 4096]).unwrap();
        file.write_at(4096, b"x").unwrap();
        for at in (0..4096).step_by(512) {
            assert_eq!(window.fill(&*file, at, 512).unwrap(), 512);
            assert!(window.count_zeros());
        }
        assert_eq!((window.room.len(), window.zeros), (room, 4096));
        assert_eq!(window.fill(&*file, 4096, 512).unwrap(), 1);
        assert!(!window.count_zeros());
        assert_eq!(window.bytes(), [&[0; 4096][..], b"x"].concat());
    }
}
