//! Lists of letters: a walk through the index by parts, rows read from the file off the lock.

use std::sync::Arc;

use sandhog_model::{FailureKind, UnixMs};

use super::{
    DeadStore,
    file::with_body,
    head::{self, EntryHead, LetterHead},
    index::{Facts, Index, LARGE_BYTES, Note, Order},
    view::{DeadCount, DeadFilter, DeadRow, LetterName, unreadable_failure},
    wanted::{BadList, Wanted, check},
};
use crate::{
    disk::DiskFile,
    store::{FailureRow, Page, PageRequest},
};

/// Letters looked at before others may use the index.
const PART: usize = 4096;
/// Letters, and their bytes, that one page reads in search of a text.
const SEARCH_LETTERS: usize = 5_000;
const SEARCH_BYTES: u64 = 8 << 20;

/// Where in the order of all letters: sound ones newest first, then what cannot be read. A cursor
/// names the last row shown, not a number, so that rows which come and go in between shift nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Start,
    After(Order),
    /// Among the unreadable ones, after this name.
    AfterHole(Option<u64>),
}

impl Position {
    fn parse(text: Option<&str>) -> Result<Self, BadList> {
        let Some(text) = text else {
            return Ok(Self::Start);
        };
        let bad = || BadList::Cursor(text.chars().take(64).collect());
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if let Some(name) = text.strip_prefix('@') {
            let name = Some(name).filter(|name| digits(name)).ok_or_else(bad)?;
            return name
                .parse()
                .map(|at| Self::AfterHole(Some(at)))
                .map_err(|_| bad());
        }
        let (died_at, id) = text.split_once('-').ok_or_else(bad)?;
        if !digits(died_at) {
            return Err(bad());
        }
        let died_at = died_at.parse().map_err(|_| bad())?;
        let id = id.parse().map_err(|_| bad())?;
        Ok(Self::After(Order::new(UnixMs(died_at), id)))
    }

    fn cursor(self) -> Option<String> {
        match self {
            Self::Start => None,
            Self::After(order) => Some(format!("{}-{}", order.died_at().0, order.id())),
            // No row has the last number.
            Self::AfterHole(None) => Some(format!("0-{}", sandhog_model::JobId(0))),
            Self::AfterHole(Some(name)) => Some(format!("@{name}")),
        }
    }
}

/// A letter that fits as far as the index knows.
struct Candidate {
    row: DeadRow,
    at: Position,
    facts: Option<Facts>,
    note: Option<Note>,
}

/// A part of a walk.
struct Part {
    found: Vec<Candidate>,
    file: Option<Arc<dyn DiskFile>>,
    /// Where to go on; `None` at the end.
    next: Option<Position>,
}

impl DeadStore {
    /// Letters, newest first by the time of death, then entries that cannot be read, which only the
    /// filter for them and an empty one show.
    ///
    /// A text is searched in a bounded number of letters for each page, so that such a page may have
    /// fewer rows than asked for, even none, and still a `next`.
    pub fn list(&self, filter: &DeadFilter, page: &PageRequest) -> Result<Page<DeadRow>, BadList> {
        let limit = page.limit.clamp(1, 1000);
        let text = check(filter)?;
        let mut at = Position::parse(page.cursor.as_deref())?;
        let mut budget = Budget::default();
        let mut rows = Vec::new();
        loop {
            let part = self.part(filter, at, limit - rows.len() + 1);
            for mut candidate in part.found {
                if rows.len() == limit {
                    // Without a text to look for, this one is the next page's first.
                    return Ok(Page {
                        rows,
                        next: at.cursor(),
                    });
                }
                at = candidate.at;
                let fits = fill(&mut candidate, part.file.as_deref(), text.as_deref());
                budget.spend(&candidate);
                if fits {
                    rows.push(candidate.row);
                }
                if text.is_some() && budget.is_spent() {
                    return Ok(Page {
                        rows,
                        next: at.cursor(),
                    });
                }
            }
            match part.next {
                Some(next) => at = next,
                None => return Ok(Page { rows, next: None }),
            }
        }
    }

    /// How many letters a list would show from a cursor on. Without a text to look for no letter is
    /// read, and all are counted at once.
    pub fn count(&self, filter: &DeadFilter, cursor: Option<&str>) -> Result<DeadCount, BadList> {
        let text = check(filter)?;
        let mut at = Position::parse(cursor)?;
        if filter.is_empty() && at == Position::Start {
            let inner = self.inner();
            let count = (inner.index.len() + inner.index.holes().count()) as u64;
            return Ok(DeadCount { count, next: None });
        }
        let (mut count, mut budget) = (0, Budget::default());
        loop {
            let part = self.part(filter, at, PART);
            for mut candidate in part.found {
                at = candidate.at;
                let fits = match &text {
                    Some(text) => fill(&mut candidate, part.file.as_deref(), Some(text)),
                    None => true,
                };
                count += u64::from(fits);
                budget.spend(&candidate);
                if text.is_some() && budget.is_spent() {
                    return Ok(DeadCount {
                        count,
                        next: at.cursor(),
                    });
                }
            }
            match part.next {
                Some(next) => at = next,
                None => return Ok(DeadCount { count, next: None }),
            }
        }
    }

    /// Look at the next letters from a position, until so many fit or enough were looked at.
    fn part(&self, filter: &DeadFilter, from: Position, most: usize) -> Part {
        let inner = self.inner();
        let index = &inner.index;
        let wanted = Wanted::new(filter, index);
        let mut part = Part {
            found: Vec::new(),
            file: inner.file.file.clone(),
            next: None,
        };
        let holes_from = match from {
            Position::AfterHole(name) => name,
            Position::Start | Position::After(_) => {
                let after = match from {
                    Position::After(order) => Some(order),
                    Position::Start | Position::AfterHole(_) => None,
                };
                let letters = index
                    .letters_after(after)
                    .take_while(|_| !filter.unreadable);
                for (seen, (order, facts)) in letters.enumerate() {
                    if seen == PART || part.found.len() == most {
                        return part;
                    }
                    part.next = Some(Position::After(order));
                    if wanted.fits(order, facts) {
                        part.found.push(candidate(index, order, facts));
                    }
                }
                None
            }
        };
        part.next = None;
        let only_holes = DeadFilter {
            unreadable: false,
            ..filter.clone()
        };
        if only_holes.is_empty() {
            for (name, hole) in index.holes_after(holes_from) {
                if part.found.len() == most {
                    let last = part.found.last().map(|last| last.at);
                    part.next = last;
                    break;
                }
                let shown = hole.id.filter(|id| index.order(*id).is_none());
                let shown = shown.filter(|id| index.hole_of(*id) == Some(name));
                let shown = shown.map_or(LetterName::Place(name), LetterName::Job);
                part.found.push(Candidate {
                    row: DeadRow::unreadable(shown, hole.place.len, hole.why.clone()),
                    at: Position::AfterHole(Some(name)),
                    facts: None,
                    note: None,
                });
            }
        }
        part
    }
}

/// What one page may still read in search of a text.
#[derive(Default)]
struct Budget {
    letters: usize,
    bytes: u64,
}

impl Budget {
    fn spend(&mut self, candidate: &Candidate) {
        self.letters += 1;
        if candidate.row.bytes <= LARGE_BYTES {
            self.bytes += candidate.row.bytes;
        }
    }

    fn is_spent(&self) -> bool {
        self.letters >= SEARCH_LETTERS || self.bytes >= SEARCH_BYTES
    }
}

fn candidate(index: &Index, order: Order, facts: &Facts) -> Candidate {
    let digest = index.names.text(facts.digest);
    let note = (facts.place().len > LARGE_BYTES)
        .then(|| index.note(order.id()).cloned())
        .flatten();
    let row = DeadRow {
        name: LetterName::Job(order.id()),
        kind: index.names.text(facts.kind).to_owned(),
        queue: index.names.text(facts.queue).to_owned(),
        died_at: order.died_at(),
        token: facts.token,
        attempts: facts.attempts,
        last: facts.last,
        max_attempts: facts.max_attempts,
        failure: FailureRow {
            kind: facts.failure.unwrap_or(FailureKind::Lost),
            cause: "the letter holds no failed attempt".to_owned(),
            hint: None,
        },
        digest: Some(digest.to_owned()).filter(|digest| !digest.is_empty()),
        bytes: facts.place().len,
        unreadable: None,
    };
    Candidate {
        row,
        at: Position::After(order),
        facts: Some(*facts),
        note,
    }
}

/// Read what the index does not know of a row. Gives whether the row has the text. A letter that
/// cannot be read any more has every text: it is shown rather than lost.
fn fill(candidate: &mut Candidate, file: Option<&dyn DiskFile>, text: Option<&str>) -> bool {
    let (row, Some(facts)) = (&mut candidate.row, &candidate.facts) else {
        return text.is_none();
    };
    if let Some(note) = candidate.note.take() {
        let found = text.is_none_or(|text| {
            let parts = [
                note.code.as_str(),
                &note.cause,
                row.failure.kind.name(),
                &row.kind,
            ];
            has(text, parts.into_iter().chain(note.hint.as_deref()))
        });
        if facts.failure.is_some() {
            (row.failure.cause, row.failure.hint) = (note.cause, note.hint);
        }
        return found;
    }
    let read = match file {
        Some(file) => with_body(file, facts.place(), |body| match head::head(body)? {
            EntryHead::Letter(letter) => {
                if let Some(failure) = letter.failure() {
                    row.failure.cause = failure.cause.to_owned();
                    row.failure.hint = failure.hint.map(str::to_owned);
                }
                Ok(text.is_none_or(|text| is_in(text, &letter)))
            }
            EntryHead::Tombstone { .. } | EntryHead::Unreadable(_) | EntryHead::Cleared { .. } => {
                Err("an entry that is no letter".to_owned())
            }
        }),
        None => Err("there is no file".to_owned()),
    };
    read.unwrap_or_else(|why| {
        row.failure = unreadable_failure(&why);
        row.unreadable = Some(why);
        true
    })
}

/// Whether a letter has a text.
fn is_in(text: &str, letter: &LetterHead<'_>) -> bool {
    let failure = letter.failure();
    let parts = failure.into_iter().flat_map(|failure| {
        let sure = [failure.code, failure.cause, failure.kind.name()];
        sure.into_iter().chain(failure.hint).chain(failure.panic)
    });
    has(text, parts.chain([letter.job.kind]))
        || has(text, [&*String::from_utf8_lossy(letter.job.payload)])
}

fn has<'a>(text: &str, parts: impl IntoIterator<Item = &'a str>) -> bool {
    parts
        .into_iter()
        .any(|part| part.to_lowercase().contains(text))
}
