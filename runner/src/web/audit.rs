//! Which role each request needs; and the audit log: a line for every change that is asked for over HTTP, with who asked and what came of it. A
//! change of all that fit goes on by pieces: it has one line when it begins, one when it ends, and none between.
//! It goes where the runner's log goes, under the target `audit`.

use std::net::SocketAddr;

use sandhog_model::{Asked, JobId, QueueMode};

use super::token::{Caller, Role};
use crate::{
    api::{BatchRequest, CronAct, JobAct, Reply, Request, Response, WorkersAct},
    plugin::PluginAct,
    store::{LetterBounds, LetterRef, Steer},
};

/// Ids named in a line.
const NAMED: usize = 10;

/// A change under way. It leaves its line whatever becomes of it.
pub(super) struct Change {
    caller: Caller,
    peer: SocketAddr,
    what: &'static str,
    on: String,
    result: String,
}

impl Change {
    /// The least role that may ask this, and what it changes; `None` when it only looks.
    pub(super) fn of(request: &Request, caller: &Caller, peer: SocketAddr) -> (Role, Option<Self>) {
        let (needed, told) = weighed(request);
        let change = told.map(|(what, on)| Self {
            caller: caller.clone(),
            peer,
            what,
            on,
            // Until it is known.
            result: "unknown: the caller went away".to_owned(),
        });
        (needed, change)
    }

    /// A change of so many letters, by pieces such as this one. It leaves a line that it begins.
    pub(super) fn of_all(
        piece: &Request,
        letters: usize,
        caller: &Caller,
        peer: SocketAddr,
    ) -> Option<Self> {
        let (_, change) = Self::of(piece, caller, peer);
        let mut change = change?;
        change.on = format!("{letters} letters that fit");
        change.tell("begun");
        Some(change)
    }

    /// What came of all, and why it ended before its end if it did.
    pub(super) fn went_through(mut self, done: u64, refused: u64, stopped: Option<&str>) {
        self.result = format!("{done} done, {refused} refused");
        if let Some(why) = stopped {
            self.result += &format!(", the rest left as it was: {why}");
        }
    }

    /// What came of it.
    pub(super) fn ended(mut self, reply: &Reply) {
        self.result = match reply {
            Ok(response) => of_response(response),
            Err(error) => error.code.name().to_owned(),
        };
    }

    /// It was not to be asked.
    pub(super) fn refused(mut self) {
        "forbidden".clone_into(&mut self.result);
    }

    fn tell(&self, result: &str) {
        // As values with quotes: what a caller wrote cannot begin a line.
        tracing::info!(
            target: "audit",
            who = ?self.caller.name,
            role = self.caller.role.name(),
            peer = %self.peer,
            what = self.what,
            on = ?self.on,
            result = ?result,
            "audit"
        );
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        self.tell(&self.result);
    }
}

/// The least role that may ask this, the same over every way that leads here.
pub(super) fn needed(request: &Request) -> Role {
    weighed(request).0
}

/// The least role that may ask this; and of what changes something, what it is called and what it is done to.
fn weighed(request: &Request) -> (Role, Option<(&'static str, String)>) {
    use Role::{Admin, Operator, Viewer};
    let (role, what, on) = match request {
        Request::Ping
        | Request::Job { .. }
        | Request::Jobs { .. }
        | Request::Logs { .. }
        | Request::Wait { .. }
        | Request::Queues
        | Request::Crons
        | Request::Unique { .. }
        | Request::Dead { .. }
        | Request::CountDead { .. }
        | Request::Letter { .. }
        | Request::RawLetter { .. }
        | Request::Batch(BatchRequest::Show { .. } | BatchRequest::List { .. })
        | Request::Plugins
        | Request::Plugin { .. }
        | Request::Workers
        | Request::Metrics
        | Request::Settings
        | Request::Stats => return (Viewer, None),
        // Nothing is changed.
        Request::AmendJobs { dry_run: true, .. }
        | Request::CallOff { dry_run: true, .. }
        | Request::CheckPlugin { .. }
        | Request::Requeue { dry_run: true, .. }
        | Request::Delete { dry_run: true, .. } => return (Operator, None),
        Request::Enqueue { jobs } => {
            let kinds = jobs.iter().map(|job| job.kind.as_str());
            (Operator, "enqueue", some(kinds, jobs.len()))
        }
        Request::Retry { id } => (Operator, "retry", id.text()),
        Request::AmendJobs { ids, act, .. } => (Operator, of_jobs(act), ids_of(ids)),
        Request::CallOff { ids, how, .. } => (Operator, of_call(*how), ids_of(ids)),
        Request::Steer(steer) => (Operator, of_queue(steer), steer.queue.clone()),
        Request::Unlock { ids } => (Operator, "unlock", ids_of(ids)),
        Request::Requeue { letters, .. } => (Operator, "requeue", letters_of(letters)),
        Request::Delete { letters, .. } => (Operator, "delete", letters_of(letters)),
        Request::ImportDead { letters, dry_run } => {
            let on = format!("{} letters, dry run {dry_run}", letters.len());
            (Admin, "import", on)
        }
        Request::PurgeDead { bounds, dry_run } => (
            Admin,
            "purge",
            format!("{}, dry run {dry_run}", purged(*bounds)),
        ),
        Request::Batch(BatchRequest::Open(new)) => {
            (Operator, "open batch", new.name.clone().unwrap_or_default())
        }
        Request::Batch(BatchRequest::Seal { id }) => (Operator, "seal batch", id.text()),
        Request::Batch(BatchRequest::Cancel { id, .. }) => (Operator, "cancel batch", id.text()),
        Request::ActOnCron { name, act } => {
            let (role, what) = of_cron(act);
            (role, what, name.clone())
        }
        Request::ActOnPlugin { name, act } => (Admin, of_plugin(act), name.clone()),
        Request::Reload => (Admin, "reload", String::new()),
        Request::ActOnWorkers { act } => {
            let (role, what) = of_workers(*act);
            (role, what, String::new())
        }
    };
    (role, Some((what, on)))
}

fn of_call(how: Asked) -> &'static str {
    match how {
        Asked::Cancel => "cancel",
        Asked::Kill => "kill",
    }
}

fn of_queue(steer: &Steer) -> &'static str {
    match (steer.mode, steer.limits) {
        (Some(QueueMode::Open), _) => "resume queue",
        (Some(QueueMode::Paused), _) => "pause queue",
        (Some(QueueMode::Draining), _) => "drain queue",
        (None, _) => "limit queue",
    }
}

fn of_jobs(act: &JobAct) -> &'static str {
    match act {
        JobAct::Retry => "retry",
        JobAct::Snooze { .. } => "snooze",
        JobAct::Discard { .. } => "discard",
        JobAct::Remove { .. } => "remove",
    }
}

fn of_plugin(act: &PluginAct) -> &'static str {
    match act {
        PluginAct::Rollback { .. } => "roll back plugin",
        PluginAct::Quarantine { .. } => "quarantine plugin",
        PluginAct::Release => "release plugin",
    }
}

fn of_workers(act: WorkersAct) -> (Role, &'static str) {
    match act {
        WorkersAct::Quiet => (Role::Operator, "quiet workers"),
        WorkersAct::Resume => (Role::Operator, "resume workers"),
        WorkersAct::Stop => (Role::Admin, "stop"),
    }
}

fn of_cron(act: &CronAct) -> (Role, &'static str) {
    match act {
        CronAct::Pause { .. } => (Role::Operator, "pause schedule"),
        CronAct::Resume => (Role::Operator, "resume schedule"),
        CronAct::Trigger => (Role::Operator, "trigger schedule"),
        CronAct::Add { .. } => (Role::Admin, "add schedule"),
        CronAct::Remove => (Role::Admin, "remove schedule"),
    }
}

fn of_response(response: &Response) -> String {
    match response {
        Response::Enqueued(answers) => {
            let ids = answers.iter().flatten().map(|job| job.id.text());
            let ids: Vec<String> = ids.take(NAMED).collect();
            format!(
                "{}: {}",
                each(answers.iter().map(Result::is_ok)),
                ids.join(" ")
            )
        }
        Response::AmendedJobs(answers) => each(answers.iter().map(Result::is_ok)),
        Response::CalledOff(answers) => each(answers.iter().map(Result::is_ok)),
        Response::Unlocked(answers) => each(answers.iter().map(Result::is_ok)),
        Response::Amended(answers) => each(answers.iter().map(Result::is_ok)),
        Response::Imported(answers) => each(answers.iter().map(Result::is_ok)),
        Response::Purged(purged) => format!("{} purged", purged.letters.len()),
        _ => "done".to_owned(),
    }
}

fn each(answers: impl Iterator<Item = bool>) -> String {
    let (mut done, mut all) = (0, 0);
    for is_done in answers {
        all += 1;
        done += usize::from(is_done);
    }
    format!("{done} of {all} done")
}

/// Which letters go.
fn purged(bounds: LetterBounds) -> String {
    let told = [
        bounds.keep_ms.map(|ms| format!("older than {ms} ms")),
        bounds
            .max_letters
            .map(|most| format!("beyond {most} letters")),
        bounds.max_bytes.map(|most| format!("beyond {most} bytes")),
    ];
    told.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn ids_of(ids: &[JobId]) -> String {
    let texts: Vec<String> = ids.iter().take(NAMED).map(|id| id.text()).collect();
    some(texts.iter().map(String::as_str), ids.len())
}

fn letters_of(letters: &[LetterRef]) -> String {
    let names = letters.iter().take(NAMED);
    let texts: Vec<String> = names.map(|letter| letter.name.to_string()).collect();
    some(texts.iter().map(String::as_str), letters.len())
}

fn some<'a>(names: impl Iterator<Item = &'a str>, count: usize) -> String {
    let mut shown: Vec<&str> = names.take(NAMED).collect();
    shown.dedup();
    let shown = shown.join(" ");
    match count {
        0 | 1 => shown,
        count => format!("{count}: {shown}"),
    }
}
