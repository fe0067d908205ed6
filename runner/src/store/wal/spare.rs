//! What is made ready before it is needed: the next segment, and room for letters on a full disk.
//!
//! Filling a segment with zeros takes long enough to be felt in an answer, so a thread of its own
//! does it while the segment before is filled. The thread lives as long as that takes, and ends
//! with the log at the latest, so that nothing is written in a directory that was let go.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use super::layout;
use crate::disk::{Disk, DiskError, DiskFile, OpenMode};

/// Bytes zeroed at once.
const ZEROS: usize = 1 << 20;
/// Milliseconds after which a full disk is asked for room again: each try writes until it fails.
const FULL_MS: u64 = 500;

/// A zero-filled file without a segment's name.
pub(super) struct Spare {
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) len: u64,
}

/// The next segment, there or in the making.
pub(super) struct Spares {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    /// Whether a thread makes it.
    ahead: bool,
    ready: Option<Spare>,
    making: Option<Making>,
    /// The disk was full, and is asked again from this instant of the steady clock on.
    full: Option<(DiskError, u64)>,
}

struct Making {
    thread: JoinHandle<Result<Spare, DiskError>>,
    give_up: Arc<AtomicBool>,
}

impl Making {
    fn ended(self) -> Result<Spare, DiskError> {
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        if let Some(making) = self.making.take() {
            making.give_up.store(true, Ordering::Relaxed);
            // Left half filled; the next open removes it.
            let _ = making.thread.join();
        }
    }
}

impl Spares {
    /// None is there yet. `ahead`: on a thread of its own.
    pub(super) fn new(disk: Arc<dyn Disk>, dir: &Path, ahead: bool) -> Self {
        Self {
            disk,
            dir: dir.to_path_buf(),
            ahead,
            ready: None,
            making: None,
            full: None,
        }
    }

    /// See that a spare of `len` bytes is there or in the making, without waiting for it. A full
    /// disk is no error here: it is one when the spare is needed.
    pub(super) fn begin(&mut self, len: u64, mono: u64) -> Result<(), DiskError> {
        if self.ready.is_some() {
            return Ok(());
        }
        match &self.making {
            Some(making) if !making.thread.is_finished() => return Ok(()),
            Some(_) => return self.finish(mono),
            None if self.waits(mono) => return Ok(()),
            None => {}
        }
        if !self.ahead {
            let made = prepare(&*self.disk, &self.dir, len, &AtomicBool::new(false));
            return self.keep(made, mono);
        }
        let give_up = Arc::new(AtomicBool::new(false));
        let (disk, dir, stop) = (self.disk.clone(), self.dir.clone(), give_up.clone());
        let thread = std::thread::Builder::new()
            .name("segment".to_owned())
            .spawn(move || prepare(&*disk, &dir, len, &stop));
        match thread {
            Ok(thread) => self.making = Some(Making { thread, give_up }),
            // Made when it is needed.
            Err(error) => tracing::warn!(%error, "no thread for the next segment"),
        }
        Ok(())
    }

    /// A spare of at least `wanted` bytes, waited for when it is in the making.
    pub(super) fn need(&mut self, wanted: u64, mono: u64) -> Result<(), DiskError> {
        if self.making.is_some() {
            self.finish(mono)?;
        }
        if self.ready.as_ref().is_some_and(|spare| spare.len >= wanted) {
            return Ok(());
        }
        if let Some((error, until)) = &self.full
            && mono < *until
        {
            return Err(error.clone());
        }
        let going = AtomicBool::new(false);
        // One that is too small is kept when it cannot grow: it is the reserve.
        let made = match &mut self.ready {
            Some(spare) => extend(spare, wanted, &going).map(|()| None),
            None => prepare(&*self.disk, &self.dir, wanted, &going).map(Some),
        };
        match made {
            Ok(None) => {
                self.full = None;
                Ok(())
            }
            Ok(Some(spare)) => self.keep(Ok(spare), mono),
            Err(error) => {
                self.keep(Err(error.clone()), mono)?;
                Err(error)
            }
        }
    }

    /// Bytes of the spare that is there.
    pub(super) fn bytes(&self) -> u64 {
        self.ready.as_ref().map_or(0, |spare| spare.len)
    }

    /// Why there is none, and none in the making: the disk was full.
    pub(super) fn missing(&self) -> Option<DiskError> {
        if self.ready.is_some() || self.making.is_some() {
            return None;
        }
        self.full.as_ref().map(|(error, _)| error.clone())
    }

    /// Something was removed: a disk that was full may not be any more.
    pub(super) fn ask_again(&mut self) {
        self.full = None;
    }

    /// The spare that [`Self::need`] saw.
    pub(super) fn take(&mut self) -> Option<Spare> {
        self.ready.take()
    }

    fn waits(&self, mono: u64) -> bool {
        self.full.as_ref().is_some_and(|(_, until)| mono < *until)
    }

    fn finish(&mut self, mono: u64) -> Result<(), DiskError> {
        match self.making.take() {
            Some(making) => self.keep(making.ended(), mono),
            None => Ok(()),
        }
    }

    fn keep(&mut self, made: Result<Spare, DiskError>, mono: u64) -> Result<(), DiskError> {
        match made {
            Ok(spare) => {
                self.ready = Some(spare);
                self.full = None;
                Ok(())
            }
            Err(error) if error.is_full() => {
                self.full = Some((error, mono.saturating_add(FULL_MS)));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Make a zero-filled file. Nothing of it is left when there is no room.
fn prepare(
    disk: &dyn Disk,
    dir: &Path,
    len: u64,
    give_up: &AtomicBool,
) -> Result<Spare, DiskError> {
    let path = layout::spare_path(dir);
    let file = disk.open(&path, OpenMode::Replace)?;
    let mut spare = Spare { file, len: 0 };
    match extend(&mut spare, len, give_up) {
        Ok(()) => Ok(spare),
        Err(error) => {
            // A half-filled spare would only take room from others; when it cannot be removed the
            // next open does it.
            let _ = disk.remove(&path);
            Err(error)
        }
    }
}

/// Fill a spare up to `len` bytes, and sync it. Without room it is left as long as it got.
fn extend(spare: &mut Spare, len: u64, give_up: &AtomicBool) -> Result<(), DiskError> {
    let zeros = vec![0; ZEROS.min(len.saturating_sub(spare.len) as usize)];
    while spare.len < len && !give_up.load(Ordering::Relaxed) {
        let more = zeros.len().min((len - spare.len) as usize);
        spare.file.write_at(spare.len, &zeros[..more])?;
        spare.len += more as u64;
    }
    spare.file.sync()
}
