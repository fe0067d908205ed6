//! The audit log: a line for every change that is asked for over HTTP, with who asked and what came of it.
//! It goes where the runner's log goes, under the target `audit`.

use std::net::SocketAddr;

use sandhog_model::{Asked, JobId, QueueMode};

use super::token::Caller;
use crate::{
    api::{BatchRequest, CronAct, JobAct, Reply, Request, Response, WorkersAct},
    plugin::PluginAct,
    store::LetterRef,
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
    /// What a request changes; `None` when it only looks.
    pub(super) fn of(request: &Request, caller: &Caller, peer: SocketAddr) -> Option<Self> {
        let (what, on) = told(request)?;
        Some(Self {
            caller: caller.clone(),
            peer,
            what,
            on,
            // Until it is known.
            result: "unknown: the caller went away".to_owned(),
        })
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
}

impl Drop for Change {
    fn drop(&mut self) {
        // As values with quotes: what a caller wrote cannot begin a line.
        tracing::info!(
            target: "audit",
            who = ?self.caller.name,
            role = self.caller.role.name(),
            peer = %self.peer,
            what = self.what,
            on = ?self.on,
            result = ?self.result,
            "audit"
        );
    }
}

fn told(request: &Request) -> Option<(&'static str, String)> {
    Some(match request {
        Request::Enqueue { jobs } => {
            let kinds = jobs.iter().map(|job| job.kind.as_str());
            ("enqueue", some(kinds, jobs.len()))
        }
        Request::Retry { id } => ("retry", id.text()),
        // Nothing is changed.
        Request::AmendJobs { dry_run: true, .. }
        | Request::CallOff { dry_run: true, .. }
        | Request::Requeue { dry_run: true, .. }
        | Request::Delete { dry_run: true, .. } => return None,
        Request::AmendJobs { ids, act, .. } => (of_jobs(act), ids_of(ids)),
        Request::CallOff { ids, how, .. } => {
            let what = match how {
                Asked::Cancel => "cancel",
                Asked::Kill => "kill",
            };
            (what, ids_of(ids))
        }
        Request::Steer(steer) => {
            let what = match (steer.mode, steer.limits) {
                (Some(QueueMode::Open), _) => "resume queue",
                (Some(QueueMode::Paused), _) => "pause queue",
                (Some(QueueMode::Draining), _) => "drain queue",
                (None, _) => "limit queue",
            };
            (what, steer.queue.clone())
        }
        Request::Unlock { ids } => ("unlock", ids_of(ids)),
        Request::Requeue { letters, .. } => ("requeue", letters_of(letters)),
        Request::Delete { letters, .. } => ("delete", letters_of(letters)),
        Request::ImportDead { letters, dry_run } => (
            "import",
            format!("{} letters, dry run {dry_run}", letters.len()),
        ),
        Request::PurgeDead { bounds, dry_run } => {
            ("purge", format!("{bounds:?}, dry run {dry_run}"))
        }
        Request::Batch(request) => return of_batch(request),
        Request::ActOnCron { name, act } => (of_cron(act), name.clone()),
        Request::ActOnPlugin { name, act } => (of_plugin(act), name.clone()),
        Request::Reload => ("reload", String::new()),
        Request::ActOnWorkers { act } => (of_workers(*act), String::new()),
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
        | Request::Plugins
        | Request::Plugin { .. }
        | Request::Workers
        | Request::Metrics
        | Request::Settings
        | Request::Stats => return None,
    })
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

fn of_workers(act: WorkersAct) -> &'static str {
    match act {
        WorkersAct::Quiet => "quiet workers",
        WorkersAct::Resume => "resume workers",
        WorkersAct::Stop => "stop",
    }
}

fn of_batch(request: &BatchRequest) -> Option<(&'static str, String)> {
    match request {
        BatchRequest::Open(new) => Some(("open batch", new.name.clone().unwrap_or_default())),
        BatchRequest::Seal { id } => Some(("seal batch", id.text())),
        BatchRequest::Cancel { id, .. } => Some(("cancel batch", id.text())),
        BatchRequest::Show { .. } | BatchRequest::List { .. } => None,
    }
}

fn of_cron(act: &CronAct) -> &'static str {
    match act {
        CronAct::Pause { .. } => "pause schedule",
        CronAct::Resume => "resume schedule",
        CronAct::Trigger => "trigger schedule",
        CronAct::Add { .. } => "add schedule",
        CronAct::Remove => "remove schedule",
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
