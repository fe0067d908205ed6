//! Writing the file anew without what no longer counts, beside whoever appends to it.
//!
//! The letters are copied off the lock; then what was appended meanwhile, until little is left; then
//! the rest under the lock, and the new file takes the old one's name. Everything in it is synced
//! before it gets that name, so a crash leaves the one file or the other, both whole.

use std::{collections::HashMap, sync::Arc};

use sandhog_model::{JobId, limits::BODY_BYTES};

use super::{
    DeadStore, Inner,
    file::{self, DeadEntry, LETTERS_FILE, NEW_FILE, START, Unreadable, raw, seed},
    head::{EntryHead, head},
    index::{Hole, Place},
};
use crate::{
    disk::{DiskError, DiskFile, OpenMode},
    store::frames::{self, First},
};

/// Bytes gathered before a write.
const WRITE_BYTES: usize = 1 << 20;
/// Bytes appended meanwhile that are left for the time under the lock.
const LAST_BYTES: u64 = 64 << 10;
/// Bytes of a broken part that one entry holds: a frame has room for 16 MiB.
const PART_BYTES: u64 = 8 << 20;

/// How a rewrite ended without a new file.
enum Stopped {
    /// The store closes, or a write failed elsewhere: what is half done is left.
    Closing,
    Disk(DiskError),
}

impl From<DiskError> for Stopped {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

/// A file in the making.
struct Copy {
    old: Arc<dyn DiskFile>,
    new: Arc<dyn DiskFile>,
    /// Up to where the old file was copied.
    copied_to: u64,
    written: u64,
    buffer: Vec<u8>,
    next_sequence: u64,
    /// Where an entry of the old file lies now, by its offset.
    moved: HashMap<u64, Place>,
    /// Letters that were found broken, and what took their place.
    broken: Vec<(JobId, u64, Hole)>,
    /// Parts of holes that were too large for one entry.
    parts: Vec<(u64, Hole)>,
}

impl DeadStore {
    /// Whether a rewrite is worth its while.
    #[must_use]
    pub fn wants_rewrite(&self) -> bool {
        let inner = self.inner();
        !inner.rewriting && !inner.file.broken && inner.index.wants_rewrite()
    }

    /// Write the file anew if most of it no longer counts. Others read and append meanwhile. Gives
    /// whether it was written; when it cannot be, the old file still has everything.
    pub fn rewrite(&self) -> Result<bool, DiskError> {
        {
            let mut inner = self.inner();
            if inner.rewriting || inner.file.broken || !inner.index.wants_rewrite() {
                return Ok(false);
            }
            inner.rewriting = true;
        }
        let done = self.copy_and_swap();
        let mut inner = self.inner();
        inner.rewriting = false;
        match done {
            Ok(()) => Ok(true),
            Err(Stopped::Closing) => Ok(false),
            Err(Stopped::Disk(error)) => {
                inner.index.put_off_rewrite();
                if !inner.file.broken {
                    let _ = inner.file.disk.remove(&inner.file.dir.join(NEW_FILE));
                }
                Err(error)
            }
        }
    }

    fn copy_and_swap(&self) -> Result<(), Stopped> {
        let (mut copy, letters, holes) = self.begin()?;
        for (name, hole) in holes {
            drop(self.go_on()?);
            copy.hole(name, &hole)?;
        }
        for (id, place) in letters {
            copy.letter(id, place)?;
            if copy.buffer.len() >= WRITE_BYTES {
                drop(self.go_on()?);
                copy.write()?;
            }
        }
        copy.write()?;
        copy.new.sync()?;
        loop {
            let end = {
                let inner = self.go_on()?;
                inner.file.end
            };
            if end - copy.copied_to <= LAST_BYTES {
                break;
            }
            copy.appended(end)?;
            copy.new.sync()?;
        }
        let mut inner = self.go_on()?;
        let end = inner.file.end;
        copy.appended(end)?;
        copy.new.sync()?;
        swap(&mut inner, copy)?;
        Ok(())
    }

    /// The lock, unless the store closes.
    fn go_on(&self) -> Result<std::sync::MutexGuard<'_, Inner>, Stopped> {
        let inner = self.inner();
        if inner.file.broken {
            return Err(Stopped::Closing);
        }
        Ok(inner)
    }

    #[allow(clippy::type_complexity)]
    fn begin(&self) -> Result<(Copy, Vec<(JobId, Place)>, Vec<(u64, Hole)>), Stopped> {
        let inner = self.go_on()?;
        let old = inner.file.writable("rewrite")?;
        let new = inner.file.dir.join(NEW_FILE);
        let copy = Copy {
            old,
            new: inner.file.disk.open(&new, OpenMode::Replace)?,
            // Letters that wait for their sync are among what was appended.
            copied_to: first_staged(&inner).unwrap_or(inner.file.end),
            written: 0,
            buffer: file::header().to_vec(),
            next_sequence: 1,
            moved: HashMap::new(),
            broken: Vec::new(),
            parts: Vec::new(),
        };
        let holes = inner.index.holes().map(|(name, hole)| (name, hole.clone()));
        let holes = holes.collect();
        let mut letters = inner.index.places();
        letters.retain(|(_, place)| place.offset < copy.copied_to);
        Ok((copy, letters, holes))
    }
}

impl Copy {
    fn write(&mut self) -> Result<(), DiskError> {
        self.new.write_at(self.written, &self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Everything in the new file is synced before it gets its name: no entry of it was ever written
    /// together with those before it.
    fn put(&mut self, body: &[u8]) -> Place {
        let offset = self.written + self.buffer.len() as u64;
        let sequence = self.next_sequence;
        frames::put(&mut self.buffer, seed(), sequence, sequence, body);
        self.next_sequence += 1;
        Place {
            offset,
            len: self.written + self.buffer.len() as u64 - offset,
        }
    }

    fn letter(&mut self, id: JobId, place: Place) -> Result<(), DiskError> {
        let old = raw(&*self.old, place)?;
        if let First::Frame(frame) = frames::first(&old, seed()) {
            let to = self.put(frame.body);
            self.moved.insert(place.offset, to);
            return Ok(());
        }
        // Rotted since the open: kept as it is, so that it is not lost silently.
        let hole = Hole {
            id: Some(id),
            place,
            why: "it no longer matched its checksum when the file was written anew".to_owned(),
        };
        let place = self.wrap(place.offset, &hole)?;
        self.broken
            .push((id, hole.place.offset, Hole { place, ..hole }));
        Ok(())
    }

    /// Keep an unreadable entry: one that a rewrite wrapped before as it is, another in a frame.
    fn hole(&mut self, name: u64, hole: &Hole) -> Result<(), DiskError> {
        let mut to = None;
        if hole.place.len <= frames::framed_len(BODY_BYTES) as u64 {
            let bytes = raw(&*self.old, hole.place)?;
            if let First::Frame(frame) = frames::first(&bytes, seed())
                && matches!(head(frame.body), Ok(EntryHead::Unreadable(_)))
            {
                to = Some(self.put(frame.body));
            }
        }
        let to = match to {
            Some(to) => to,
            None => self.wrap(name, hole)?,
        };
        self.moved.insert(hole.place.offset, to);
        self.write()
    }

    /// Put unreadable bytes into sound frames, in parts when they are many. Gives the first one's
    /// place.
    fn wrap(&mut self, name: u64, hole: &Hole) -> Result<Place, DiskError> {
        let mut first = None;
        let mut done = 0;
        while done < hole.place.len {
            let len = PART_BYTES.min(hole.place.len - done);
            let offset = hole.place.offset + done;
            let entry = Unreadable {
                id: hole.id.filter(|_| done == 0),
                at: name + done,
                why: hole.why.clone(),
                bytes: raw(&*self.old, Place { offset, len })?,
            };
            let place = self.put(&frames::encode_entry(&DeadEntry::Unreadable(entry)));
            if done > 0 {
                let part = Hole {
                    id: None,
                    place,
                    why: hole.why.clone(),
                };
                self.parts.push((name + done, part));
            }
            first.get_or_insert(place);
            self.write()?;
            done += len;
        }
        Ok(first.unwrap_or(hole.place))
    }

    /// Copy what was appended up to `end`, in its order.
    fn appended(&mut self, end: u64) -> Result<(), DiskError> {
        while self.copied_to < end {
            let offset = self.copied_to;
            let header = raw(&*self.old, Place { offset, len: 4 })?;
            let body = header
                .first_chunk::<4>()
                .map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
            let len = (frames::framed_len(body) as u64).min(end - offset);
            let bytes = raw(&*self.old, Place { offset, len })?;
            match frames::first(&bytes, seed()) {
                First::Frame(frame) => {
                    let to = self.put(frame.body);
                    self.moved.insert(offset, to);
                }
                // Rotted within moments; where the next one begins is not sure any more.
                First::Short { .. } | First::Empty | First::Corrupt(_) => {
                    let place = Place {
                        offset,
                        len: end - offset,
                    };
                    let why = "it does not read back as it was written".to_owned();
                    let cause = std::io::Error::other(format!("{why}, at byte {}", place.offset));
                    return Err(DiskError::new("rewrite", self.old.path(), &cause));
                }
            }
            self.copied_to = offset + len;
            if self.buffer.len() >= WRITE_BYTES {
                self.write()?;
            }
        }
        self.write()
    }
}

/// Where the first letter lies that waits for its sync.
fn first_staged(inner: &Inner) -> Option<u64> {
    let places = inner
        .staged
        .iter()
        .map(|letter| letter.facts.place().offset);
    places.min()
}

/// Put the new file in the old one's place.
fn swap(inner: &mut Inner, copy: Copy) -> Result<(), DiskError> {
    let (disk, dir) = (inner.file.disk.clone(), inner.file.dir.clone());
    let path = dir.join(LETTERS_FILE);
    let renamed = disk
        .rename(&dir.join(NEW_FILE), &path)
        .and_then(|()| disk.sync_dir(&dir))
        .and_then(|()| disk.open(&path, OpenMode::Write));
    // Which of the two files a restart finds is not known after a failure here.
    inner.file.broken = renamed.is_err();
    inner.file.file = Some(renamed?);
    inner.file.end = copy.written;
    inner.file.next_sequence = copy.next_sequence;
    inner.file.unsynced_from = copy.next_sequence;
    let moved = |place: Place| copy.moved.get(&place.offset).copied();
    for letter in &mut inner.staged {
        if let Some(to) = moved(letter.facts.place()) {
            letter.facts.set_place(to);
        }
    }
    for (id, offset, hole) in copy.broken {
        // Unless it was taken out meanwhile: then the tombstone behind it counts.
        let is_it = |at: Place| at.offset == offset;
        if inner
            .index
            .get(id)
            .is_some_and(|(_, facts)| is_it(facts.place()))
        {
            inner.index.remove(id);
            inner.index.insert_hole(offset, hole);
        }
    }
    for (name, hole) in copy.parts {
        inner.index.insert_hole(name, hole);
    }
    inner.index.moved(copy.written - START, moved);
    Ok(())
}
