//! The embedded store: a write-ahead log on this machine's disk.
//!
//! One thread owns log and ledger. What waits in its mailbox becomes one batch: decided, framed,
//! taken in, written with one write, synced once, and only then answered. Knows nothing of plugins,
//! sockets or workers.

mod accept;
mod actor;
mod batch;
mod batches;
mod carry;
mod check;
mod commit;
mod compact;
mod crowd;
mod due;
mod dump;
mod examine;
mod expiry;
mod flush;
mod fold;
mod handle;
mod history;
pub(in crate::store) mod layout;
mod letters;
mod list;
mod live;
mod logs;
mod mailbox;
mod merge;
mod open;
mod parts;
mod queues;
mod reconcile;
mod recovered;
mod repair;
mod replay;
mod reply;
mod reread;
mod rewrite;
mod room;
mod run;
mod salvage;
mod segments;
mod serve;
mod spare;
mod upkeep;
mod views;
mod weigh;
mod wish;
mod writer;

use std::{fmt, path::PathBuf, str::FromStr, sync::Arc};

use sandhog_model::QueueRules;

use crate::{
    clock::{Clock, SystemClock},
    disk::{Disk, RealDisk},
    entropy::{Entropy, SystemEntropy},
    metrics::LogMetrics,
    store::LetterBounds,
};

pub use check::{Affected, CheckError, CheckReport, SegmentReport, Verdict, check, check_on};
pub use dump::{DumpFrom, DumpedRecord, dump, dump_of, dump_on};
pub use examine::Fate;
pub use handle::Wal;
pub use logs::Misplaced;
pub use open::{OpenError, open};
pub use repair::{LogRepair, RepairError, RepairReport, repair};
pub use run::MissingSegments;
pub use salvage::Hole;

/// Smallest and largest size of a segment, in bytes.
const SEGMENT_BYTES: std::ops::RangeInclusive<u64> = 1024..=(1 << 30);

/// When an answer is given, compared with the sync that makes it safe from power loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// After the sync that covers it. An answer survives a crash and power loss.
    #[default]
    Commit,
    /// After the write; a sync follows within this many milliseconds. An answer survives a crash
    /// of the runner; what was answered in the last interval may be lost to power.
    Interval(u64),
    /// After the write; synced when a segment is full and at the close. An answer survives a crash
    /// of the runner; power may take what the system had not written out by itself.
    None,
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit => f.write_str("commit"),
            Self::Interval(ms) => write!(f, "interval:{ms}ms"),
            Self::None => f.write_str("none"),
        }
    }
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "{text:?} is no durability: use `commit`, `none`, or `interval:` and 1 to 60000 \
                 milliseconds such as `interval:100ms`"
            )
        };
        match text {
            "commit" => Ok(Self::Commit),
            "none" => Ok(Self::None),
            "interval" => Ok(Self::Interval(100)),
            _ => text
                .strip_prefix("interval:")
                .and_then(|rest| rest.strip_suffix("ms"))
                .and_then(|ms| ms.parse().ok())
                .filter(|ms| (1..=60_000).contains(ms))
                .map(Self::Interval)
                .ok_or_else(bad),
        }
    }
}

/// How a data directory is opened.
#[derive(Clone)]
pub struct WalOptions {
    /// The data directory; made when it is not there.
    pub data: PathBuf,
    /// The file system.
    pub disk: Arc<dyn Disk>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Chance, for ids and jitter.
    pub entropy: Arc<dyn Entropy>,
    /// When answers are given.
    pub durability: Durability,
    /// Size of a segment, 1 KiB to 1 GiB; 16 MiB by default. A larger record gets a segment of its
    /// own.
    pub segment_bytes: u64,
    /// Milliseconds after which a lease that was not renewed is taken back.
    pub lease_ms: u64,
    /// Wishes that may wait for the writer; more are answered as busy.
    pub mailbox: usize,
    /// Dead letters to keep; the oldest beyond are deleted, each with a warning. All are kept by
    /// default.
    pub letters: LetterBounds,
    /// Milliseconds for which jobs that ended, the dead ones aside, are kept; `None` for ever.
    pub keep_ended_ms: Option<u64>,
    /// How many of them are kept, the latest; `None` for all.
    pub max_ended: Option<usize>,
    /// A job that ended within so many milliseconds is kept whatever the bounds: someone may wait for its result.
    pub spare_ended_ms: u64,
    /// What the operator says of queues.
    pub queues: Arc<QueueRules>,
    /// Told of each sync.
    pub watch: Arc<LogMetrics>,
    /// What the lock file says this process runs, such as `sandhog start`.
    pub command: String,
    /// Whether it is about to end by itself: others then wait longer for the lock.
    pub passing: bool,
    /// Whether segments are made ready, and large batches synced, on threads of their own. Without,
    /// what is done to the disk has one order, as a test needs that crashes at each step.
    pub background: bool,
}

impl WalOptions {
    /// The defaults on this machine's disk and clocks, for a data directory.
    #[must_use]
    pub fn new(data: impl Into<PathBuf>, command: impl Into<String>) -> Self {
        Self {
            data: data.into(),
            disk: Arc::new(RealDisk),
            clock: Arc::new(SystemClock::default()),
            entropy: Arc::new(SystemEntropy),
            durability: Durability::default(),
            segment_bytes: 16 << 20,
            lease_ms: 30_000,
            mailbox: 4096,
            letters: LetterBounds::default(),
            keep_ended_ms: None,
            max_ended: None,
            spare_ended_ms: 0,
            queues: Arc::default(),
            watch: Arc::default(),
            command: command.into(),
            passing: false,
            background: true,
        }
    }

    fn check(&self) -> Result<(), String> {
        if !SEGMENT_BYTES.contains(&self.segment_bytes) {
            return Err(format!(
                "segment_bytes is {}: use {} to {}",
                self.segment_bytes,
                SEGMENT_BYTES.start(),
                SEGMENT_BYTES.end()
            ));
        }
        if self.mailbox == 0 || self.lease_ms == 0 {
            return Err("mailbox and lease_ms must be at least 1".to_owned());
        }
        Ok(())
    }
}
