//! Native code on disk, by the digest it was made from. A second start compiles and runs nothing.
//!
//! Native code is run as it is, so what comes back from here is checked first: the directory and the
//! files are the runner's own, and the code's SHA-256 is the one noted when it was written. That
//! finds damage of every kind. It is no wall against someone who writes as the runner's user: such a
//! one can run code as the runner without any cache.

mod sweep;

use std::{
    fs::{self, File},
    io::{self, Seek},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    Fault,
    description::DESCRIPTION_BYTES,
    hex,
    whole::{self, DirError},
};
use crate::plugin::code::{Draft, NativeCode};

pub use sweep::CacheBounds;

/// Most bytes of a note: a description with every byte escaped, and what is around it.
const NOTE_BYTES: u64 = 8 * DESCRIPTION_BYTES as u64;
/// A note is marked as used when its mark is older than this.
const MARK: Duration = Duration::from_secs(60 * 60);

/// The directory. An entry is two files: `DIGEST-SETTINGS.cwasm` with the code and
/// `DIGEST-SETTINGS.json` with what is known of it, written last; or `DIGEST-SETTINGS.refused` with
/// why there is no code.
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
    /// Its SHA-256, in hex.
    code_sha256: String,
    /// The component's description as it gave it.
    description: String,
    /// SHA-256 over the other fields, in hex.
    check: String,
}

/// What is kept of a component that took more than it may.
#[derive(Debug, Serialize, Deserialize)]
struct Refusal {
    /// The limits it was over.
    limits: String,
    cause: String,
    hint: String,
}

impl Note {
    fn new(code: &NativeCode, sum: &[u8], description: &str) -> Self {
        let mut note = Self {
            code_bytes: code.bytes(),
            code_sha256: hex(sum),
            description: description.to_owned(),
            check: String::new(),
        };
        note.check = note.sum();
        note
    }

    fn sum(&self) -> String {
        let mut sum = Sha256::new();
        sum.update(self.code_bytes.to_be_bytes());
        sum.update(self.code_sha256.as_bytes());
        sum.update(self.description.as_bytes());
        hex(&sum.finalize())
    }
}

impl Cache {
    /// Open or make the directory. `settings` names what else the code depends on.
    pub(crate) fn open(dir: &Path, settings: String) -> Result<Self, DirError> {
        whole::private(dir)?;
        Ok(Self {
            dir: dir.to_owned(),
            settings,
        })
    }

    /// Where the code of a digest lies, or would.
    pub(crate) fn code(&self, digest: &str) -> PathBuf {
        self.file(digest, "cwasm")
    }

    fn file(&self, digest: &str, ending: &str) -> PathBuf {
        self.dir
            .join(format!("{digest}-{}.{ending}", self.settings))
    }

    /// Code and description of a digest, when both are here and undamaged.
    pub(crate) fn find(&self, digest: &str) -> Option<(NativeCode, String)> {
        match self.checked(digest) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(
                    "the code {} is not used but made anew: {error}",
                    self.code(digest).display()
                );
                None
            }
        }
    }

    fn checked(&self, digest: &str) -> io::Result<(NativeCode, String)> {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let path = self.file(digest, "json");
        let note = whole::read(&path, NOTE_BYTES)?;
        let note: Note = serde_json::from_slice(&note)?;
        if note.sum() != note.check {
            return Err(damaged("what is noted of it is damaged"));
        }
        let file = whole::open(&self.code(digest))?;
        if file.metadata()?.len() != note.code_bytes {
            return Err(damaged("it is not as long as it was"));
        }
        let (code, sum) = match held(&file, self.code(digest)) {
            Ok(held) => held,
            // Memory of that kind is not to be had, or not as much: a limit on the length of files
            // counts for it too. The file itself then, which is the runner's own.
            Err(error) => {
                tracing::debug!(%error, "cached code is used from its file");
                (&file).rewind()?;
                let sum = summed(&file)?;
                (NativeCode::of_file(file, self.code(digest))?, sum)
            }
        };
        if hex(&sum) != note.code_sha256 {
            return Err(damaged("its SHA-256 is not the one it was written with"));
        }
        self.mark(&path);
        Ok((code, note.description))
    }

    /// Note that an entry is used, now and then.
    fn mark(&self, note: &Path) {
        let now = SystemTime::now();
        let old = fs::metadata(note).and_then(|about| about.modified());
        if old.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > MARK))
            && let Err(error) = File::options()
                .append(true)
                .open(note)
                .and_then(|file| file.set_modified(now))
        {
            tracing::debug!(%error, "cannot mark cached code as used");
        }
    }

    /// Keep code and description.
    pub(crate) fn keep(
        &self,
        digest: &str,
        code: &NativeCode,
        description: &str,
    ) -> Result<(), DirError> {
        let path = self.code(digest);
        let mut sum = Sha256::new();
        if let Some(reader) = code.reader() {
            whole::write(&path, Summed(reader, &mut sum))?;
        }
        let note = Note::new(code, &sum.finalize(), description);
        let note = serde_json::json!(note).to_string();
        whole::write(&self.file(digest, "json"), note.as_bytes())
    }

    /// Why a digest was refused within these limits, if it was.
    pub(crate) fn refusal(&self, digest: &str, limits: &str) -> Option<Fault> {
        let text = whole::read(&self.file(digest, "refused"), NOTE_BYTES).ok()?;
        let refusal: Refusal = serde_json::from_slice(&text).ok()?;
        (refusal.limits == limits).then(|| Fault::new(refusal.cause, refusal.hint))
    }

    /// Keep why a digest is refused, so that the next start does not find out again.
    pub(crate) fn refuse(&self, digest: &str, limits: &str, fault: &Fault) {
        let refusal = Refusal {
            limits: limits.to_owned(),
            cause: fault.cause.clone(),
            hint: fault.hint.clone(),
        };
        let text = serde_json::json!(refusal).to_string();
        if let Err(error) = whole::write(&self.file(digest, "refused"), text.as_bytes()) {
            tracing::debug!(%error, "the next start will compile it again");
        }
    }
}

/// What a file holds, in memory that nobody can change, and its SHA-256.
fn held(file: &File, path: PathBuf) -> io::Result<(NativeCode, [u8; 32])> {
    let mut draft = Draft::new()?;
    let sum = draft.fill(file)?;
    Ok((draft.seal(path)?, sum))
}

/// The SHA-256 of what a file holds.
fn summed(file: &File) -> io::Result<[u8; 32]> {
    let mut sum = Sha256::new();
    io::copy(&mut Summed(file, &mut sum), &mut io::sink())?;
    Ok(sum.finalize().into())
}

/// Sums what passes.
struct Summed<'a, R>(R, &'a mut Sha256);

impl<R: io::Read> io::Read for Summed<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(into)?;
        self.1.update(&into[..read]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
