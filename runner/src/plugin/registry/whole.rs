//! Files of the runner's own directories: private, written whole or not at all, read without trust.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::fs::OFlags;
use thiserror::Error;

/// What a file that is being written is called until it is whole.
const NEW: &str = ".new-";
/// A file that is being written longer than this was left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(60 * 60);

/// Why a directory of the runner's own cannot be used.
#[derive(Debug, Error)]
pub enum DirError {
    /// It cannot be made, read or written.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The directory or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It belongs to someone else, who could have put anything there.
    #[error(
        "{} belongs to user {owner}, not to the runner's: remove it or name another",
        path.display()
    )]
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// Its owner's number.
        owner: u32,
    },
    /// It is a link or a file.
    #[error("{} is no directory: remove it or name another", path.display())]
    NoDirectory {
        /// The path.
        path: PathBuf,
    },
}

/// Make a directory that only the runner's user may enter, or see that it is one.
pub(crate) fn private(dir: &Path) -> Result<(), DirError> {
    let io = |source| DirError::Io {
        path: dir.to_owned(),
        source,
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(io)?;
    let metadata = fs::symlink_metadata(dir).map_err(io)?;
    if !metadata.is_dir() {
        return Err(DirError::NoDirectory {
            path: dir.to_owned(),
        });
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(DirError::NotOurs {
            path: dir.to_owned(),
            owner: metadata.uid(),
        });
    }
    if metadata.mode() & 0o077 != 0 {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map_err(io)?;
    }
    Ok(())
}

/// Put a file in its place, whole or not at all, also over a crash.
pub(crate) fn write(path: &Path, mut content: impl Read) -> Result<(), DirError> {
    let io = |source| DirError::Io {
        path: path.to_owned(),
        source,
    };
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut new = tempfile::Builder::new()
        .prefix(NEW)
        .tempfile_in(dir)
        .map_err(io)?;
    io::copy(&mut content, new.as_file_mut()).map_err(io)?;
    new.flush().map_err(io)?;
    new.as_file().sync_all().map_err(io)?;
    new.persist(path).map_err(|error| io(error.error))?;
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(io)
}

/// Open a regular file that only its owner, who is the runner's user, can write to.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.cast_signed())
        .open(path)?;
    let metadata = file.metadata()?;
    let ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_file() || !ours || metadata.mode() & 0o022 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "not a regular file that the runner's user alone can write to",
        ));
    }
    Ok(file)
}

/// Read such a file, at most `most` bytes of it.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    Ok(bytes)
}

/// Whether an entry is what a crash left of a write.
pub(crate) fn is_left_behind(name: &str, modified: SystemTime) -> bool {
    name.starts_with(NEW)
        && SystemTime::now()
            .duration_since(modified)
            .is_ok_and(|age| age > LEFT_BEHIND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_not_private_is_made_so_or_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        let made = dir.path().join("a/b");
        private(&made).unwrap();
        assert_eq!(mode(&made), 0o700);
        fs::set_permissions(&made, fs::Permissions::from_mode(0o775)).unwrap();
        private(&made).unwrap();
        assert_eq!(mode(&made), 0o700);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&made, &link).unwrap();
        assert!(matches!(private(&link), Err(DirError::NoDirectory { .. })));
    }

    #[test]
    fn only_what_nobody_else_can_write_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        write(&path, &b"bytes"[..]).unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"bytes");
        assert_eq!(
            read(&path, 4).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(
            read(&path, 5).unwrap_err().kind(),
            io::ErrorKind::PermissionDenied
        );
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        open(&link).unwrap_err();
    }

    #[test]
    fn a_write_that_fails_leaves_what_was_there() {
        struct Breaks(bool);
        impl Read for Breaks {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                if std::mem::replace(&mut self.0, true) {
                    return Err(io::Error::from(io::ErrorKind::StorageFull));
                }
                into[0] = 1;
                Ok(1)
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        write(&path, &b"earlier"[..]).unwrap();
        write(&path, Breaks(false)).unwrap_err();
        assert_eq!(read(&path, 100).unwrap(), b"earlier");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
