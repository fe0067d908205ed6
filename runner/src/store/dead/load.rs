//! Opening: from the file's pieces to the index.

use std::{path::Path, sync::Arc};

use sandhog_model::JobId;

use super::{
    DeadDamage, DeadOpenError, DeadReport,
    file::{LettersFile, Unknown},
    head::EntryHead,
    index::{Entering, Hole, Index, Place},
    names::Names,
    scan::Piece,
};
use crate::disk::Disk;

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
    let (file, mut report) = LettersFile::open(
        disk,
        dir,
        to_write,
        |place, entry| told(place, entry, &mut names),
        |piece, id| take(&mut index, piece, id),
    )?;
    index.names = names;
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

fn told(place: Place, entry: Result<EntryHead<'_>, Unknown>, names: &mut Names) -> Told {
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
        Err(unknown) => Told::Unreadable {
            at: place.offset,
            hole: Hole {
                id: unknown.id,
                place,
                why: format!("the entry is sound but says nothing known: {}", unknown.why),
            },
        },
    }
}

/// Take a piece in. The latest of an id wins, and an unreadable one gives way to what lies behind it;
/// beside a letter from before it has no id, or the two could not be told apart.
fn take(index: &mut Index, piece: Piece<Told>, id: Option<JobId>) {
    match piece {
        Piece::Entry { place, told } => match told {
            Told::Letter(letter) => index.insert(letter),
            Told::Tombstone(id) => {
                index.remove(id);
                index.add_garbage(place.len);
            }
            Told::Unreadable { at, mut hole } => {
                hole.id = hole.id.filter(|id| index.order(*id).is_none());
                index.insert_hole(at, hole);
            }
            Told::Cleared(at) => {
                index.remove_hole(at);
                index.add_garbage(place.len);
            }
        },
        Piece::Hole { place, why } => {
            let hole = Hole {
                id: id.filter(|id| index.order(*id).is_none()),
                place,
                why: why.to_owned(),
            };
            index.insert_hole(place.offset, hole);
        }
    }
}
