//! The dashboard: pages made here, with nothing in them but what a template escaped. They ask what the API
//! asks, with the role of who looks, and no page reads more than it shows.

mod assets;
mod batches;
mod chart;
mod crons;
mod dead;
mod frame;
mod job;
mod jobs;
mod login;
mod overview;
mod past;
mod plugins;
mod queues;
mod settings;
mod sweep;
mod waiting;
mod workers;

use http::StatusCode;

use super::{
    answer::{Answer, Outcome},
    call::Call,
    problem::{Code, Problem},
    route::{Gives, Route, Run, Takes, Verb},
    site::Site,
    token::Role,
};

/// Every page.
pub(super) fn routes() -> impl Iterator<Item = &'static [Route]> {
    [
        overview::ROUTES,
        queues::ROUTES,
        jobs::ROUTES,
        job::ROUTES,
        waiting::ROUTES,
        dead::ROUTES,
        batches::ROUTES,
        crons::ROUTES,
        workers::ROUTES,
        plugins::ROUTES,
        settings::ROUTES,
        login::ROUTES,
        assets::ROUTES,
    ]
    .into_iter()
}

/// A page to look at.
const fn page(path: &'static str, name: &'static str, says: &'static str, run: Run) -> Route {
    Route::get(path, name, says, Gives::Page, run)
}

/// A form that changes something.
const fn form(path: &'static str, name: &'static str, says: &'static str, run: Run) -> Route {
    let who = (Verb::Post, Role::Operator);
    Route::write(who, path, name, says, Gives::Page, run).takes(Takes::Form)
}

/// The fields of a form that this runner gave out.
fn said(site: &Site, call: &Call) -> Result<Vec<(String, String)>, Problem> {
    let fields = call.form()?;
    let word = field(&fields, "word").unwrap_or_default();
    match site.sessions.is_word(&call.headers, word) {
        true => Ok(fields),
        false => Err(Problem::new(
            Code::ForeignOrigin,
            "the form is not of this page, or of an earlier login: load the page again",
        )),
    }
}

fn field<'f>(fields: &'f [(String, String)], name: &str) -> Option<&'f str> {
    let found = fields.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

/// What is shown in place of a page that went wrong: the way in, when someone has to come in first.
pub(super) fn instead(site: &Site, call: &Call, problem: &Problem) -> Outcome {
    if problem.code == Code::Unauthorized {
        return back(call, "/login");
    }
    let text = frame::fault(call, &site.sessions.word(&call.headers), problem);
    Ok(Answer::Html(problem.status(), text))
}

/// To a page, once what a form says is done.
fn back(call: &Call, path: &str) -> Outcome {
    Ok(Answer::SeeOther {
        to: format!("{}{path}", call.prefix),
        cookie: None,
    })
}

/// A page that is there.
fn shown(text: maud::Markup) -> Outcome {
    Ok(Answer::Html(StatusCode::OK, text.into_string()))
}
