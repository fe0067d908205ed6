//! Socket paths longer than the kernel's `sun_path`: both sides go through the open directory.

use std::{
    ffi::OsStr,
    fs::{File, OpenOptions},
    io,
    os::{fd::AsRawFd, unix::ffi::OsStrExt, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Longest path that fits `sun_path` with its closing zero, in bytes.
const SUN_PATH_BYTES: usize = 107;

/// A path that names the same file and is short enough for a socket address, for as long as this
/// value lives.
pub(super) struct ShortPath {
    path: PathBuf,
    _directory: Option<File>,
}

impl ShortPath {
    /// A short name for `file` in `directory`.
    pub(super) fn of(directory: &Path, file: &str) -> io::Result<Self> {
        let full = directory.join(file);
        if full.as_os_str().len() <= SUN_PATH_BYTES {
            return Ok(Self {
                path: full,
                _directory: None,
            });
        }
        let held = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::PATH.bits() as i32)
            .open(directory)?;
        let mut name = format!("/proc/self/fd/{}/", held.as_raw_fd()).into_bytes();
        name.extend_from_slice(file.as_bytes());
        Ok(Self {
            path: PathBuf::from(OsStr::from_bytes(&name)),
            _directory: Some(held),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
