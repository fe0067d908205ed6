//! `sandhog limit`.

use clap::{Args, Subcommand};
use sandhog_model::{QueueLimits, Rate};

use super::{
    args::Paging,
    exit::{Exit, Fault, Outcome},
    queue::{self, steer},
    session::{Session, ask},
    shapes, text,
};
use crate::{
    api::{QueueView, Request},
    store::Steer,
};

#[derive(Debug, Subcommand)]
pub(super) enum LimitCommand {
    /// Queues with a limit, and how much of it is used
    Ls {
        #[command(flatten)]
        paging: Paging,
    },
    /// Set limits of a queue, above those of the settings, until they are reset
    ///
    /// What is not given stays as it is. It counts at once, and after a restart too.
    Set(SetArgs),
    /// Let the settings count again for a queue
    Reset {
        /// Which
        queue: String,
        /// Who says so [default: this user]
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(super) struct SetArgs {
    /// Which queue
    queue: String,
    /// Attempts of it that run at a time
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// Attempts of it that begin, such as "100/1m" or "100/1m burst 10"
    #[arg(long)]
    rate: Option<Rate>,
    /// Attempts of one of its groups that run at a time
    #[arg(long, value_name = "N")]
    group_concurrency: Option<u32>,
    /// Attempts of one of its groups that begin
    #[arg(long, value_name = "RATE")]
    group_rate: Option<Rate>,
    /// Who says so [default: this user]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

pub(super) fn run(session: &mut Session<'_, '_>, command: LimitCommand) -> Outcome<Exit> {
    match command {
        LimitCommand::Ls { paging } => queue::list(session, &paging, has_limits, table),
        LimitCommand::Set(args) => set(session, args),
        LimitCommand::Reset { queue, by } => {
            let limits = QueueLimits::default();
            steered(session, queue, limits, by)
        }
    }
}

fn has_limits(queue: &QueueView) -> bool {
    !queue.row.limits.is_empty() || queue.row.max_depth.is_some()
}

fn table(queues: &[QueueView]) -> String {
    let header = [
        "QUEUE",
        "RUNNING",
        "CONCURRENCY",
        "RATE",
        "GROUP CONCURRENCY",
        "GROUP RATE",
        "WAITING",
        "MAX DEPTH",
    ];
    text::table(
        &header,
        &[1, 2, 4, 6, 7],
        queues.iter().map(|queue| {
            let (row, limits) = (&queue.row, &queue.row.limits);
            let [running, waiting] = queue::running_and_waiting(row);
            let number = |limit: Option<u32>| limit.map_or_else(String::new, |one| one.to_string());
            let rate = |rate: Option<Rate>| rate.map_or_else(String::new, |one| one.to_string());
            let depth = row.max_depth;
            vec![
                row.queue.clone(),
                running.to_string(),
                number(limits.concurrency),
                rate(limits.rate),
                number(limits.group_concurrency),
                rate(limits.group_rate),
                waiting.to_string(),
                depth.map_or_else(String::new, |depth| depth.to_string()),
            ]
        }),
    )
}

fn set(session: &mut Session<'_, '_>, args: SetArgs) -> Outcome<Exit> {
    let given = QueueLimits {
        concurrency: args.concurrency,
        rate: args.rate,
        group_concurrency: args.group_concurrency,
        group_rate: args.group_rate,
    };
    if given.is_empty() {
        return Err(Fault::usage(
            "no limit is given: --concurrency, --rate, --group-concurrency or --group-rate",
        ));
    }
    given.check().map_err(Fault::usage)?;
    let queues = ask!(session, Request::Queues, Queues);
    let there = queues.iter().find(|one| one.row.queue == args.queue);
    let before = there.map(|one| one.row.set).unwrap_or_default();
    steered(session, args.queue, given.or(before), args.by)
}

fn steered(
    session: &mut Session<'_, '_>,
    queue: String,
    limits: QueueLimits,
    by: Option<String>,
) -> Outcome<Exit> {
    let wish = Steer {
        queue: queue.clone(),
        mode: None,
        limits: Some(limits),
        by: by.unwrap_or_else(super::who::this_user),
    };
    steer(session, wish)?;
    let queues = ask!(session, Request::Queues, Queues);
    let there = queues.iter().find(|one| one.row.queue == queue);
    let limits = there.map(|one| one.row.limits).unwrap_or_default();
    if session.is_json() {
        session.json(&serde_json::json!({ "queue": queue, "limits": shapes::limits(&limits) }))?;
    } else {
        session.say(&format!("{queue} {}", told(&limits)))?;
    }
    Ok(Exit::Done)
}

/// The limits in one line.
fn told(limits: &QueueLimits) -> String {
    let parts = [
        ("concurrency", limits.concurrency.map(|one| one.to_string())),
        ("rate", limits.rate.map(|one| one.to_string())),
        (
            "group concurrency",
            limits.group_concurrency.map(|one| one.to_string()),
        ),
        ("group rate", limits.group_rate.map(|one| one.to_string())),
    ];
    let parts = parts
        .into_iter()
        .filter_map(|(name, limit)| Some(format!("{name} {}", limit?)));
    let told: Vec<String> = parts.collect();
    match told.is_empty() {
        true => "no limit".to_owned(),
        false => told.join(", "),
    }
}
