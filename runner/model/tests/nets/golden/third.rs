//! Samples of what came within format 3.

use sandhog_model::{
    Asked, Cancellation, Carried, Event, FailureKind, Job, Record, Status, UnixMs, Verdict,
    cron::{CronState, Done, Paused, Span},
};

use super::{
    first::{AT, ID, TOKEN, bare, bare_attempt, failed, named, settled},
    second::carried,
};

fn cancellation(how: Asked, reason: Option<&str>) -> Cancellation {
    Cancellation {
        how,
        at: AT,
        by: "ada".into(),
        reason: reason.map(str::to_owned),
    }
}

fn cron_state() -> CronState {
    let mut done = Done::default();
    for at in [1_000, 5_000] {
        let (after, upto) = (UnixMs(at), UnixMs(at + 500));
        done.add(Span { after, upto });
    }
    CronState {
        done,
        slot: Some(UnixMs(5_500)),
        latest: Some(ID),
        waiting: Some(UnixMs(5_500)),
        paused: Some(Paused {
            at: AT,
            by: "ada".into(),
            reason: Some("too many".into()),
        }),
        entry: Some("{}".into()),
    }
}

/// The samples.
pub(super) fn records() -> Vec<(String, Record)> {
    let (id, token) = (ID, TOKEN);
    let asked = |how, reason| {
        let cancel = Box::new(cancellation(how, reason));
        Event::CancelAsked { id, token, cancel }
    };
    let cancelled = |how, reason| {
        let cancel = Box::new(cancellation(how, reason));
        Event::Cancelled { id, cancel }
    };
    let anew = |status, how| {
        Event::Carried(Box::new(Carried {
            cancel: Some(cancellation(how, Some("no use"))),
            ..carried(status)
        }))
    };
    let cron = |state, job: Option<Job>| Event::Cron {
        name: "nightly".into(),
        at: AT,
        state: Box::new(state),
        job: job.map(Box::new),
    };
    let running = Status::Running { since: AT };
    let ended = |attempt| settled(attempt, Verdict::Cancelled, Vec::new());
    vec![
        named("cancel asked", asked(Asked::Cancel, None)),
        named("cancel asked, kill", asked(Asked::Kill, Some("stuck"))),
        named("cancelled", cancelled(Asked::Cancel, Some("no use"))),
        named("cancelled, kill", cancelled(Asked::Kill, None)),
        named("settled, cancelled", ended(bare_attempt())),
        named(
            "settled, cancelled, stopped",
            ended(failed(FailureKind::Cancelled)),
        ),
        named("carried, asked to end", anew(running, Asked::Cancel)),
        named("carried, asked to end at once", anew(running, Asked::Kill)),
        named(
            "carried, called off",
            anew(Status::Cancelled(AT), Asked::Cancel),
        ),
        named("cron, begun", cron(CronState::default(), None)),
        named("cron, all that it can be", cron(cron_state(), Some(bare()))),
        named(
            "cron forgotten",
            Event::CronForgotten {
                name: "nightly".into(),
                at: AT,
            },
        ),
    ]
}
