//! The command line as it is written.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, builder::NonEmptyStringValueParser};
use sandhog_model::JobId;

use super::{
    batch::BatchCommand, bench::BenchArgs, cron::CronCommand, dead::DeadCommand,
    enqueue::EnqueueArgs, job::JobCommand, limit::LimitCommand, plugin::PluginCommand,
    queue::QueueCommand, remote::RemoteArgs, session::Format, top::TopArgs, unique::UniqueCommand,
};

const EXIT_CODES: &str = "Exit codes: 0 done (with --wait: the job completed) · 1 failed (with --wait: dead, discarded or cancelled) · \
2 the command line, settings or input are not right · 3 no runner is up where one is needed · 4 not found · \
5 the time of --wait is over · 6 of many some were done and others were not";

/// A durable job runner whose handlers are WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "sandhog", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) verb: Verb,
}

/// The options of every verb.
#[derive(Debug, Args)]
#[command(next_help_heading = "For every verb")]
pub(super) struct Global {
    /// The settings file [default: ./sandhog.toml if there; env: SANDHOG_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// The data directory [default: sandhog-data; env: SANDHOG_DATA]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// The plugin folder [default: plugins; env: SANDHOG_PLUGINS]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) plugins: Option<PathBuf>,
    /// How the answer is written
    #[arg(
        short = 'o',
        long = "format",
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) remote: RemoteArgs,
}

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Run jobs until told to stop
    Start {
        /// Where to be reached over HTTP, or "off" [default: 127.0.0.1:7263; env: SANDHOG_LISTEN]
        #[arg(long, value_name = "ADDRESS")]
        listen: Option<String>,
    },
    /// Hand in a job, or many
    Enqueue(Box<EnqueueArgs>),
    /// Look at jobs, and change them
    #[command(subcommand)]
    Job(JobCommand),
    /// Jobs that belong together, with a job that follows when all of them ended
    #[command(subcommand)]
    Batch(Box<BatchCommand>),
    /// Look at queues, and say what they are to do
    #[command(subcommand)]
    Queue(QueueCommand),
    /// Look at the limits of queues, and set them
    #[command(subcommand)]
    Limit(LimitCommand),
    /// Look at unique jobs, and let others past them
    #[command(subcommand)]
    Unique(UniqueCommand),
    /// Look at dead letters and bring them back
    #[command(subcommand)]
    Dead(DeadCommand),
    /// Look at schedules
    #[command(subcommand)]
    Cron(CronCommand),
    /// Make, check and try handlers
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Measure a handler: jobs a second, and where the time of an attempt goes
    ///
    /// Runs jobs with this payload for real, on a runner of its own with a data directory that is thrown away, in turns
    /// with attempts that have nothing around them. It needs no runner and touches none; the settings count, with the
    /// grants of NAME.toml beside the component. Whatever the handler sends or writes outside happens for each attempt.
    Bench(Box<BenchArgs>),
    /// Look at the workers, and have them wait or stop
    #[command(subcommand)]
    Worker(WorkerCommand),
    /// Everything at a glance
    Stats,
    /// Watch queues, what runs, workers and failures; `?` shows the keys
    Top(TopArgs),
    /// Look into the log
    #[command(subcommand)]
    Log(LogCommand),
    /// Look at the settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Be the compiler of a runner: a component on standard input, its code on standard output
    #[command(name = crate::plugin::COMPILE_VERB, hide = true)]
    Compile {
        /// Most resident memory, in bytes
        memory: u64,
        /// Most time, in seconds
        seconds: u64,
        /// The process that waits for the code
        parent: u32,
        /// On every core
        #[arg(long)]
        parallel: bool,
    },
    /// Completions for a shell, on standard output
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// A filter that says something. An empty one fits everything, and comes from a script whose variable was never
/// set.
pub(super) fn said() -> NonEmptyStringValueParser {
    NonEmptyStringValueParser::new()
}

/// Which part of a list.
#[derive(Debug, Args)]
pub(super) struct Paging {
    /// Rows at most, 1 to 1000
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) limit: u16,
    /// Where to go on: the cursor that the page before ended with
    #[arg(long)]
    pub(super) cursor: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum WorkerCommand {
    /// The worker threads of the runner, with the jobs they run
    Ls,
    /// Claim nothing more; jobs that run go on. A SIGTSTP does the same
    Quiet,
    /// Claim jobs again
    Resume,
    /// Stop the runner as a SIGTERM does: jobs that run have `runner.shutdown_grace` to end
    Stop,
}

#[derive(Debug, Subcommand)]
pub(super) enum LogCommand {
    /// Read the whole log and say what is not sound; changes nothing
    Check,
    /// Keep all that is sound of a damaged log, and move the damaged files aside; no runner may be up
    ///
    /// A new log takes the place of the damaged one, which is kept whole as damaged-ID beside `logs`, with a
    /// list of what did not come along. Jobs that the damage is about are named.
    Repair {
        /// Say what would be done; changes nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Show the records, oldest first; changes nothing
    Dump {
        /// Records at most, the whole log when not given
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// Only those about this job: also the ones that accept it with others, carry it over or forget it
        #[arg(long, value_name = "ID")]
        job: Option<JobId>,
        /// From this place on, such as 2:5120
        #[arg(long, value_name = "SEGMENT:OFFSET")]
        from: Option<Place>,
        /// Of this log, when there are several
        #[arg(long, value_name = "ID")]
        log: Option<String>,
    },
}

/// A place in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) segment: u32,
    pub(super) offset: u64,
}

impl std::str::FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once(':').and_then(|(segment, offset)| {
            Some(Self {
                segment: segment.parse().ok()?,
                offset: offset.parse().ok()?,
            })
        });
        parsed.ok_or_else(|| {
            format!("{text:?} is no place: use a segment's number and an offset, such as 2:5120")
        })
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Say what is wrong with the settings; starts nothing
    Check {
        /// The file; when not given, the one that would be used
        file: Option<PathBuf>,
    },
    /// Print the settings that a start here would use, as a file
    Show,
    /// Have the runner read its settings again, and say what differs
    Reload,
}
