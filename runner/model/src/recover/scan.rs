//! Reading a segment frame by frame, up to its end or to what the table refuses.

use core::cmp::Ordering;

use super::{Action, After, FrameFound, HeaderFound, Refusal, Step, on_frame, on_header};
use crate::codec::{
    Decoded, FRAME_HEADER_BYTES, FrameHead, HeaderVerdict, SEGMENT_HEADER_BYTES, Seal,
    SegmentHeader, frame::announced,
};

/// How often the bytes in doubt are checksummed, at most, in the search for a later frame. Bytes
/// that were made to look like many frames could hold the search up for hours otherwise.
const SEARCH_ROUNDS: usize = 16;

/// What is known of a segment before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// The log it belongs to; `None` believes the header.
    pub log: Option<u128>,
    /// Its number, by its file's name.
    pub segment: u64,
    /// The sequence its first frame must have: [`End::next_sequence`] of the segment before. `None`
    /// for the first segment.
    pub first_sequence: Option<u64>,
    /// Whether no segment comes after it.
    pub last: bool,
}

/// A sound frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'a> {
    /// Where it begins in the segment.
    pub offset: usize,
    /// Its place in the order.
    pub head: FrameHead,
    /// Its body.
    pub body: &'a [u8],
}

impl Found<'_> {
    fn moved_by(self, bytes: usize) -> Self {
        let offset = self.offset + bytes;
        Self { offset, ..self }
    }
}

/// Where and how reading a segment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Where the last sound frame ends; what is cut or refused begins here. 0 when there is not
    /// even a header.
    pub offset: usize,
    /// The sequence of the frame that would come next.
    pub next_sequence: u64,
    /// How it ended.
    pub ending: Ending,
    /// Its header, when that is as expected.
    pub header: Option<SegmentHeader>,
}

/// How reading a segment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All of it was read.
    Clean,
    /// The rest is to be copied aside and cut away.
    Cut {
        /// What is wrong with the first bytes of the rest.
        why: &'static str,
    },
    /// It must not be used.
    Refused(Refusal),
}

/// Reads a segment. Yields sound frames in order; [`finish`](Self::finish) tells how it ended.
#[derive(Debug, Clone)]
pub struct Scan<'a> {
    bytes: &'a [u8],
    reached: Reached,
}

/// How far a segment was read.
#[derive(Debug, Clone, Copy)]
struct Reached {
    header: Option<SegmentHeader>,
    seal: Seal,
    last: bool,
    offset: usize,
    next_sequence: u64,
    ending: Option<Ending>,
}

/// Reads a segment while its bytes come: what a [`Scan`] of all of them yields, told as soon as it is certain.
#[derive(Debug, Clone)]
pub struct Arriving {
    expected: Expected,
    /// Where the bytes that are here begin.
    from: usize,
    /// `None` as long as not even the header is certain.
    reached: Option<Reached>,
}

impl Arriving {
    /// A segment of which nothing is here yet.
    #[must_use]
    pub fn new(expected: Expected) -> Self {
        Self {
            expected,
            from: 0,
            reached: None,
        }
    }

    /// More bytes came; `so_far` are all that are here, but for those that were [passed](Self::pass). `tell` hears the
    /// frames that are whole now. About a frame in doubt nothing is decided: what comes behind it counts.
    pub fn more<'a>(&mut self, so_far: &'a [u8], mut tell: impl FnMut(Found<'a>)) {
        let mut scan = self.over(so_far);
        while let Ok(found) = scan.next_sure() {
            tell(found.moved_by(self.from));
        }
        let reached = scan.reached;
        self.reached = reached.ending.is_none().then_some(reached);
    }

    /// How many of the first bytes that are here are not needed any more, since they were told. They have to be left
    /// out from here on.
    pub fn pass(&mut self) -> usize {
        let told = match &mut self.reached {
            None => 0,
            Some(reached) => core::mem::take(&mut reached.offset),
        };
        self.from += told;
        told
    }

    /// All bytes are here, but for those that were [passed](Self::pass). `tell` hears the frames that were not told yet.
    pub fn end<'a>(self, bytes: &'a [u8], mut tell: impl FnMut(Found<'a>)) -> End {
        let mut scan = self.over(bytes);
        scan.by_ref()
            .for_each(|found| tell(found.moved_by(self.from)));
        let end = scan.finish();
        End {
            offset: self.from + end.offset,
            ..end
        }
    }

    fn over<'a>(&self, bytes: &'a [u8]) -> Scan<'a> {
        match self.reached {
            None => Scan::new(bytes, self.expected),
            Some(reached) => Scan { bytes, reached },
        }
    }
}

impl<'a> Scan<'a> {
    /// Read the segment that `bytes` are, all of it.
    #[must_use]
    pub fn new(bytes: &'a [u8], expected: Expected) -> Self {
        let verdict = SegmentHeader::decode(bytes);
        let first = expected.first_sequence;
        let reached = Reached {
            header: None,
            seal: Seal::new(expected.log.unwrap_or(0), expected.segment),
            last: expected.last,
            offset: 0,
            next_sequence: first.unwrap_or(0),
            ending: None,
        };
        let mut scan = Self { bytes, reached };
        let mut step = Step::Next;
        let (found, why) = match verdict {
            HeaderVerdict::Good(header) => {
                let same_log = expected.log.is_none_or(|log| log == header.log);
                if same_log && header.segment == expected.segment {
                    step = step_to(
                        first.unwrap_or(header.first_sequence),
                        header.first_sequence,
                    );
                    scan.reached.header = Some(header);
                    (HeaderFound::Good, "")
                } else {
                    (
                        HeaderFound::Foreign,
                        "the header is that of another segment",
                    )
                }
            }
            HeaderVerdict::Newer { found } => (HeaderFound::Newer { found }, "a newer format"),
            HeaderVerdict::Unfinished => (HeaderFound::Unfinished, "the header is not finished"),
            HeaderVerdict::Damaged { why } => (HeaderFound::Damaged, why),
        };
        let after = match found {
            HeaderFound::Unfinished | HeaderFound::Damaged => scan.after(SEGMENT_HEADER_BYTES),
            // The table asks for it in no other row.
            HeaderFound::Good | HeaderFound::Newer { .. } | HeaderFound::Foreign => After::Zeros,
        };
        let action = on_header(expected.last, found, after, step);
        if let Some(header) = scan.reached.header.filter(|_| action == Action::Accept) {
            scan.reached.seal = Seal::from(&header);
            scan.reached.offset = SEGMENT_HEADER_BYTES;
            scan.reached.next_sequence = header.first_sequence;
        }
        scan.reached.ending = ending(action, why);
        scan
    }

    /// The next sound frame, when it is here to its end and follows without a doubt. Otherwise what lies there, of
    /// which nothing is decided since more bytes may follow; `None` when nothing is read any more.
    #[inline]
    fn next_sure(&mut self) -> Result<Found<'a>, Option<Decoded<'a>>> {
        if self.reached.ending.is_some() {
            return Err(None);
        }
        let Reached {
            seal,
            offset,
            next_sequence,
            ..
        } = self.reached;
        match seal.decode(self.rest(offset)) {
            Decoded::Record { head, body, length } if head.sequence == next_sequence => {
                self.reached.offset += length;
                self.reached.next_sequence = next_sequence.saturating_add(1);
                Ok(Found { offset, head, body })
            }
            refused @ (Decoded::Record { .. } | Decoded::Incomplete | Decoded::Corrupt { .. }) => {
                Err(Some(refused))
            }
        }
    }

    /// Read what was not read yet, and tell how it ended.
    #[must_use]
    pub fn finish(mut self) -> End {
        self.by_ref().for_each(drop);
        End {
            offset: self.reached.offset,
            next_sequence: self.reached.next_sequence,
            ending: self.reached.ending.unwrap_or(Ending::Clean),
            header: self.reached.header,
        }
    }

    /// What a frame is that lies at the current place and does not follow without a doubt.
    fn doubt(&self, refused: &Decoded<'_>) -> (FrameFound, Step, &'static str) {
        let rest = self.rest(self.reached.offset);
        match refused {
            Decoded::Record { head, .. } => {
                let step = step_to(self.reached.next_sequence, head.sequence);
                let why = "an old record where a later one belongs";
                (FrameFound::Record, step, why)
            }
            _ if rest.is_empty() => (FrameFound::Nothing, Step::Next, ""),
            _ if is_zero(rest) => (FrameFound::Zeros, Step::Next, ""),
            Decoded::Incomplete => {
                let why = "the record ends after the segment does";
                (FrameFound::Incomplete, Step::Next, why)
            }
            Decoded::Corrupt { why } => (FrameFound::Corrupt, Step::Next, why),
        }
    }

    fn rest(&self, from: usize) -> &'a [u8] {
        self.bytes.get(from..).unwrap_or(&[])
    }

    /// What lies behind a frame in doubt that begins at the current place; from `skip` bytes
    /// behind it on when nothing later shows.
    fn after(&self, skip: usize) -> After {
        let rest = self.rest(self.reached.offset);
        match self.later_frame(rest) {
            Some(after) => after,
            None if is_zero(rest.get(skip..).unwrap_or(&[])) => After::Zeros,
            None => After::Other,
        }
    }

    /// The strongest evidence that a frame behind the first byte of `rest` gives.
    fn later_frame(&self, rest: &[u8]) -> Option<After> {
        let doubted = self.reached.next_sequence;
        let most = doubted.saturating_add((rest.len() / FRAME_HEADER_BYTES) as u64);
        let mut budget = rest.len().saturating_mul(SEARCH_ROUNDS);
        let mut evidence = None;
        let mut from = 1;
        while let Some(bytes) = rest.get(from..).filter(|bytes| !bytes.is_empty()) {
            from += 1;
            let Ok((length, head)) = announced(bytes) else {
                continue;
            };
            let plausible = doubted < head.sequence && head.sequence <= most;
            if !plausible || length > bytes.len() {
                continue;
            }
            let Some(left) = budget.checked_sub(length) else {
                return Some(After::Later);
            };
            budget = left;
            if let Decoded::Record { length, .. } = self.reached.seal.decode(bytes) {
                if head.sequence.saturating_sub(u64::from(head.unsynced)) > doubted {
                    return Some(After::Later);
                }
                evidence = Some(After::SameBatch);
                from += length - 1;
            }
        }
        evidence
    }
}

impl<'a> Iterator for Scan<'a> {
    type Item = Found<'a>;

    fn next(&mut self) -> Option<Found<'a>> {
        let refused = match self.next_sure() {
            Ok(found) => return Some(found),
            Err(refused) => refused?,
        };
        let (frame, step, why) = self.doubt(&refused);
        let after = match (frame, step) {
            (FrameFound::Record, Step::Next | Step::Gap)
            | (FrameFound::Nothing | FrameFound::Zeros, _) => After::Zeros,
            (FrameFound::Record, Step::Repeat)
            | (FrameFound::Incomplete | FrameFound::Corrupt, _) => self.after(self.extent()),
        };
        // What is accepted was given out above.
        self.reached.ending = ending(on_frame(self.reached.last, frame, after, step), why);
        None
    }
}

impl Scan<'_> {
    /// How far the frame in doubt reaches, by what it says.
    fn extent(&self) -> usize {
        let length = announced(self.rest(self.reached.offset)).map_or(0, |(length, _)| length);
        FRAME_HEADER_BYTES + length
    }
}

fn ending(action: Action, why: &'static str) -> Option<Ending> {
    match action {
        Action::Accept => None,
        Action::CleanEnd => Some(Ending::Clean),
        Action::CutTail => Some(Ending::Cut { why }),
        Action::Refuse(refusal) => Some(Ending::Refused(refusal)),
    }
}

fn step_to(expected: u64, found: u64) -> Step {
    match found.cmp(&expected) {
        Ordering::Equal => Step::Next,
        Ordering::Less => Step::Repeat,
        Ordering::Greater => Step::Gap,
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
