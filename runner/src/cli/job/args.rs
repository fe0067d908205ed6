//! `sandhog job` as it is written.

use std::time::Duration;

use clap::{Args, Subcommand};
use sandhog_model::{JobId, State, UnixMs};

use super::super::{
    args::{Paging, said},
    when,
};
use crate::{engine::CRON_HEADER, store::JobFilter};

/// Which jobs of all.
#[derive(Debug, Args)]
#[command(next_help_heading = "Only those that fit")]
pub(in crate::cli) struct Filters {
    /// In one of these states, with commas in between
    #[arg(long, value_delimiter = ',')]
    pub(super) state: Vec<State>,
    /// In this queue
    #[arg(long, value_parser = said())]
    pub(super) queue: Option<String>,
    /// Of this kind
    #[arg(long, value_parser = said())]
    pub(super) kind: Option<String>,
    /// Enqueued by this job
    #[arg(long, value_name = "ID")]
    pub(super) parent: Option<JobId>,
    /// In this batch
    #[arg(long, value_name = "ID")]
    pub(super) batch: Option<JobId>,
    /// With this tag
    #[arg(long, value_parser = said())]
    pub(super) tag: Option<String>,
    /// Of this schedule
    #[arg(long, value_name = "NAME", value_parser = said())]
    pub(super) cron: Option<String>,
    /// Enqueued at this instant or later: `2h` ago, or 2030-01-31T08:00:00Z
    #[arg(long, value_name = "WHEN", value_parser = when::past)]
    pub(super) since: Option<UnixMs>,
    /// Enqueued before this instant
    #[arg(long, value_name = "WHEN", value_parser = when::past)]
    pub(super) until: Option<UnixMs>,
}

impl Filters {
    pub(super) fn filter(self) -> JobFilter {
        JobFilter {
            states: self.state,
            queue: self.queue,
            kind: self.kind,
            parent: self.parent,
            tag: self.tag,
            header: self.cron.map(|name| (CRON_HEADER.to_owned(), name)),
            batch: self.batch,
            since: self.since,
            until: self.until,
            by_due: false,
        }
    }
}

/// Which jobs to change.
#[derive(Debug, Args)]
pub(in crate::cli) struct Which {
    /// These
    #[arg(value_name = "ID")]
    pub(super) ids: Vec<JobId>,
    /// All of them; needed when nothing else says which
    #[arg(long)]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) filters: Filters,
    /// Only say how many and show the first few; change nothing
    #[arg(long, help_heading = "Options")]
    pub(super) dry_run: bool,
}

/// What the history says of a change.
#[derive(Debug, Args)]
pub(in crate::cli) struct Said {
    /// Why; kept with the job
    #[arg(long, value_name = "TEXT", help_heading = "Options")]
    pub(in crate::cli) reason: Option<String>,
    /// Who asks, as the job's history will say [default: this user]
    #[arg(long, value_name = "NAME", help_heading = "Options")]
    pub(in crate::cli) by: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum JobCommand {
    /// Jobs, newest first
    Ls {
        #[command(flatten)]
        filters: Filters,
        #[command(flatten)]
        paging: Paging,
    },
    /// One job with its history
    Show {
        /// Which
        id: JobId,
    },
    /// What an attempt logged and printed
    Logs {
        /// Of which job
        id: JobId,
        /// Of which attempt; the latest of that number, or the latest when not given
        #[arg(long, value_name = "N")]
        attempt: Option<u32>,
        /// Of which of all its attempts, those before it was brought back included
        #[arg(long, value_name = "N", conflicts_with = "attempt")]
        in_all: Option<u32>,
    },
    /// Call jobs off: one that waits ends now, one that runs may finish up for a while first
    ///
    /// The handler of a job that runs sees it and may end by itself within `runner.cancel_grace`; then it is
    /// stopped. A job that was called off does not run again unless someone says `sandhog job retry`. A choice
    /// among all is made among jobs that have not ended.
    Cancel {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        said: Said,
    },
    /// Call jobs off, and stop those that run at once
    Kill {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        said: Said,
    },
    /// Run waiting jobs now, or jobs that ended again, with fresh attempts
    ///
    /// A choice among all has to say --state.
    Retry {
        #[command(flatten)]
        which: Which,
    },
    /// Have waiting jobs wait longer, or less; no attempt is used
    #[command(
        override_usage = "sandhog job snooze [OPTIONS] <--for <TIME>|--until <INSTANT>> <ID>..."
    )]
    Snooze {
        /// Which
        #[arg(required_unless_present_any = ["choice", "all"], value_name = "ID")]
        ids: Vec<JobId>,
        /// Until this time has passed, such as 10m
        #[arg(long = "for", value_name = "TIME", value_parser = when::span, conflicts_with = "until", required_unless_present_any = ["until", "choice", "all"])]
        span: Option<Duration>,
        /// Until this instant, such as 2030-01-31T08:00:00Z
        #[arg(long, value_name = "INSTANT", value_parser = when::instant)]
        until: Option<UnixMs>,
        /// By what the other verbs choose: `--until` is taken, so this one does not
        #[arg(
            long = "kind",
            aliases = ["state", "queue", "parent", "batch", "tag", "cron", "since"],
            hide = true
        )]
        choice: Option<String>,
        /// The same
        #[arg(long, hide = true)]
        all: bool,
        /// Only say how many and show the first few; change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Drop waiting jobs: they end as `discarded`
    ///
    /// A job that runs is left alone: `sandhog job cancel` calls it off. A choice among all is made among
    /// waiting jobs.
    Discard {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        said: Said,
    },
    /// Delete jobs that ended, dead ones with their letters
    ///
    /// Nothing of a deleted job is left, also when it had a unique key. A choice among all is made among jobs that
    /// ended and are not dead, unless --state says otherwise.
    Rm {
        #[command(flatten)]
        which: Which,
        /// Delete jobs that wait, too
        #[arg(long, help_heading = "Options")]
        force: bool,
    },
}
