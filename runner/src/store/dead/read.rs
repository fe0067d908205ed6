//! Looking at letters: which bounds are against, one whole, one as its bytes.

use sandhog_model::{JobId, Letter, UnixMs};

use super::{DeadStore, LetterBounds, LetterName, Purged, RawLetter, file, index::Order};
use crate::{disk::DiskError, store::StoreError};

impl DeadStore {
    /// Whether there is such a letter, or such an unreadable entry.
    #[must_use]
    pub fn has(&self, name: LetterName) -> bool {
        let inner = self.inner();
        match name {
            LetterName::Place(at) => inner.index.hole(at).is_some(),
            LetterName::Job(id) => {
                inner.index.order(id).is_some() || inner.index.hole_of(id).is_some()
            }
        }
    }

    /// The letters that bounds are against, oldest first, staged ones included: at most `most` of
    /// them, and how many there are beyond those.
    #[must_use]
    pub fn against(&self, bounds: &LetterBounds, now: UnixMs, most: usize) -> Purged {
        let inner = self.inner();
        let staged = inner.staged.iter();
        let staged: Vec<(Order, u64)> = staged
            .map(|letter| {
                let order = Order::new(letter.died_at, letter.id);
                (order, letter.facts.place().len)
            })
            .collect();
        let (letters, left) = inner.index.against(bounds, now, &staged, most);
        Purged { letters, left }
    }

    /// One letter.
    pub fn letter(&self, id: JobId) -> Result<Option<Letter>, StoreError> {
        let (place, file) = {
            let inner = self.inner();
            (inner.index.get(id), inner.file.file.clone())
        };
        match (place, file) {
            (Some((_, facts)), Some(file)) => file::letter(&*file, facts.place()).map(Some),
            (None, _) | (_, None) => Ok(None),
        }
    }

    /// The bytes of a letter as they lie in the file, whether they can be read or not.
    pub fn raw(&self, name: LetterName) -> Result<Option<RawLetter>, StoreError> {
        let (found, file) = {
            let inner = self.inner();
            let hole = |at: u64| {
                inner
                    .index
                    .hole(at)
                    .map(|hole| (hole.place, Some(hole.why.clone())))
            };
            let found = match name {
                LetterName::Place(at) => hole(at),
                LetterName::Job(id) => match inner.index.get(id) {
                    Some((_, facts)) => Some((facts.place(), None)),
                    None => inner.index.hole_of(id).and_then(hole),
                },
            };
            (found, inner.file.file.clone())
        };
        let (Some((place, why)), Some(file)) = (found, file) else {
            return Ok(None);
        };
        let read = |error: DiskError| StoreError::Damaged {
            path: error.path.display().to_string(),
            offset: place.offset,
            why: error.to_string(),
        };
        let bytes = file::raw(&*file, place).map_err(read)?;
        let (bytes, why) = match (why, file::with_body(&*file, place, file::kept)) {
            // What a rewrite wrapped is shown as it was found.
            (Some(why), Ok(Some(kept))) => (kept, Some(why)),
            (Some(why), Ok(None) | Err(_)) => (bytes, Some(why)),
            (None, Ok(_)) => (bytes, None),
            (None, Err(why)) => (bytes, Some(why)),
        };
        Ok(Some(RawLetter {
            name,
            unreadable: why,
            bytes,
        }))
    }
}
