//! One run: leased, plugin found, limits set, called, ended.

use std::{any::Any, sync::Arc, time::Instant};

use sandhog_model::{
    Asked, Attempt, Cancellation, Failure, FailureKind, Outcome, RetryPolicy, Settlement, UnixMs,
    Waiting,
};

use tokio::task::JoinError;

use super::{
    budget::{Budget, Room},
    chain,
    live::{Held, LiveTable},
    settings::{KindRule, Settings, resolve},
};
use crate::{
    clock::Clock,
    plugin::{AttemptRequest, Host, KindInfo, Live, Plugins, Report, Services},
    store::LeasedJob,
};

/// How long after its wall time an attempt may still be ending before its lease is given up, in
/// milliseconds.
const ENDING_MS: u64 = 15_000;

/// What a run needs from its worker.
pub(super) struct RunContext {
    pub(super) worker: usize,
    pub(super) plugins: Arc<dyn Plugins>,
    pub(super) settings: Arc<dyn Settings>,
    pub(super) services: Arc<dyn Services>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) live: Arc<LiveTable>,
    pub(super) budget: Arc<Budget>,
}

/// Run one leased job to a settlement, by what the operator says of its kind; `room` is for its
/// memory, when there was some at once.
pub(super) async fn run(
    context: &RunContext,
    host: &dyn Host,
    leased: &LeasedJob,
    rule: KindRule,
    room: Option<Room>,
) -> Settlement {
    let begun = Instant::now();
    let started_at = context.clock.now().wall;
    let (id, token, number) = (leased.job.id, leased.token, leased.attempt);

    let live = Arc::new(Live::default());
    let room = match room {
        Some(room) => Some(room),
        None => admitted(context, leased, rule.limits.memory, &live).await,
    };
    let Some(room) = room else {
        return put_back(leased, Waiting::Shutdown, started_at);
    };
    let catalog = context.plugins.catalog();
    let Some((plugin, info)) = catalog.serving(&leased.job.kind) else {
        // The plugin went away between the claim and now.
        context.live.remove(id, token);
        return put_back(leased, Waiting::PluginMissing, started_at);
    };
    let (limits, retry) = resolve(&leased.job, &rule, info);
    let held = Held {
        worker: context.worker,
        live: live.clone(),
        hard_deadline: (context.clock.now().mono)
            .saturating_add(limits.timeout_ms)
            .saturating_add(ENDING_MS),
    };
    context.live.add(id, token, held);
    let request = AttemptRequest {
        job: leased.job.clone(),
        token,
        number,
        max_attempts: retry.max_attempts(),
        checkpoint: leased.checkpoint.clone(),
        started_at,
        plugin: plugin.clone(),
        limits,
        config: rule.config,
        live: live.clone(),
    };
    let Report {
        outcome,
        mut attempt,
        children,
    } = host.run(request, context.services.clone()).await;
    drop(room);
    context.live.remove(id, token);
    context
        .plugins
        .ended(plugin, &leased.job.kind, id, &outcome);
    let outcome = told(outcome, &mut attempt, &live);
    let (outcome, children) = chain::go_on(&*context.services, &leased.job, outcome, children);
    attempt.ended_at = context.clock.now().wall;
    log_end(leased, &outcome, begun);
    Settlement {
        children,
        ..settlement(leased, outcome, attempt, retry)
    }
}

/// Room for the attempt's memory, waited for. `None` when it was interrupted meanwhile.
async fn admitted(
    context: &RunContext,
    leased: &LeasedJob,
    memory: u64,
    live: &Arc<Live>,
) -> Option<Room> {
    let (id, token) = (leased.job.id, leased.token);
    tracing::debug!(job = %id, memory, "waits for memory that other attempts hold");
    // Its lease is renewed all the while, as nothing limits how long others run.
    let held = Held {
        worker: context.worker,
        live: live.clone(),
        hard_deadline: u64::MAX,
    };
    context.live.add(id, token, held);
    tokio::select! {
        biased;
        () = live.interrupt_asked() => {
            context.live.remove(id, token);
            None
        }
        room = context.budget.enter(memory) => Some(room),
    }
}

/// The settlement of a run that did not begin.
fn put_back(leased: &LeasedJob, why: Waiting, started_at: UnixMs) -> Settlement {
    let attempt = Attempt::without_run(leased.attempt, leased.token, started_at);
    settlement(
        leased,
        Outcome::NotRun(why),
        attempt,
        leased.job.retry.clone(),
    )
}

/// The outcome of an attempt with the reason, when it was stopped because its job was called off. The
/// ledger ends the job.
fn told(outcome: Outcome, attempt: &mut Attempt, live: &Live) -> Outcome {
    match (outcome, live.cancellation()) {
        (Outcome::NotRun(Waiting::Shutdown), Some(cancel)) => {
            let failure = called_off(&cancel);
            attempt.failure = Some(failure.clone());
            Outcome::Failed {
                failure,
                retry_after_ms: None,
            }
        }
        (outcome, _) => outcome,
    }
}

fn called_off(cancel: &Cancellation) -> Failure {
    let code = match cancel.how {
        Asked::Cancel => "cancelled",
        Asked::Kill => "killed",
    };
    Failure::new(FailureKind::Cancelled, code, cancel.told())
}

/// The settlement of a run that broke inside the host.
pub(super) fn broken(context: &RunContext, leased: &LeasedJob, error: JoinError) -> Settlement {
    let text = match error.try_into_panic() {
        Ok(payload) => panic_text(payload.as_ref()),
        Err(error) => error.to_string(),
    };
    let line = text.lines().next().unwrap_or_default();
    let cause = format!("the runner broke while running it: {line}");
    let failure = Failure::new(FailureKind::HostError, "panic", cause)
        .with_hint("this is a fault of the runner, not of the handler: report it with its log");
    let now = context.clock.now().wall;
    let mut attempt = Attempt::without_run(leased.attempt, leased.token, now);
    attempt.failure = Some(failure.clone());
    let outcome = Outcome::Failed {
        failure,
        retry_after_ms: None,
    };
    let rule = context.settings.rule(&leased.job.kind);
    let catalog = context.plugins.catalog();
    let info = catalog.serving(&leased.job.kind).map(|(_, info)| info);
    let (_, retry) = resolve(&leased.job, &rule, info.unwrap_or(&KindInfo::default()));
    settlement(leased, outcome, attempt, retry)
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a text").to_owned()
}

fn settlement(
    leased: &LeasedJob,
    outcome: Outcome,
    attempt: Attempt,
    retry: RetryPolicy,
) -> Settlement {
    Settlement {
        id: leased.job.id,
        token: leased.token,
        outcome,
        attempt,
        children: Vec::new(),
        retry,
    }
}

fn log_end(leased: &LeasedJob, outcome: &Outcome, begun: Instant) {
    let (job, kind, attempt) = (leased.job.id, &leased.job.kind, leased.attempt);
    let ms = begun.elapsed().as_millis() as u64;
    match outcome {
        Outcome::Completed(_) => tracing::info!(%job, %kind, attempt, ms, "completed"),
        Outcome::Failed { failure, .. } | Outcome::Permanent(failure) => {
            let (failure, cause) = (failure.kind, &failure.cause);
            tracing::warn!(%job, %kind, attempt, ms, %failure, %cause, "attempt failed");
        }
        Outcome::Snoozed { delay_ms } => {
            tracing::info!(%job, %kind, attempt, ms, delay_ms, "snoozed");
        }
        Outcome::Discarded { reason } => {
            tracing::info!(%job, %kind, attempt, ms, %reason, "discarded");
        }
        Outcome::NotRun(why) => tracing::info!(%job, %kind, attempt, ?why, "put back"),
    }
}
