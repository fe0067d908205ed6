//! Native code, held in memory and sealed: what was checked is what runs, whatever becomes of the
//! file it came from.

use std::{
    fmt,
    fs::File,
    io::{self, Read},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::FileExt,
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wasmtime::{Engine, component::Component};

/// Bytes read at a time.
const CHUNK: usize = 256 << 10;

/// The native code of a plugin. Clones share it; it goes with the last of them. What came over a
/// socket has only the path.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(from = "PathBuf", into = "PathBuf")]
pub struct NativeCode {
    /// Where the cache keeps it, or would.
    path: PathBuf,
    held: Option<Arc<Held>>,
}

/// Memory that nobody can write to any more, this process included; or, where that is not to be had,
/// a file in the cache.
struct Held {
    file: File,
    bytes: u64,
    /// Whether it was said that it cannot be loaded.
    told: AtomicBool,
}

/// Code that is being written.
pub(crate) struct Draft(File);

impl Draft {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd: OwnedFd = memfd_create("sandhog-code", flags)?;
        Ok(Self(fd.into()))
    }

    /// All of what a reader gives, and its SHA-256.
    pub(crate) fn fill(&mut self, mut from: impl Read) -> io::Result<[u8; 32]> {
        let mut sum = Sha256::new();
        let mut chunk = vec![0; CHUNK];
        loop {
            let read = match from.read(&mut chunk) {
                Ok(0) => return Ok(sum.finalize().into()),
                Ok(read) => &chunk[..read],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            sum.update(read);
            io::Write::write_all(&mut self.0, read)?;
        }
    }

    pub(crate) fn file(&self) -> &File {
        &self.0
    }

    /// Nobody writes to it from here on. `path` is where the cache keeps it, or would.
    pub(crate) fn seal(self, path: PathBuf) -> io::Result<NativeCode> {
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
        fcntl_add_seals(&self.0, seals)?;
        let held = Held {
            bytes: self.0.metadata()?.len(),
            file: self.0,
            told: AtomicBool::new(false),
        };
        Ok(NativeCode {
            path,
            held: Some(Arc::new(held)),
        })
    }
}

impl NativeCode {
    /// Code that stays in the cache's file, which was checked.
    pub(crate) fn of_file(file: File, path: PathBuf) -> io::Result<Self> {
        let held = Held {
            bytes: file.metadata()?.len(),
            file,
            told: AtomicBool::new(false),
        };
        Ok(Self {
            path,
            held: Some(Arc::new(held)),
        })
    }

    /// Where the cache keeps it, or would.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> u64 {
        self.held.as_ref().map_or(0, |held| held.bytes)
    }

    /// Read it from its start.
    pub(crate) fn reader(&self) -> Option<impl Read + '_> {
        self.held.as_deref().map(|held| At { held, offset: 0 })
    }

    /// Map it into an engine.
    pub(crate) fn load(&self, engine: &Engine) -> wasmtime::Result<Component> {
        let Some(held) = &self.held else {
            wasmtime::bail!("no native code is held here");
        };
        // One mapping for all engines, as far as the system lets a process open its own files.
        let own = format!("/proc/self/fd/{}", held.file.as_raw_fd());
        if File::open(&own).is_ok() {
            // SAFETY: held code is what this program's own compiler wrote, or what the cache gave
            // back after its SHA-256 was found to be that of what was written. The seals keep it so,
            // or, for a file of the cache, that its directory is open to the runner's user alone.
            return unsafe { Component::deserialize_file(engine, own) };
        }
        let mut bytes = Vec::new();
        At { held, offset: 0 }.read_to_end(&mut bytes)?;
        // SAFETY: as above.
        unsafe { Component::deserialize(engine, bytes) }
    }

    /// True once: whether nobody was told yet that this code cannot be loaded.
    pub(crate) fn refusal_is_new(&self) -> bool {
        let told = self.held.as_ref().map(|held| &held.told);
        told.is_none_or(|told| !told.swap(true, Ordering::Relaxed))
    }
}

/// Reads held code without moving an offset that others share.
struct At<'a> {
    held: &'a Held,
    offset: u64,
}

impl Read for At<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.held.file.read_at(into, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

impl PartialEq for NativeCode {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl fmt::Debug for NativeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.path, f)
    }
}

impl From<PathBuf> for NativeCode {
    fn from(path: PathBuf) -> Self {
        Self { path, held: None }
    }
}

impl From<&str> for NativeCode {
    fn from(path: &str) -> Self {
        PathBuf::from(path).into()
    }
}

impl From<NativeCode> for PathBuf {
    fn from(code: NativeCode) -> Self {
        code.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_code_cannot_be_changed_by_anybody() {
        let mut draft = Draft::new().unwrap();
        let sum = draft.fill(&b"some code"[..]).unwrap();
        assert_eq!(sum[..], Sha256::digest(b"some code")[..]);
        let writer = draft.file().try_clone().unwrap();
        let code = draft.seal("code/a.cwasm".into()).unwrap();
        writer.write_all_at(b"other", 0).unwrap_err();
        writer.set_len(3).unwrap_err();
        let mut read = Vec::new();
        code.reader().unwrap().read_to_end(&mut read).unwrap();
        assert_eq!((read.as_slice(), code.bytes()), (&b"some code"[..], 9));
    }

    #[test]
    fn what_cannot_be_loaded_is_new_once() {
        let mut draft = Draft::new().unwrap();
        draft.fill(&b"no code"[..]).unwrap();
        let code = draft.seal("code/a.cwasm".into()).unwrap();
        assert!(code.refusal_is_new());
        assert!(!code.clone().refusal_is_new());
        let engine = Engine::default();
        assert!(code.load(&engine).is_err());
    }
}
