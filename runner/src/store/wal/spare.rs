//! What is made ready before it is needed: the next segment, and room for letters on a full disk.
//!
//! Filling a segment with zeros takes long enough to be felt in an answer, so a thread of its own
//! does it while the segment before is filled. It ends with the log, so that nothing is written in a
//! directory that was let go.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::layout;
use crate::disk::{Disk, DiskError, DiskFile, OpenMode};

/// Bytes zeroed at once.
const ZEROS: usize = 512 << 10;
/// A sync that takes longer is one of a slow device.
const SLOW: Duration = Duration::from_millis(20);
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
    maker: Option<Maker>,
    /// The disk was full, and is asked again from this instant of the steady clock on.
    full: Option<(DiskError, u64)>,
}

/// The thread that makes spares, one at a time.
struct Maker {
    /// Of how many bytes.
    to: Option<SyncSender<u64>>,
    back: Receiver<Result<Spare, DiskError>>,
    busy: bool,
    give_up: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Maker {
    fn start(disk: Arc<dyn Disk>, dir: PathBuf) -> std::io::Result<Self> {
        let (to, wanted) = sync_channel(1);
        let (made, back) = sync_channel(1);
        let give_up = Arc::new(AtomicBool::new(false));
        let stop = give_up.clone();
        let thread = std::thread::Builder::new()
            .name("segment".to_owned())
            .spawn(move || {
                for len in wanted {
                    if made.send(prepare(&*disk, &dir, len, &stop)).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            to: Some(to),
            back,
            busy: false,
            give_up,
            thread: Some(thread),
        })
    }

    fn begin(&mut self, len: u64) {
        // A thread that broke is found when its work is wanted.
        self.busy = self.to.as_ref().is_some_and(|to| to.send(len).is_ok());
    }

    /// What was made, if it is there by now.
    fn made(&mut self) -> Option<Result<Spare, DiskError>> {
        match self.back.try_recv() {
            Ok(made) => {
                self.busy = false;
                Some(made)
            }
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(self.broke())),
        }
    }

    /// What is in the making, waited for.
    fn wait(&mut self) -> Result<Spare, DiskError> {
        let made = self.back.recv();
        self.busy = false;
        made.unwrap_or_else(|_| Err(self.broke()))
    }

    fn broke(&mut self) -> DiskError {
        self.busy = false;
        let cause = std::io::Error::other("the thread that makes it broke off");
        DiskError::new("make", Path::new("the next segment"), &cause)
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        self.give_up.store(true, Ordering::Relaxed);
        self.to = None;
        if let Some(thread) = self.thread.take() {
            // Left half filled; the next open removes it.
            let _ = thread.join();
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
            maker: None,
            full: None,
        }
    }

    /// See that a spare of `len` bytes is there or in the making, without waiting for it. A full
    /// disk is no error here: it is one when the spare is needed.
    pub(super) fn begin(&mut self, len: u64, mono: u64) -> Result<(), DiskError> {
        if self.ready.is_some() {
            return Ok(());
        }
        if let Some(maker) = self.maker.as_mut().filter(|maker| maker.busy) {
            return match maker.made() {
                Some(made) => self.keep(made, mono),
                None => Ok(()),
            };
        }
        if self.waits(mono) {
            return Ok(());
        }
        if self.ahead && self.maker.is_none() {
            match Maker::start(self.disk.clone(), self.dir.clone()) {
                Ok(maker) => self.maker = Some(maker),
                // Made here, as long as there is none.
                Err(error) => tracing::warn!(%error, "no thread for the next segment"),
            }
        }
        if let Some(maker) = &mut self.maker {
            maker.begin(len);
            return Ok(());
        }
        let made = prepare(&*self.disk, &self.dir, len, &AtomicBool::new(false));
        self.keep(made, mono)
    }

    /// A spare of at least `wanted` bytes, waited for when it is in the making.
    pub(super) fn need(&mut self, wanted: u64, mono: u64) -> Result<(), DiskError> {
        self.finish(mono)?;
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

    /// Give back so many bytes of the spare that is there, if it keeps `least`. It grows again when
    /// a segment is made of it and there is room.
    pub(super) fn lend(&mut self, bytes: u64, least: u64) -> Result<bool, DiskError> {
        let Some(spare) = self
            .ready
            .as_mut()
            .filter(|spare| spare.len >= bytes + least)
        else {
            return Ok(false);
        };
        spare.file.truncate(spare.len - bytes)?;
        spare.len -= bytes;
        Ok(true)
    }

    /// Bytes of the spare that is there.
    pub(super) fn bytes(&self) -> u64 {
        self.ready.as_ref().map_or(0, |spare| spare.len)
    }

    /// Why there is none, and none in the making: the disk was full.
    pub(super) fn missing(&self) -> Option<DiskError> {
        let is_made = self.maker.as_ref().is_some_and(|maker| maker.busy);
        if self.ready.is_some() || is_made {
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
        match self.maker.as_mut().filter(|maker| maker.busy) {
            Some(maker) => {
                let made = maker.wait();
                self.keep(made, mono)
            }
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
///
/// Each part is synced by itself: all at once they would hold up the log's own sync, of which the
/// device does one after the other, for as long as they take. A device that takes long for each
/// gets the rest at once.
fn extend(spare: &mut Spare, len: u64, give_up: &AtomicBool) -> Result<(), DiskError> {
    let zeros = vec![0; ZEROS.min(len.saturating_sub(spare.len) as usize)];
    let mut in_parts = true;
    while spare.len < len && !give_up.load(Ordering::Relaxed) {
        let more = zeros.len().min((len - spare.len) as usize);
        spare.file.write_at(spare.len, &zeros[..more])?;
        spare.len += more as u64;
        if in_parts && spare.len < len {
            let begun = Instant::now();
            spare.file.sync()?;
            in_parts = begun.elapsed() < SLOW;
        }
    }
    spare.file.sync()
}
