//! Putting damaged letters right: what cannot be read is copied aside, the rest stays.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use sandhog_model::codec::{HeaderVerdict, SegmentHeader};
use serde::{Deserialize, Serialize};

use super::{DeadDamage, DeadOpenError, DeadStore, Holder, LETTERS_FILE, file};
use crate::disk::{Disk, DiskError, OpenMode, read_all};

/// What was put right, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LettersMended {
    /// The file.
    pub file: PathBuf,
    /// Letters that are there.
    pub letters: u64,
    /// What cannot be read.
    pub damage: Vec<DeadDamage>,
    /// Bytes at its end that were never acknowledged.
    pub torn_tail_bytes: u64,
    /// Why its header is not one, if so.
    pub header: Option<String>,
    /// Where the whole file is kept as it was.
    pub kept: PathBuf,
}

/// Put the letters in `dir` right, or only say what would be done. `None` when nothing is wrong.
///
/// # Errors
/// They are of a newer version, another process changes them, or the file system refuses. They are
/// as they were.
pub fn mend(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    holder: &Holder,
    dry_run: bool,
) -> Result<Option<LettersMended>, DeadOpenError> {
    let path = dir.join(LETTERS_FILE);
    if !disk.exists(&path)? {
        return Ok(None);
    }
    let mut mended = LettersMended {
        file: path.clone(),
        ..LettersMended::default()
    };
    let bytes = read_all(&*disk.open(&path, OpenMode::Read)?)?;
    match DeadStore::open_to_read(disk.clone(), dir) {
        Ok(store) => {
            let report = store.report();
            if report.damage.is_empty() {
                return Ok(None);
            }
            mended.letters = report.letters;
            mended.damage.clone_from(&report.damage);
            mended.torn_tail_bytes = report.torn_tail_bytes;
        }
        Err(DeadOpenError::Foreign { path, why }) => {
            if let HeaderVerdict::Newer { .. } = SegmentHeader::decode(&bytes) {
                return Err(DeadOpenError::Foreign { path, why });
            }
            mended.header = Some(why);
        }
        Err(error) => return Err(error),
    }
    mended.kept = free_name(&**disk, dir)?;
    if !dry_run {
        keep(&**disk, dir, &mended.kept, &bytes)?;
        if mended.header.is_some() {
            // The frames vouch for themselves.
            let file = disk.open(&path, OpenMode::Write)?;
            file.write_at(0, &file::header())?;
            file.sync()?;
        }
        let store = DeadStore::open(disk.clone(), dir, holder)?;
        mended.letters = store.report().letters;
        mended.damage.clone_from(&store.report().damage);
        store.leave_out_damage()?;
        store.close();
    }
    Ok(Some(mended))
}

fn keep(disk: &dyn Disk, dir: &Path, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    let copy = disk.open(path, OpenMode::Replace)?;
    let kept = copy.write_at(0, bytes).and_then(|()| copy.sync());
    if kept.is_err() {
        // Half a copy is of no use to anyone.
        let _ = disk.remove(path);
    }
    kept?;
    disk.sync_dir(dir)
}

fn free_name(disk: &dyn Disk, dir: &Path) -> Result<PathBuf, DiskError> {
    let mut count = 1_u64;
    loop {
        let path = dir.join(format!("damaged-letters-{count}.bin"));
        if !disk.exists(&path)? {
            return Ok(path);
        }
        count += 1;
    }
}
