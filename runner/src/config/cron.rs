//! `[cron.NAME]`: a schedule, and the job that each of its slots enqueues.

use std::time::Duration;

use sandhog_cron::{Schedule, Zone};

use super::{
    keys::{Key, Named, key},
    reload::Reload,
    value::{Form, Setting, Value},
};

/// One schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct CronSettings {
    /// The expression.
    pub schedule: String,
    /// The name of the zone whose clocks count.
    pub zone: String,
    /// The kind of its jobs.
    pub kind: String,
    /// Their queue; `None` leaves it to the kind.
    pub queue: Option<String>,
    /// Their priority.
    pub priority: i16,
    /// Their payload; `None` is an empty one.
    pub payload: Option<String>,
    /// What a slot does while a job of an earlier one has not ended.
    pub overlap: Overlap,
    /// What becomes of slots that were missed.
    pub catch_up: CatchUp,
    /// How far back missed slots count.
    pub catch_up_window: Duration,
    /// Up to how long after its slot a job may become due, by chance.
    pub jitter: Duration,
}

/// What a slot does while a job of an earlier one has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// It is left out.
    Skip,
    /// One job waits until the earlier one has ended; further slots are left out.
    BufferOne,
    /// It enqueues its job all the same.
    Allow,
    /// It cancels the earlier job and enqueues its own.
    CancelOther,
}

/// What becomes of slots at which no runner was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatchUp {
    /// They are left out.
    None,
    /// The latest of them enqueues its job.
    Latest,
    /// Each of them does.
    All,
}

impl Default for CronSettings {
    /// Without a schedule and a kind, which every entry must have.
    fn default() -> Self {
        Self {
            schedule: String::new(),
            zone: "UTC".into(),
            kind: String::new(),
            queue: None,
            priority: 0,
            payload: None,
            overlap: Overlap::Skip,
            catch_up: CatchUp::Latest,
            catch_up_window: Duration::from_secs(HOUR),
            jitter: Duration::ZERO,
        }
    }
}

impl CronSettings {
    /// The schedule, read. What is wrong when these settings were not checked.
    pub fn read(&self) -> Result<Schedule, String> {
        let zone = Zone::named(&self.zone).map_err(|error| error.to_string())?;
        Schedule::parse(&self.schedule, zone).map_err(|error| error.to_string())
    }
}

const HOUR: u64 = 3_600;
/// 365.25 days.
const YEAR: u64 = 31_557_600;

const fn upto(min: Duration, max_s: u64) -> Form {
    Form::Span {
        min,
        max: Duration::from_secs(max_s),
    }
}

macro_rules! named {
    ($type:ident, $($variant:ident => $name:literal),+) => {
        impl $type {
            /// Every name.
            const NAMES: &'static [&'static str] = &[$($name),+];

            /// Its name in the file.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl Setting for $type {
            fn take(value: Value) -> Option<Self> {
                match value {
                    Value::Word(word) => [$(Self::$variant),+].into_iter().find(|one| one.name() == word),
                    _ => None,
                }
            }

            fn give(&self) -> Option<Value> {
                Some(Value::Word(self.name().into()))
            }
        }
    };
}

named!(Overlap, Skip => "skip", BufferOne => "buffer_one", Allow => "allow", CancelOther => "cancel_other");
named!(CatchUp, None => "none", Latest => "latest", All => "all");

/// The tables.
pub(super) const CRON: Named<CronSettings> = Named {
    name: "cron",
    says: "A schedule, and the job that each of its slots enqueues. The syntax, and what happens when clocks are set, is in [cron.md](cron.md); `sandhog cron next` shows the slots of an expression.",
    reload: Reload::All,
    must: &["schedule", "kind"],
    keys: &[
        key!(
            CronSettings,
            schedule,
            "schedule",
            Form::Cron,
            "When. Must be there."
        ),
        key!(
            CronSettings,
            zone,
            "zone",
            Form::Zone,
            "The zone whose clocks count; the host's plays no part."
        ),
        key!(
            CronSettings,
            kind,
            "kind",
            Form::Name,
            "The kind of its jobs. Must be there."
        ),
        key!(
            CronSettings,
            queue,
            "queue",
            Form::Name,
            "Their queue; when not given, the one of the kind."
        ),
        key!(
            CronSettings,
            priority,
            "priority",
            Form::Whole {
                min: i16::MIN as i64,
                max: i16::MAX as i64,
            },
            "Their priority; higher goes first."
        ),
        key!(
            CronSettings,
            payload,
            "payload",
            Form::Text {
                max: sandhog_model::limits::PAYLOAD_BYTES,
            },
            "Their payload: JSON when it reads as JSON, otherwise text. Empty when not given."
        ),
        key!(
            CronSettings,
            overlap,
            "overlap",
            Form::OneOf(Overlap::NAMES),
            "What a slot does while the job of an earlier one has not ended: nothing (`skip`); one job that waits for the earlier one (`buffer_one`); the same as ever (`allow`); or it cancels the earlier job first (`cancel_other`)."
        ),
        key!(
            CronSettings,
            catch_up,
            "catch_up",
            Form::OneOf(CatchUp::NAMES),
            "What becomes of slots that were missed while no runner was up: nothing (`none`), one job for the latest of them (`latest`), or one for each (`all`)."
        ),
        key!(
            CronSettings,
            catch_up_window,
            "catch_up_window",
            upto(Duration::from_secs(1), YEAR),
            "How far back missed slots count."
        ),
        key!(
            CronSettings,
            jitter,
            "jitter",
            upto(Duration::ZERO, 24 * HOUR),
            "Up to how long after its slot a job becomes due, by chance, so that schedules of the same minute do not all start at once."
        ),
    ],
};
