//! Looking at the plugin folder, and reading one file of it.

use std::{
    collections::BTreeMap,
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::fs::OFlags;

use super::Fault;
use crate::plugin::bytes::human_bytes;

/// Files looked at in one folder.
const FILES: usize = 1_024;
/// How long ago a file was touched that is surely not being written; its time is known to the second.
const RESTS: Duration = Duration::from_secs(3);
/// Longest plugin name, in bytes.
const NAME_BYTES: usize = 64;

/// What tells one state of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The state of a file that has this metadata.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether nobody touched the file for so long that it is not being written, as far as the clock can
    /// be believed. What is older than that needs no second look.
    pub(crate) fn rests(self, now: SystemTime) -> bool {
        let changed = u64::try_from(self.changed.0).map(Duration::from_secs);
        let changed = changed.ok().and_then(|since| UNIX_EPOCH.checked_add(since));
        changed.is_some_and(|at| now.duration_since(at).is_ok_and(|age| age > RESTS))
    }
}

/// One `.wasm` entry of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sighting {
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
    /// Why the entry can be no plugin, whatever is in it.
    pub(crate) fault: Option<Fault>,
}

/// Every `.wasm` entry by its name without the ending.
pub(crate) fn look(folder: &Path) -> io::Result<BTreeMap<String, Sighting>> {
    let mut seen = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != "wasm") {
            continue;
        }
        // It may be gone again between the listing and here.
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        let Some(stem) = path.file_stem() else {
            continue;
        };
        let name = stem.to_string_lossy().into_owned();
        let fault = entry_fault(&name, &metadata);
        let stamp = Stamp::of(&metadata);
        seen.insert(name, Sighting { path, stamp, fault });
    }
    // The same ones are left out at every look.
    for sighting in seen.values_mut().skip(FILES) {
        sighting.fault = Some(Fault::new(
            format!("the plugin folder has more than {FILES} files"),
            "move plugins that are not needed out of it",
        ));
    }
    Ok(seen)
}

fn entry_fault(name: &str, metadata: &Metadata) -> Option<Fault> {
    let fits = name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte));
    if !fits || name.is_empty() || name.len() > NAME_BYTES {
        return Some(Fault::new(
            format!("{name:?} is no plugin name"),
            format!("name the file with 1 to {NAME_BYTES} of a-z, 0-9, _ and -"),
        ));
    }
    if metadata.is_symlink() {
        return Some(Fault::new(
            "a symbolic link is not followed",
            "copy the component itself into the folder",
        ));
    }
    if !metadata.is_file() {
        return Some(Fault::new(
            "not a regular file",
            "put a component file in its place",
        ));
    }
    None
}

/// What reading a file came to.
pub(crate) enum Reading {
    /// All of it, in the state the stamp says.
    Whole(Vec<u8>),
    /// It was changed meanwhile: look again later.
    Unsettled,
    /// It cannot be read.
    Faulty(Fault),
}

/// Read a file that was seen with `stamp`, at most `max_file` bytes of it.
pub(crate) fn read(path: &Path, stamp: Option<Stamp>, max_file: u64) -> Reading {
    match read_whole(path, stamp, max_file) {
        Ok(reading) => reading,
        Err(error) if error.kind() == io::ErrorKind::NotFound && stamp.is_some() => {
            Reading::Unsettled
        }
        Err(error) => Reading::Faulty(Fault::passing(
            format!("cannot be read: {error}"),
            "give the runner's user the right to read it",
        )),
    }
}

fn read_whole(path: &Path, stamp: Option<Stamp>, max_file: u64) -> io::Result<Reading> {
    let file = open(path)?;
    let before = file.metadata()?;
    if !before.is_file() {
        return Ok(Reading::Faulty(Fault::new(
            "not a regular file",
            "put a component file in its place",
        )));
    }
    if before.len() > max_file {
        return Ok(Reading::Faulty(Fault::new(
            format!(
                "{} are over the limit of {}",
                human_bytes(before.len()),
                human_bytes(max_file)
            ),
            "build it smaller (`opt-level = \"s\"`, `lto = true`, `strip = \"debuginfo\"` in its release profile), or raise `max_file` under [plugins] in sandhog.toml",
        )));
    }
    let mut bytes = Vec::new();
    (&file).take(max_file + 1).read_to_end(&mut bytes)?;
    let after = Stamp::of(&file.metadata()?);
    let settled = after == Stamp::of(&before)
        && stamp.is_none_or(|stamp| stamp == after)
        && bytes.len() as u64 == before.len();
    Ok(if settled {
        Reading::Whole(bytes)
    } else {
        Reading::Unsettled
    })
}

/// Never through a link, and never waiting for the writer of a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.cast_signed())
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_rests_once_nobody_touched_it_for_a_while() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stamp = Stamp::of(&file.as_file().metadata().unwrap());
        let touched = UNIX_EPOCH + Duration::from_secs(stamp.changed.0.unsigned_abs());
        assert!(!stamp.rests(touched + RESTS));
        assert!(stamp.rests(touched + RESTS + Duration::from_millis(1)));
        // A clock that was set back says nothing.
        assert!(!stamp.rests(touched - RESTS * 2));
    }
}
