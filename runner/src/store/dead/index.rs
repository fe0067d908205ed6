//! What is kept in memory of each letter: small facts, and where the rest lies.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    ops::Bound,
};

use sandhog_model::{FailureKind, JobId, Token, UnixMs};

use super::{
    head::LetterHead,
    names::{Name, Names},
    view::{LetterBounds, PurgeReason},
};

/// Garbage below this many bytes is left in the file.
const GARBAGE_BYTES: u64 = 1 << 20;
/// A letter with more bytes is not read for a list: what a row shows of it stays in memory.
pub(super) const LARGE_BYTES: u64 = 64 << 10;
/// Bytes of a large letter's cause, and of its hint, kept in memory.
const NOTE_BYTES: usize = 512;

/// Where an entry's frame lies in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// An id in a form that packs well.
type Bits = [u64; 2];

fn bits(id: JobId) -> Bits {
    [(id.0 >> 64) as u64, id.0 as u64]
}

/// The order of letters: newest first by the time of death.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order(Reverse<u64>, Reverse<Bits>);

impl Order {
    pub(super) fn new(died_at: UnixMs, id: JobId) -> Self {
        Self(Reverse(died_at.0), Reverse(bits(id)))
    }

    pub(super) fn id(self) -> JobId {
        let Reverse([high, low]) = self.1;
        JobId((u128::from(high) << 64) | u128::from(low))
    }

    pub(super) fn died_at(self) -> UnixMs {
        UnixMs(self.0.0)
    }
}

/// What is known of one letter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) token: Token,
    offset: u64,
    len: u32,
    pub(super) kind: Name,
    pub(super) queue: Name,
    pub(super) digest: Name,
    pub(super) attempts: u32,
    /// The number of the last of them.
    pub(super) last: u32,
    pub(super) max_attempts: u32,
    /// `None` when the letter holds no failed attempt.
    pub(super) failure: Option<FailureKind>,
}

impl Facts {
    pub(super) fn place(&self) -> Place {
        Place {
            offset: self.offset,
            len: u64::from(self.len),
        }
    }

    pub(super) fn set_place(&mut self, place: Place) {
        self.offset = place.offset;
        // A frame holds 16 MiB at most.
        self.len = u32::try_from(place.len).unwrap_or(u32::MAX);
    }
}

/// What a row shows of a large letter's last failure.
#[derive(Debug, Clone)]
pub(super) struct Note {
    pub(super) code: String,
    pub(super) cause: String,
    pub(super) hint: Option<String>,
}

/// A letter as it is taken into the index.
pub(super) struct Entering {
    pub(super) id: JobId,
    pub(super) died_at: UnixMs,
    pub(super) facts: Facts,
    pub(super) note: Option<Note>,
}

impl Entering {
    pub(super) fn new(head: &LetterHead<'_>, place: Place, names: &mut Names) -> Self {
        let failure = head.failure();
        let note = (place.len > LARGE_BYTES).then(|| Note {
            code: failure.map_or("", |failure| failure.code).to_owned(),
            cause: failure.map_or_else(String::new, |failure| start(failure.cause)),
            hint: failure.and_then(|failure| failure.hint).map(start),
        });
        Self {
            id: head.job.id,
            died_at: head.died_at,
            facts: Facts {
                token: head.token,
                offset: place.offset,
                // A frame holds 16 MiB at most.
                len: u32::try_from(place.len).unwrap_or(u32::MAX),
                kind: names.number(head.job.kind),
                queue: names.number(head.job.queue),
                digest: names.number(head.digest()),
                attempts: head.attempts.len() as u32,
                last: head.attempts.last().map_or(0, |last| last.number),
                max_attempts: head.job.retry.max_attempts(),
                failure: failure.map(|failure| failure.kind),
            },
            note,
        }
    }
}

/// The beginning of a text, for a row.
fn start(text: &str) -> String {
    let end = text.floor_char_boundary(NOTE_BYTES);
    let more = if end < text.len() { "…" } else { "" };
    format!("{}{more}", &text[..end])
}

/// An entry that cannot be read.
#[derive(Debug, Clone)]
pub(super) struct Hole {
    /// The id it seems to be about.
    pub(super) id: Option<JobId>,
    pub(super) place: Place,
    pub(super) why: String,
}

/// All letters, by id and newest first.
#[derive(Default)]
pub(super) struct Index {
    pub(super) names: Names,
    letters: BTreeMap<Order, Facts>,
    died: HashMap<Bits, u64>,
    large: HashMap<Bits, Note>,
    /// By name.
    holes: BTreeMap<u64, Hole>,
    letter_bytes: u64,
    hole_bytes: u64,
    garbage_bytes: u64,
    /// Set after a rewrite that failed: not tried again before there is so much garbage.
    not_before: u64,
}

impl Index {
    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    pub(super) fn order(&self, id: JobId) -> Option<Order> {
        let died_at = self.died.get(&bits(id))?;
        Some(Order::new(UnixMs(*died_at), id))
    }

    pub(super) fn get(&self, id: JobId) -> Option<(Order, Facts)> {
        let order = self.order(id)?;
        Some((order, *self.letters.get(&order)?))
    }

    pub(super) fn note(&self, id: JobId) -> Option<&Note> {
        self.large.get(&bits(id))
    }

    pub(super) fn tokens(&self) -> Vec<(JobId, Token)> {
        let letters = self.letters.iter();
        letters
            .map(|(order, facts)| (order.id(), facts.token))
            .collect()
    }

    pub(super) fn insert(&mut self, entering: Entering) {
        self.remove(entering.id);
        let (id, died_at) = (bits(entering.id), entering.died_at);
        self.letter_bytes += u64::from(entering.facts.len);
        self.letters
            .insert(Order::new(died_at, entering.id), entering.facts);
        self.died.insert(id, died_at.0);
        if let Some(note) = entering.note {
            self.large.insert(id, note);
        }
    }

    /// Take out what there is of an id: its letter, and unreadable entries that seem to be about it,
    /// which whatever comes now replaces.
    pub(super) fn remove(&mut self, id: JobId) {
        if let Some(order) = self.order(id) {
            self.died.remove(&bits(id));
            self.large.remove(&bits(id));
            if let Some(facts) = self.letters.remove(&order) {
                self.letter_bytes -= u64::from(facts.len);
                self.garbage_bytes += u64::from(facts.len);
            }
        }
        if !self.holes.is_empty() {
            let of_id = self.holes.iter().filter(|(_, hole)| hole.id == Some(id));
            let names: Vec<u64> = of_id.map(|(name, _)| *name).collect();
            for name in names {
                self.remove_hole(name);
            }
        }
    }

    /// Take in an entry that cannot be read. Gives its name: where it was found first, or the next
    /// number that is free.
    pub(super) fn insert_hole(&mut self, at: u64, hole: Hole) -> u64 {
        let mut name = at;
        while self.holes.contains_key(&name) {
            name += 1;
        }
        self.hole_bytes += hole.place.len;
        self.holes.insert(name, hole);
        name
    }

    pub(super) fn remove_hole(&mut self, name: u64) -> bool {
        let Some(hole) = self.holes.remove(&name) else {
            return false;
        };
        self.hole_bytes -= hole.place.len;
        self.garbage_bytes += hole.place.len;
        true
    }

    pub(super) fn hole(&self, name: u64) -> Option<&Hole> {
        self.holes.get(&name)
    }

    /// The unreadable entry that seems to be about a job.
    pub(super) fn hole_of(&self, id: JobId) -> Option<u64> {
        let mut holes = self.holes.iter();
        holes
            .find(|(_, hole)| hole.id == Some(id))
            .map(|(name, _)| *name)
    }

    pub(super) fn holes(&self) -> impl Iterator<Item = (u64, &Hole)> {
        self.holes.iter().map(|(name, hole)| (*name, hole))
    }

    pub(super) fn holes_after(&self, name: Option<u64>) -> impl Iterator<Item = (u64, &Hole)> {
        let from = name.map_or(Bound::Unbounded, Bound::Excluded);
        let holes = self.holes.range((from, Bound::Unbounded));
        holes.map(|(name, hole)| (*name, hole))
    }

    pub(super) fn letters_after(
        &self,
        order: Option<Order>,
    ) -> impl Iterator<Item = (Order, &Facts)> {
        let from = order.map_or(Bound::Unbounded, Bound::Excluded);
        let letters = self.letters.range((from, Bound::Unbounded));
        letters.map(|(order, facts)| (*order, facts))
    }

    pub(super) fn add_garbage(&mut self, bytes: u64) {
        self.garbage_bytes += bytes;
    }

    /// Whether most of the file is entries that no longer count.
    pub(super) fn wants_rewrite(&self) -> bool {
        let garbage = self.garbage_bytes;
        garbage > self.letter_bytes + self.hole_bytes
            && garbage > GARBAGE_BYTES.max(self.not_before)
    }

    /// A rewrite failed: wait until it is worth more.
    pub(super) fn put_off_rewrite(&mut self) {
        self.not_before = self.garbage_bytes.saturating_mul(2);
    }

    /// The ids and places of all letters in the order in which they lie in the file.
    pub(super) fn places(&self) -> Vec<(JobId, Place)> {
        let letters = self.letters.iter();
        let mut places: Vec<_> = letters
            .map(|(order, facts)| (order.id(), facts.place()))
            .collect();
        places.sort_unstable_by_key(|(_, place)| place.offset);
        places
    }

    /// The file was written anew with `bytes` of entries; `to` says where an entry lies now. One
    /// that lost its frame in between is a hole now.
    pub(super) fn moved(&mut self, bytes: u64, to: impl Fn(Place) -> Option<Place>) {
        (self.letter_bytes, self.hole_bytes) = (0, 0);
        for facts in self.letters.values_mut() {
            if let Some(place) = to(facts.place()) {
                facts.set_place(place);
            }
            self.letter_bytes += u64::from(facts.len);
        }
        for hole in self.holes.values_mut() {
            if let Some(place) = to(hole.place) {
                hole.place = place;
            }
            self.hole_bytes += hole.place.len;
        }
        self.garbage_bytes = bytes.saturating_sub(self.letter_bytes + self.hole_bytes);
        self.not_before = 0;
    }

    /// The letters that the bounds are against, oldest first, when `staged` are taken in as well. At
    /// most `most` of them, and how many there are beyond those.
    pub(super) fn against(
        &self,
        bounds: &LetterBounds,
        now: UnixMs,
        staged: &[(Order, u64)],
        most: usize,
    ) -> (Vec<(JobId, PurgeReason)>, u64) {
        let mut staged: Vec<(Order, u64)> = staged.to_vec();
        staged.sort_unstable();
        let mut number = (self.letters.len() + staged.len()) as u64;
        let mut bytes = self.letter_bytes + staged.iter().map(|(_, len)| len).sum::<u64>();
        let own = self.letters.iter().rev();
        let mut own = own
            .map(|(order, facts)| (*order, u64::from(facts.len)))
            .peekable();
        let (mut against, mut left) = (Vec::new(), 0);
        loop {
            let next = match (own.peek(), staged.last()) {
                (Some((mine, _)), Some((theirs, _))) if mine < theirs => staged.pop(),
                (None, Some(_)) => staged.pop(),
                (Some(_), Some(_) | None) => own.next(),
                (None, None) => break,
            };
            let Some((order, len)) = next else {
                break;
            };
            let old = bounds
                .keep_ms
                .is_some_and(|keep| now.since(order.died_at()) > keep);
            let many = bounds.max_letters.is_some_and(|most| number > most);
            let large = bounds.max_bytes.is_some_and(|most| bytes > most) && number > 1;
            let reason = match (old, many, large) {
                (true, _, _) => PurgeReason::Age,
                (false, true, _) => PurgeReason::Number,
                (false, false, true) => PurgeReason::Bytes,
                // All others are younger, and fewer.
                (false, false, false) => break,
            };
            number -= 1;
            bytes = bytes.saturating_sub(len);
            if against.len() < most {
                against.push((order.id(), reason));
            } else {
                left += 1;
            }
        }
        (against, left)
    }
}
