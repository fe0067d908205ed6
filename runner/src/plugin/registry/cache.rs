//! Native code on disk, by the digest it was made from. A second start compiles and runs nothing.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why the cache directory cannot be used.
#[derive(Debug, Error)]
pub enum CacheError {
    /// It cannot be made, read or written.
    #[error("cannot use the code cache {}: {source}", path.display())]
    Io {
        /// The directory or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It belongs to someone else, who could have put any code there.
    #[error(
        "the code cache {} belongs to user {owner}, not to the runner's: remove it or name another",
        path.display()
    )]
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// Its owner's number.
        owner: u32,
    },
    /// It is a link or a file.
    #[error("the code cache {} is no directory: remove it or name another", path.display())]
    NoDirectory {
        /// The path.
        path: PathBuf,
    },
}

/// The directory. Its entries are two files each: `DIGEST-SETTINGS.cwasm` with the code, and
/// `DIGEST-SETTINGS.json` with what the component says of itself, written last.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    dir: PathBuf,
    settings: String,
}

/// What is kept beside the code.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// Bytes of the code file.
    code_bytes: u64,
    /// The component's description as it gave it.
    description: String,
}

impl Cache {
    /// Open or make the directory. `settings` names what else the code depends on.
    pub(crate) fn open(dir: &Path, settings: String) -> Result<Self, CacheError> {
        let io = |source| CacheError::Io {
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
            return Err(CacheError::NoDirectory {
                path: dir.to_owned(),
            });
        }
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(CacheError::NotOurs {
                path: dir.to_owned(),
                owner: metadata.uid(),
            });
        }
        if metadata.mode() & 0o077 != 0 {
            fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map_err(io)?;
        }
        Ok(Self {
            dir: dir.to_owned(),
            settings,
        })
    }

    /// Where the code of a digest lies, or would.
    pub(crate) fn code(&self, digest: &str) -> PathBuf {
        self.dir.join(format!("{digest}-{}.cwasm", self.settings))
    }

    fn note(&self, digest: &str) -> PathBuf {
        self.dir.join(format!("{digest}-{}.json", self.settings))
    }

    /// The description of a digest whose code is here whole.
    pub(crate) fn find(&self, digest: &str) -> Option<String> {
        let note = fs::read(self.note(digest)).ok()?;
        let note: Note = serde_json::from_slice(&note).ok()?;
        let code = fs::symlink_metadata(self.code(digest)).ok()?;
        (code.is_file() && code.len() == note.code_bytes).then_some(note.description)
    }

    /// Keep code and description.
    pub(crate) fn keep(
        &self,
        digest: &str,
        code: &[u8],
        description: &str,
    ) -> Result<(), CacheError> {
        let note = serde_json::json!({ "code_bytes": code.len(), "description": description });
        self.write(&self.code(digest), code)?;
        self.write(&self.note(digest), note.to_string().as_bytes())
    }

    /// Whole or not at all, also over a crash.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), CacheError> {
        let io = |source| CacheError::Io {
            path: path.to_owned(),
            source,
        };
        let mut new = tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(&self.dir)
            .map_err(io)?;
        new.write_all(bytes).map_err(io)?;
        new.as_file().sync_all().map_err(io)?;
        new.persist(path).map_err(|error| io(error.error))?;
        File::open(&self.dir)
            .and_then(|dir| dir.sync_all())
            .map_err(io)
    }
}
