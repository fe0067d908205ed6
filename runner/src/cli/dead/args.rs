//! `sandhog dead` as it is written.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use sandhog_model::UnixMs;

use super::super::{
    args::{Paging, said},
    session::wall,
    when,
};
use crate::{
    plugin::parse_size,
    store::{DeadFilter, LetterName},
};

/// Which dead letters.
#[derive(Debug, Args)]
#[command(next_help_heading = "Only those that fit")]
pub(in crate::cli) struct Filters {
    /// From this queue
    #[arg(long, value_parser = said())]
    pub(super) queue: Option<String>,
    /// Of this kind
    #[arg(long, value_parser = said())]
    pub(super) kind: Option<String>,
    /// Whose last attempt failed so: `error`, `timeout`, `trap:unreachable`, or all of a family such as `trap`
    #[arg(long, value_name = "FAILURE", value_parser = said())]
    pub(super) failure: Option<String>,
    /// Whose last attempt ran on a component with a SHA-256 that begins so
    #[arg(long, value_name = "HEX", value_parser = said())]
    pub(super) digest: Option<String>,
    /// That died at this instant or later: `2h` ago, or 2030-01-31T08:00:00Z
    #[arg(long, value_name = "WHEN", value_parser = when::past)]
    pub(super) since: Option<UnixMs>,
    /// That died before this instant
    #[arg(long, value_name = "WHEN", value_parser = when::past)]
    pub(super) until: Option<UnixMs>,
    /// With this text, upper or lower case, in the last failure's cause, code, kind, hint or panic, in the job's
    /// kind, or in the payload of a letter of up to 64 KiB
    #[arg(long, value_parser = said())]
    pub(super) text: Option<String>,
    /// That cannot be read
    #[arg(long)]
    pub(super) unreadable: bool,
}

impl Filters {
    pub(super) fn filter(self) -> DeadFilter {
        DeadFilter {
            queue: self.queue,
            kind: self.kind,
            failure: self.failure,
            digest: self.digest,
            since: self.since,
            until: self.until,
            text: self.text,
            unreadable: self.unreadable,
        }
    }
}

/// Which letters to change.
#[derive(Debug, Args)]
pub(in crate::cli) struct Which {
    /// These: ids, or places such as @7168 of letters that cannot be read
    #[arg(value_name = "LETTER")]
    pub(super) names: Vec<LetterName>,
    /// All of them; needed when nothing else says which
    #[arg(long)]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) filters: Filters,
    /// Only say how many and show the first few; change nothing
    #[arg(long, help_heading = "Options")]
    pub(super) dry_run: bool,
}

/// How many a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Rate(pub(super) Option<u32>);

fn rate(text: &str) -> Result<Rate, String> {
    if text == "none" {
        return Ok(Rate(None));
    }
    let number = text.strip_suffix("/s").unwrap_or(text);
    match number.parse() {
        Ok(number @ 1..=100_000) => Ok(Rate(Some(number))),
        Ok(_) | Err(_) => Err(format!(
            "{text:?} is no rate: write 1/s to 100000/s, or `none`"
        )),
    }
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum DeadCommand {
    /// Dead letters, newest first; at the end those that cannot be read
    Ls {
        #[command(flatten)]
        filters: Filters,
        /// Only say how many there are
        #[arg(long, conflicts_with_all = ["limit", "cursor"], help_heading = "Options")]
        count: bool,
        #[command(flatten)]
        paging: Paging,
    },
    /// One dead letter with its whole history
    Show {
        /// Of which job, or the place of one that cannot be read
        #[arg(value_name = "LETTER")]
        name: LetterName,
        /// With the log lines of every attempt, not of the last alone
        #[arg(long, conflicts_with = "raw")]
        logs: bool,
        /// Bytes of the payload to show, as text or else in hex
        #[arg(
            long,
            value_name = "BYTES",
            default_value_t = 1024,
            conflicts_with = "raw"
        )]
        payload: usize,
        /// Write the bytes as they lie in the file, readable or not
        #[arg(long)]
        raw: bool,
    },
    /// Give dead jobs fresh attempts
    ///
    /// Letters of jobs that die after the command began are left alone. It stops at the first Ctrl-C
    /// and says how many were done.
    Retry {
        #[command(flatten)]
        which: Which,
        /// How many a second, so that what failed and is back is not stormed; `none` for all at once. Without a
        /// runner they are brought back at once
        #[arg(long, value_name = "N/s", default_value = "100/s", value_parser = rate, help_heading = "Options")]
        rate: Rate,
    },
    /// Delete dead jobs with their letters
    Rm {
        #[command(flatten)]
        which: Which,
    },
    /// Write letters as NDJSON, one a line, with all that `dead import` needs
    Export {
        /// Where to; `-` is standard output
        #[arg(default_value = "-")]
        file: PathBuf,
        #[command(flatten)]
        filters: Filters,
    },
    /// Take in letters that `dead export` wrote: dead jobs of this store from then on
    ///
    /// A letter whose id is here already is left alone. Lines that are not right are told with their
    /// number; the others go on.
    Import {
        /// Where from; `-` is standard input
        file: PathBuf,
        /// Only say what would happen
        #[arg(long)]
        dry_run: bool,
    },
    /// Delete the oldest letters over some bounds: those of the settings, or those given here
    Purge {
        /// Keep those that died within this time
        #[arg(long, value_name = "TIME", value_parser = when::span)]
        keep: Option<std::time::Duration>,
        /// Keep so many, the newest
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        max_letters: Option<u64>,
        /// Keep so many bytes, the newest
        #[arg(long, value_name = "SIZE", value_parser = size)]
        max_bytes: Option<u64>,
        /// Only say how many and show the first few; change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|why| format!("it {why}: write a size such as 512MiB"))
}

/// The time now, unless a filter says an earlier one: what dies later is none of a command's
/// business.
pub(super) fn until_now(filter: &mut DeadFilter) {
    let now = wall().plus(1);
    filter.until = Some(filter.until.map_or(now, |until| until.min(now)));
}
