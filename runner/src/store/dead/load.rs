//! Opening: from the file's pieces to the index.

use std::{path::Path, sync::Arc};

use sandhog_model::JobId;

use super::{
    DeadDamage, DeadOpenError, DeadReport,
    file::{LettersFile, raw},
    frames,
    head::{EntryHead, guess_id},
    index::{Entering, Hole, Index, Place},
    names::Names,
    scan::Piece,
};
use crate::disk::Disk;

/// Bytes of a broken entry that are looked at for the id.
const GUESS_BYTES: u64 = 128;

/// An entry as far as the index needs it.
enum Told {
    Letter(Entering),
    Tombstone(JobId),
    Unreadable { at: u64, hole: Hole },
    Cleared(u64),
}

/// Read the letters in `dir`.
pub(super) fn load(
    disk: Arc<dyn Disk>,
    dir: &Path,
    to_write: bool,
) -> Result<(LettersFile, Index, DeadReport), DeadOpenError> {
    let mut names = Names::default();
    let mut index = Index::default();
    // The ids of holes are read when the file is open: until then by place.
    let mut holes: Vec<(u64, Place)> = Vec::new();
    let (file, mut report) = LettersFile::open(
        disk,
        dir,
        to_write,
        |place, entry| told(place, entry, &mut names),
        |piece| take(&mut index, &mut holes, piece),
    )?;
    index.names = names;
    for (name, place) in holes {
        let id = match &file.file {
            Some(file) => {
                let len = place.len.min(GUESS_BYTES);
                let start = raw(&**file, Place { len, ..place })?;
                start.get(frames::framed_len(0)..).and_then(guess_id)
            }
            None => None,
        };
        // What came behind it under this id takes its place; a letter from before does not.
        if let Some(id) = id {
            index.name_hole(name, id);
        }
    }
    let unreadable = index.holes().map(|(_, hole)| DeadDamage {
        offset: hole.place.offset,
        bytes: hole.place.len,
        why: hole.why.clone(),
    });
    report.damage = unreadable.collect();
    report.letters = index.len() as u64;
    for damage in &report.damage {
        tracing::warn!(
            dir = %dir.display(), offset = damage.offset, bytes = damage.bytes, why = damage.why,
            "a dead letter cannot be read: it is listed with its place"
        );
    }
    Ok((file, index, report))
}

fn told(place: Place, entry: Result<EntryHead<'_>, String>, names: &mut Names) -> Told {
    match entry {
        Ok(EntryHead::Letter(letter)) => Told::Letter(Entering::new(&letter, place, names)),
        Ok(EntryHead::Tombstone { id }) => Told::Tombstone(id),
        Ok(EntryHead::Unreadable(kept)) => Told::Unreadable {
            at: kept.at,
            hole: Hole {
                id: kept.id,
                place,
                why: kept.why.to_owned(),
            },
        },
        Ok(EntryHead::Cleared { at }) => Told::Cleared(at),
        Err(why) => Told::Unreadable {
            at: place.offset,
            hole: Hole {
                id: None,
                place,
                why: format!("the entry is sound but says nothing known: {why}"),
            },
        },
    }
}

fn take(index: &mut Index, holes: &mut Vec<(u64, Place)>, piece: Piece<Told>) {
    match piece {
        Piece::Entry { place, told } => match told {
            Told::Letter(letter) => index.insert(letter),
            Told::Tombstone(id) => {
                index.remove(id);
                index.add_garbage(place.len);
            }
            Told::Unreadable { at, hole } => {
                let is_new = hole.id.is_none();
                let name = index.insert_hole(at, hole);
                if is_new {
                    holes.push((name, place));
                }
            }
            Told::Cleared(at) => {
                index.remove_hole(at);
                index.add_garbage(place.len);
            }
        },
        Piece::Hole { place, why } => {
            let hole = Hole {
                id: None,
                place,
                why: why.to_owned(),
            };
            let name = index.insert_hole(place.offset, hole);
            holes.push((name, place));
        }
    }
}
