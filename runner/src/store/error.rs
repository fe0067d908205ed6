//! How a wish to the store can fail.

use sandhog_model::Rejected;

/// Why the store did not do it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The rules refuse it; nothing changed.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// A write or sync failed before. Nothing is taken any more; a restart replays what is on disk.
    #[error("the store takes nothing more since {cause}; restart the runner once that is mended")]
    Poisoned {
        /// The first failure, with its path.
        cause: String,
    },
    /// The disk is full; nothing changed. What is left is kept for outcomes.
    #[error("no room on the disk for {path}: {needs}; free some, nothing has to be restarted")]
    Full {
        /// The file that could not grow.
        path: String,
        /// How much it needs, and what says so.
        needs: String,
    },
    /// Too much waits for the writer; nothing changed.
    #[error("the store is busy: {waiting} wishes wait already; try again shortly")]
    Busy {
        /// Wishes that wait.
        waiting: usize,
    },
    /// A record on disk cannot be read.
    #[error("{path} is damaged at byte {offset}: {why}; run `sandhog log check`")]
    Damaged {
        /// The file.
        path: String,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
        why: String,
    },
    /// The store was closed.
    #[error("the store is closed: the runner is stopping")]
    Closed,
}
