//! Sandhog's rules, without a clock, a file, a network or chance: time and entropy are arguments.
//!
//! A wish ([`Command`]) is decided against the [`Ledger`] into facts ([`Event`]s); facts evolve the
//! ledger. A live run and a recovery go through the same [`Ledger::evolve`].
#![no_std]

extern crate alloc;

pub mod attempt;
pub mod batch;
mod brief;
pub mod cancel;
pub mod carried;
pub mod codec;
pub mod command;
pub mod cron;
mod decide;
pub mod event;
mod evolve;
pub mod fact;
mod hold;
pub mod id;
mod index;
pub mod job;
pub mod ledger;
pub mod letter;
pub mod limits;
pub mod outcome;
pub mod queue;
pub mod recover;
pub mod retry;
mod seen;
mod side;
mod slot;
pub mod time;
mod weigh;

pub use attempt::{Attempt, LogLevel, LogLine, LogSource};
pub use batch::{BatchChange, BatchCount, BatchState, BatchWish, Callback, Tally};
pub use brief::RecentNames;
pub use cancel::{Asked, Cancellation};
pub use carried::Carried;
pub use command::{
    Admission, Amend, ClaimRequest, Command, Rejected, Retention, Sameness, Settlement,
};
pub use event::{Event, PutBack, Record, RecordAt, Verdict};
pub use fact::{Fact, Slim};
pub use hold::{Ahead, Hold, Rival};
pub use id::{ID_PATTERN, ID_SHAPE, IdMint, JobId, NotAnId, Token};
pub use job::{
    Bounds, Digest, Job, KindDefaults, Link, NAME_PATTERN, Named, NewJob, NewUnique, OnConflict,
    Output, Scope, State, Terms, Unique, UniqueBy, is_name,
};
pub use ledger::{Entry, Ledger, MissingRecords, QueueCounts, Standing, Status, Unsound};
pub use letter::Letter;
pub use outcome::{Failure, FailureKind, Outcome, TrapKind, Waiting};
pub use queue::{QueueLimits, QueueMode, QueueRule, QueueRules, Rate, Steering};
pub use retry::{Backoff, NotABackoff, RetryPolicy};
pub use seen::Seen;
pub use time::{Now, UnixMs};
pub use weigh::Weighing;
