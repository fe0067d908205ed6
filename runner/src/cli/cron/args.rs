//! `sandhog cron` as it is written.

use clap::{Args, Subcommand};
use sandhog_model::UnixMs;

use crate::{cli::when, json::cron as shapes};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum CronCommand {
    /// When a schedule's next slots are; needs no runner and no settings
    ///
    /// Days on which the clocks of the zone are set are marked. An expression that cannot be read, or that can
    /// never occur, is refused with its field, its column and the reason. The syntax is in docs/cron.md.
    Next {
        /// Such as "30 2 * * MON-FRI", with seconds in front if there are six fields, or @daily, or "@every 90m"
        #[arg(value_name = "EXPR")]
        expression: String,
        /// The zone whose clocks count, by its name in the IANA database
        #[arg(long, value_name = "ZONE", default_value = "UTC")]
        tz: String,
        /// Slots after this instant, such as 2027-03-13T12:00:00-05:00 [default: now]
        #[arg(long, value_name = "RFC3339", value_parser = when::instant)]
        after: Option<UnixMs>,
        /// How many, 1 to 1000
        #[arg(short = 'n', long = "count", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
        count: u16,
    },
    /// Schedules, with their next slot and latest job
    Ls,
    /// Give a schedule's slots no jobs until it is resumed
    ///
    /// Lasts over restarts. Jobs it enqueued before go on.
    Pause {
        /// Which
        name: String,
        /// Why; kept with the schedule
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Who asks, as `cron ls` will say [default: this user]
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
    /// Give a schedule's slots jobs again, from now on
    Resume {
        /// Which
        name: String,
    },
    /// Enqueue a schedule's job now, outside of its slots; prints the job's id
    Trigger {
        /// Which
        name: String,
    },
    /// Add a schedule, or change one that was added; it lasts over restarts
    ///
    /// A schedule of the settings is changed there. What each of these is: `[cron.NAME]` in docs/configuration.md.
    Add(Box<Add>),
    /// Take away a schedule that was added; its jobs stay
    Rm {
        /// Which
        name: String,
    },
}

/// A schedule to add.
#[derive(Debug, Args)]
pub(in crate::cli) struct Add {
    /// Its name
    pub(super) name: String,
    /// When, such as "30 2 * * MON-FRI"
    #[arg(value_name = "EXPR")]
    pub(super) schedule: String,
    /// The kind of its jobs
    #[arg(long)]
    pub(super) kind: String,
    /// The zone whose clocks count, by its name in the IANA database
    #[arg(long, value_name = "ZONE")]
    pub(super) tz: Option<String>,
    /// The queue of its jobs
    #[arg(long)]
    pub(super) queue: Option<String>,
    /// The priority of its jobs
    #[arg(long, allow_negative_numbers = true)]
    pub(super) priority: Option<i64>,
    /// The payload of its jobs
    #[arg(long, value_name = "TEXT")]
    pub(super) payload: Option<String>,
    /// While the job before has not ended: skip, buffer_one, allow or cancel_other
    #[arg(long)]
    pub(super) overlap: Option<String>,
    /// For slots that were missed: none, latest or all
    #[arg(long)]
    pub(super) catch_up: Option<String>,
    /// How far back missed slots count, such as 1h
    #[arg(long, value_name = "TIME")]
    pub(super) catch_up_window: Option<String>,
    /// Up to how long after its slot a job becomes due, such as 30s
    #[arg(long, value_name = "TIME")]
    pub(super) jitter: Option<String>,
}

impl Add {
    /// The entry as a table of the settings has it.
    pub(super) fn entry(&self) -> String {
        let texts = [
            ("schedule", Some(&self.schedule)),
            ("kind", Some(&self.kind)),
            ("zone", self.tz.as_ref()),
            ("queue", self.queue.as_ref()),
            ("payload", self.payload.as_ref()),
            ("overlap", self.overlap.as_ref()),
            ("catch_up", self.catch_up.as_ref()),
            ("catch_up_window", self.catch_up_window.as_ref()),
            ("jitter", self.jitter.as_ref()),
        ];
        let texts = texts.map(|(key, text)| (key, text.cloned()));
        shapes::table(texts, self.priority)
    }
}
