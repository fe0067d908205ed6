//! Recovery as a decision table: what is found in a segment, and what is done about it.
//!
//! Only the end of the last segment can hold what was never acknowledged, so only there is anything
//! ever cut away, and only when nothing after it proves that it had been synced. All else is refused
//! with its place and left as it is.

mod scan;

use core::fmt;

pub use scan::{Arriving, End, Ending, Expected, Found, Scan};

/// What the first bytes of a segment are, compared with what was expected there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderFound {
    /// The expected header.
    Good,
    /// A header of a newer format.
    Newer {
        /// The format it has.
        found: u32,
    },
    /// Nothing, zeros, or the beginning of a header.
    Unfinished,
    /// No header.
    Damaged,
    /// The header of another log or segment.
    Foreign,
}

/// What lies where a frame could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameFound {
    /// A frame.
    Record,
    /// The segment's last byte was before.
    Nothing,
    /// Zeros, up to the segment's last byte.
    Zeros,
    /// The beginning of a frame that would end after the segment's last byte.
    Incomplete,
    /// No frame.
    Corrupt,
}

/// What lies behind a place that is in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Nothing, or zeros.
    Zeros,
    /// A later frame, but written before the frame in doubt was synced: power loss tore a batch.
    SameBatch,
    /// A later frame, written when the frame in doubt had been synced. Also when looking for one
    /// was given up.
    Later,
    /// Other bytes.
    Other,
}

/// How a sequence follows the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// One more.
    Next,
    /// It was there before.
    Repeat,
    /// At least one is missing between.
    Gap,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Take it in and go on behind it.
    Accept,
    /// The segment ends here.
    CleanEnd,
    /// Copy the rest aside, then cut it away: it was never acknowledged.
    CutTail,
    /// Leave everything as it is and say where and why.
    Refuse(Refusal),
}

/// Why a segment is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It was written by a newer Sandhog.
    NewerFormat {
        /// The format it has.
        found: u32,
        /// The newest format read here.
        known: u32,
    },
    /// Its header is missing, and it is not the last segment or holds more than a header.
    NoHeader,
    /// Its header is damaged.
    HeaderDamaged,
    /// It belongs to another log, or is another segment than its place says.
    Foreign,
    /// Records between the segment before and this one are missing, or both have them.
    OutOfOrder,
    /// A frame is damaged in a segment that was complete once.
    DamagedClosed,
    /// A frame is damaged, and one behind it was written later.
    DamagedMiddle,
    /// Frames are missing between two that are sound.
    Gap,
    /// A frame stands where a later one belongs.
    Stale,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NewerFormat { found, known } => {
                return write!(
                    f,
                    "it has format {found}, and this sandhog reads up to format {known}: \
                     use the newer one"
                );
            }
            Self::NoHeader => "its header is missing although the segment was in use",
            Self::HeaderDamaged => "its header is damaged",
            Self::Foreign => "it belongs to another log, or was renamed",
            Self::OutOfOrder => {
                "its first record does not follow the last record of the segment before"
            }
            Self::DamagedClosed => "a record is damaged in a segment that was complete once",
            Self::DamagedMiddle => {
                "a record is damaged, and the records behind it were written after it was safe"
            }
            Self::Gap => "records are missing before this one",
            Self::Stale => "an old record stands where a later one belongs",
        })
    }
}

/// What is done about a segment's first bytes. `last`: no segment comes after it. `step`: from the
/// last sequence of the segment before to the first one of this.
///
/// A last segment that is cut here is to be removed whole. The one before it is still not a last
/// one: a segment is begun only when all of the one before is synced.
#[must_use]
pub fn on_header(last: bool, header: HeaderFound, after: After, step: Step) -> Action {
    use HeaderFound::{Damaged, Foreign, Good, Newer, Unfinished};
    match (header, last, after, step) {
        (Good, _, _, Step::Next) => Action::Accept,
        (Good, _, _, Step::Repeat | Step::Gap) => Action::Refuse(Refusal::OutOfOrder),
        (Newer { found }, _, _, _) => Action::Refuse(Refusal::NewerFormat {
            found,
            known: crate::codec::FORMAT,
        }),
        (Foreign, _, _, _) => Action::Refuse(Refusal::Foreign),
        // The header is synced before the first frame is written.
        (Unfinished | Damaged, true, After::Zeros, _) => Action::CutTail,
        (Unfinished, true, After::SameBatch | After::Later | After::Other, _)
        | (Unfinished, false, _, _) => Action::Refuse(Refusal::NoHeader),
        (Damaged, true, After::SameBatch | After::Later | After::Other, _)
        | (Damaged, false, _, _) => Action::Refuse(Refusal::HeaderDamaged),
    }
}

/// What is done about what lies where a frame could be. `last`: no segment comes after this one.
/// `step`: from the frame before to this one, of a [`FrameFound::Record`].
///
/// That zeros end a closed segment is no proof that nothing is lost there; the step to the next
/// segment's header is.
#[must_use]
pub fn on_frame(last: bool, frame: FrameFound, after: After, step: Step) -> Action {
    use FrameFound::{Corrupt, Incomplete, Nothing, Record, Zeros};
    match (frame, last, after, step) {
        (Record, _, _, Step::Next) => Action::Accept,
        (Record, _, _, Step::Gap) => Action::Refuse(Refusal::Gap),
        (Record, true, After::Zeros | After::SameBatch | After::Other, Step::Repeat) => {
            Action::CutTail
        }
        (Record, true, After::Later, Step::Repeat) | (Record, false, _, Step::Repeat) => {
            Action::Refuse(Refusal::Stale)
        }
        (Nothing | Zeros, _, _, _) => Action::CleanEnd,
        (Incomplete | Corrupt, true, After::Zeros | After::SameBatch | After::Other, _) => {
            Action::CutTail
        }
        (Incomplete | Corrupt, true, After::Later, _) => Action::Refuse(Refusal::DamagedMiddle),
        (Incomplete | Corrupt, false, _, _) => Action::Refuse(Refusal::DamagedClosed),
    }
}
