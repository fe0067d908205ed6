//! What can go wrong with the simulated disk.

use std::io;

/// What becomes of bytes and names that were not synced when the power went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsynced {
    /// None of them reached the device.
    Dropped,
    /// All of them did.
    Kept,
    /// Each 512-byte sector by itself, and some first part of the names, by chance from a seed.
    BySector(u64),
    /// Each 512-byte sector and each change of a name by itself, by chance from a seed: a file
    /// system without a journal, where a later rename may be there and an earlier removal not.
    Scattered(u64),
}

/// The operations that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Writing bytes, resizing.
    Write,
    /// Syncing a file.
    Sync,
    /// Syncing a directory.
    SyncDir,
    /// Opening, making, renaming, removing.
    Name,
}

/// An error to give, and when.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// The operations it counts.
    pub op: Op,
    /// Which of them fails, from 1, counted from when the fault was set.
    pub nth: u64,
    /// Whether those after it fail too.
    pub lasting: bool,
    /// The error.
    pub kind: io::ErrorKind,
}
