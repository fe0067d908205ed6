//! Room for dead letters on a full disk: a file that is given up when a letter needs its room.
//!
//! The letters' file grows with each letter, and cannot be filled ahead as a segment is. Without
//! room a burial would wait, and with it the worker's report.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::disk::{Disk, DiskError, OpenMode};

/// Milliseconds after which the room is looked for again.
const AGAIN_MS: u64 = 500;
/// Bytes written at once.
const CHUNK: usize = 1 << 20;

/// The file, or the wish for it.
pub(super) struct Ballast {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    bytes: u64,
    held: bool,
    /// When it is tried again, by the steady clock.
    next_try: u64,
}

impl Ballast {
    /// Keep `bytes` in `dir`, from the first [`Self::hold`] on.
    pub(super) fn new(disk: Arc<dyn Disk>, dir: &Path, bytes: u64) -> Self {
        Self {
            disk,
            path: dir.join("reserve"),
            bytes,
            held: false,
            next_try: 0,
        }
    }

    /// Take the room when it is not held and there is some. It is not synced: what counts is that
    /// the file system gave the blocks away.
    pub(super) fn hold(&mut self, mono: u64) -> Result<(), DiskError> {
        if self.held || mono < self.next_try {
            return Ok(());
        }
        self.next_try = mono.saturating_add(AGAIN_MS);
        match self.fill() {
            Ok(()) => self.held = true,
            Err(error) if error.is_full() => {
                // The half of it would only take room from others.
                let _ = self.disk.remove(&self.path);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn fill(&self) -> Result<(), DiskError> {
        let file = self.disk.open(&self.path, OpenMode::Create)?;
        let zeros = vec![0; CHUNK.min(self.bytes as usize)];
        // What an earlier run left counts.
        let mut at = file.len()?;
        while at < self.bytes {
            let more = zeros.len().min((self.bytes - at) as usize);
            file.write_at(at, &zeros[..more])?;
            at += more as u64;
        }
        Ok(())
    }

    /// Give the room up. Whether there was any.
    pub(super) fn release(&mut self, mono: u64) -> bool {
        self.next_try = mono.saturating_add(AGAIN_MS);
        std::mem::take(&mut self.held) && self.disk.remove(&self.path).is_ok()
    }
}
