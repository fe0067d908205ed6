//! The verbs that change jobs: those that are named, or a choice among all.

use std::collections::BTreeSet;

use sandhog_model::{Asked, JobId, State};
use serde_json::{Value, json};

use super::{
    super::{
        each::Each,
        exit::{Exit, Fault, Outcome},
        interrupt::Interrupt,
        session::{Session, ask},
        shapes, text,
        who::this_user,
    },
    args::{Said, Which},
};
use crate::{
    api::{ApiError, ErrorCode, JobAct, Request},
    store::{JobFilter, PageRequest},
};

/// Jobs asked for, and changed, at a time.
const BATCH: usize = 500;
/// Jobs shown by a dry run.
const SHOWN: usize = 10;

const WAITING: [State; 3] = [State::Scheduled, State::Available, State::Retryable];
const GOES_ON: [State; 4] = [
    State::Scheduled,
    State::Available,
    State::Running,
    State::Retryable,
];
const ENDED: [State; 4] = [
    State::Completed,
    State::Cancelled,
    State::Discarded,
    State::Expired,
];

/// What is done to each job.
enum Act {
    CallOff {
        how: Asked,
        by: String,
        reason: Option<String>,
    },
    Amend(JobAct),
}

/// A verb.
pub(super) struct Verb {
    act: Act,
    /// As an infinitive, and as a participle.
    names: [&'static str; 2],
    /// States that a choice among all takes in; empty when the choice has to say them.
    states: Vec<State>,
    /// States it may say besides.
    besides: Vec<State>,
}

impl Verb {
    pub(super) fn call_off(how: Asked, said: Said) -> Self {
        let (by, reason) = who(said);
        let names = match how {
            Asked::Cancel => ["cancel", "cancelled"],
            Asked::Kill => ["kill", "killed"],
        };
        Self {
            act: Act::CallOff { how, by, reason },
            names,
            states: GOES_ON.to_vec(),
            besides: Vec::new(),
        }
    }

    pub(super) fn retry() -> Self {
        let besides = State::ALL.into_iter();
        Self {
            act: Act::Amend(JobAct::Retry),
            names: ["retry", "retried"],
            states: Vec::new(),
            besides: besides.filter(|state| *state != State::Running).collect(),
        }
    }

    pub(super) fn snooze(due: sandhog_model::UnixMs) -> Self {
        Self {
            act: Act::Amend(JobAct::Snooze { due }),
            names: ["snooze", "put off"],
            states: WAITING.to_vec(),
            besides: Vec::new(),
        }
    }

    pub(super) fn discard(said: Said) -> Self {
        let (by, reason) = who(said);
        Self {
            act: Act::Amend(JobAct::Discard { by, reason }),
            names: ["discard", "discarded"],
            states: WAITING.to_vec(),
            besides: Vec::new(),
        }
    }

    pub(super) fn remove(force: bool) -> Self {
        let waiting = WAITING.into_iter().filter(|_| force);
        Self {
            act: Act::Amend(JobAct::Remove { force }),
            names: ["delete", "deleted"],
            states: ENDED.into_iter().chain(waiting).collect(),
            besides: vec![State::Dead],
        }
    }

    /// The choice, of states that the verb is for.
    fn choice(&self, mut filter: JobFilter) -> Outcome<JobFilter> {
        let [verb, _] = self.names;
        let is_for = |state: &State| self.states.contains(state) || self.besides.contains(state);
        if let Some(state) = filter.states.iter().find(|state| !is_for(state)) {
            return Err(Fault::usage(format!("cannot {verb} jobs that are {state}")));
        }
        if filter.states.is_empty() {
            if self.states.is_empty() {
                return Err(Fault::usage(format!(
                    "{verb} jobs of which states? say it with --state, such as --state cancelled,dead"
                )));
            }
            filter.states.clone_from(&self.states);
        }
        Ok(filter)
    }

    /// What became of so many jobs, of which some run and are only asked to end.
    fn told(&self, be: &str, count: u64, asked: u64) -> String {
        let [_, done] = self.names;
        let jobs = |count| text::count(count, "job");
        match (count - asked, asked) {
            (ended, 0) => format!("{} {be}{done}", jobs(ended)),
            (0, asked) => format!("{} {be}asked to end", jobs(asked)),
            (ended, asked) => format!("{} {be}{done}, {asked} asked to end", jobs(ended)),
        }
    }

    fn request(&self, ids: Vec<JobId>, dry_run: bool) -> Request {
        match &self.act {
            Act::CallOff { how, by, reason } => Request::CallOff {
                ids,
                how: *how,
                by: by.clone(),
                reason: reason.clone(),
                dry_run,
            },
            Act::Amend(act) => Request::AmendJobs {
                ids,
                act: act.clone(),
                dry_run,
            },
        }
    }

    /// Change some jobs, or ask what they would become: the state of each, `None` when it is gone.
    fn change(
        &self,
        session: &mut Session<'_, '_>,
        ids: &[JobId],
        dry_run: bool,
    ) -> Outcome<Vec<Result<Option<State>, ApiError>>> {
        let request = self.request(ids.to_vec(), dry_run);
        Ok(match &self.act {
            Act::CallOff { .. } => {
                let answers = ask!(session, request, CalledOff);
                answers.into_iter().map(|answer| answer.map(Some)).collect()
            }
            Act::Amend(_) => ask!(session, request, AmendedJobs),
        })
    }
}

fn who(said: Said) -> (String, Option<String>) {
    (said.by.unwrap_or_else(this_user), said.reason)
}

/// Change the jobs of a command line.
pub(super) fn run(session: &mut Session<'_, '_>, which: Which, verb: &Verb) -> Outcome<Exit> {
    let filter = which.filters.filter();
    let is_choice = which.all || filter != JobFilter::default();
    let ids = match (which.ids.is_empty(), is_choice) {
        (false, false) => which.ids,
        (false, true) => {
            return Err(Fault::usage(
                "jobs and a choice among all: name jobs, or use --all and filters",
            ));
        }
        (true, false) => {
            return Err(Fault::usage(
                "which jobs? name them, give a filter such as --kind, or --all",
            ));
        }
        (true, true) => choose(session, &verb.choice(filter)?)?,
    };
    match which.dry_run {
        true => weigh(session, &ids, verb, is_choice),
        false => apply(session, &ids, verb, is_choice),
    }
}

/// The jobs there are now. Taken together before any is changed; none that comes later is among them, since
/// ids grow.
fn choose(session: &mut Session<'_, '_>, filter: &JobFilter) -> Outcome<Vec<JobId>> {
    let (mut ids, mut seen) = (Vec::new(), BTreeSet::new());
    let mut page = PageRequest {
        limit: BATCH,
        cursor: None,
    };
    loop {
        let request = Request::Jobs {
            filter: filter.clone(),
            page: page.clone(),
        };
        let got = ask!(session, request, Jobs);
        let rows = got.rows.iter().map(|row| row.id);
        ids.extend(rows.filter(|id| seen.insert(*id)));
        match got.next {
            Some(next) => page.cursor = Some(next),
            None => return Ok(ids),
        }
    }
}

/// Say what a verb would do, and which jobs it would be refused for: what is exact is asked of the rules
/// that would refuse it.
pub(super) fn weigh(
    session: &mut Session<'_, '_>,
    ids: &[JobId],
    verb: &Verb,
    is_choice: bool,
) -> Outcome<Exit> {
    let (mut each, mut shown, mut asked) = (Each::default(), Vec::new(), 0);
    for part in ids.chunks(BATCH) {
        for (id, answer) in part.iter().zip(verb.change(session, part, true)?) {
            match answer {
                Ok(state) => {
                    each.done();
                    asked += u64::from(state == Some(State::Running));
                    shown.extend((shown.len() < SHOWN).then(|| id.text()));
                }
                Err(error) if is_choice && went_on(&error) => {}
                Err(error) => {
                    session.note(&format!("sandhog: {error}"));
                    each.refused(Fault::from(error).exit);
                }
            }
        }
    }
    let count = each.count();
    if session.is_json() {
        session.json(&json!({ "count": count, "first": shown }))?;
    } else {
        session.say(&shown.join("\n"))?;
    }
    let told = verb.told("would be ", count, asked);
    session.note(&format!("{told}; nothing was changed"));
    each.end()
}

/// Whether the job is not what it was when it was looked up.
fn went_on(error: &ApiError) -> bool {
    matches!(error.code, ErrorCode::NotFound | ErrorCode::WrongState)
}

/// Change jobs one part after the other, and say what became of each. Of a choice, those that went on
/// meanwhile are left alone.
pub(super) fn apply(
    session: &mut Session<'_, '_>,
    ids: &[JobId],
    verb: &Verb,
    is_choice: bool,
) -> Outcome<Exit> {
    let interrupt = Interrupt::listen();
    let (mut done, mut each) = (Vec::<Value>::new(), Each::default());
    let (mut asked, mut meanwhile) = (0, 0_u64);
    for part in ids.chunks(BATCH) {
        if interrupt.came() {
            session.note("stopped before the end: the rest is as it was");
            each.refused(Exit::Failed);
            break;
        }
        let answers = match verb.change(session, part, false) {
            Ok(answers) => answers,
            Err(fault) => match each.fault(session, fault) {
                true => continue,
                false => break,
            },
        };
        for (id, answer) in part.iter().zip(answers) {
            if let Ok(state) = &answer {
                each.done();
                asked += u64::from(*state == Some(State::Running));
            }
            match answer {
                Ok(state) if session.is_json() => {
                    let state = shapes::state_now(state);
                    done.push(json!({ "id": id, "state": state }));
                }
                Ok(Some(State::Running)) => session.say(&format!("{id} running, asked to end"))?,
                Ok(Some(state)) => session.say(&format!("{id} {state}"))?,
                Ok(None) => session.say(&format!("{id} deleted"))?,
                Err(error) if is_choice && went_on(&error) => meanwhile += 1,
                Err(error) => {
                    session.note(&format!("sandhog: {error}"));
                    each.refused(Fault::from(error).exit);
                }
            }
        }
    }
    if session.is_json() {
        session.json(&done.into())?;
    }
    if is_choice {
        session.note(&verb.told("", each.count(), asked));
    }
    if meanwhile > 0 {
        let jobs = text::count(meanwhile, "job");
        session.note(&format!("{jobs} went on meanwhile: left alone"));
    }
    each.end()
}
