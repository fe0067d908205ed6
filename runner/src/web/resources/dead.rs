//! Dead letters: listed, shown, brought back, deleted.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::jobs::Nothing;
use crate::{
    api::Request,
    json::dead as shapes,
    store::{DeadFilter, LetterBounds, LetterName, LetterRef},
    web::{
        answer::{Answer, Outcome},
        call::Call,
        form::{CURSOR, Form, LIMIT, Param, param},
        problem::{Code, Problem},
        route::{Gives, Route, Size, Takes, Verb, run},
        site::{Site, ask},
        sweep::{Wish, amended, forget, requeue},
        token::Role,
    },
};

const NAME: &[Param] = &[param(
    "name",
    Form::Letter,
    "The letter: the id of its job, or the place of one that cannot be read, such as `@7168`.",
)];
pub(super) const POST: (Verb, Role) = (Verb::Post, Role::Operator);
const CHANGE_MAY: &[Code] = &[
    Code::NotFound,
    Code::Changed,
    Code::WrongState,
    Code::Damaged,
    Code::Duplicate,
    Code::BatchClosed,
    Code::Invalid,
    Code::Full,
    Code::Poisoned,
    Code::Stopping,
];
pub(super) const MANY_MAY: &[Code] = &[Code::Invalid, Code::Full, Code::Poisoned, Code::Stopping];

macro_rules! filters {
    ($($more:expr),*) => {
        &[
            param("queue", Form::Name, "Only from this queue."),
            param("kind", Form::Name, "Only of this kind."),
            param("failure", Form::Text(128), "Only those whose last attempt failed so, such as `trap:unreachable`, or a family such as `trap`."),
            param("digest", Form::Text(64), "Only those whose last attempt ran on a component whose SHA-256 begins so."),
            param("since", Form::Instant, "Only those that died at this instant or later."),
            param("until", Form::Instant, "Only those that died before this instant."),
            param("text", Form::Text(1_024), "Only those with this text in the failure, the kind or the payload, in whatever case."),
            param("unreadable", Form::Flag, "Only entries that cannot be read."),
            $($more),*
        ]
    };
}
pub(in crate::web) const FILTERS: &[Param] = filters!();

pub(super) const ROUTES: &[Route] = &[
    Route::get(
        "/api/v1/dead",
        "listDead",
        "Dead letters, newest first. A page in search of a text may have fewer rows than there are: go on as long as there is `next`.",
        Gives::Json(&[200], "LetterPage"),
        run!(list),
    )
    .query(filters!(LIMIT, CURSOR))
    .may(&[Code::Invalid]),
    Route::get(
        "/api/v1/dead/count",
        "countDead",
        "How many dead letters there are.",
        Gives::Json(&[200], "Count"),
        run!(count),
    )
    .query(FILTERS)
    .may(&[Code::Invalid]),
    Route::get(
        "/api/v1/dead/{name}",
        "getDead",
        "One dead letter with its history.",
        Gives::Json(&[200], "Letter"),
        run!(show),
    )
    .at(NAME)
    .query(&[param("logs", Form::Flag, "With the log lines of every attempt, not of the latest alone.")])
    .may(&[Code::NotFound, Code::Damaged]),
    Route::get(
        "/api/v1/dead/{name}/raw",
        "getRawDead",
        "The bytes of a dead letter, whether it can be read or not.",
        Gives::Json(&[200], "RawLetter"),
        run!(raw),
    )
    .at(NAME)
    .may(&[Code::NotFound]),
    Route::write(POST, "/api/v1/dead/{name}/retry", "retryDead", "Give a dead job fresh attempts; its history stays.", Gives::Json(&[200], "LetterName"), run!(retry))
        .at(NAME)
        .takes(Takes::Maybe("Nothing"))
        .may(CHANGE_MAY),
    Route::write(
        (Verb::Delete, Role::Operator),
        "/api/v1/dead/{name}",
        "deleteDead",
        "Delete a dead job with its letter.",
        Gives::Json(&[200], "LetterName"),
        run!(delete),
    )
    .at(NAME)
    .may(CHANGE_MAY),
    Route::write(
        (Verb::Post, Role::Admin),
        "/api/v1/dead/purge",
        "purgeDead",
        "Delete the oldest letters over some bounds, at most 1000 at once: `left` says how many more there are.",
        Gives::Json(&[200], "Purged"),
        run!(purge),
    )
    .takes(Takes::Json("Purge", Size::Small))
    .may(MANY_MAY),
];

/// Which letters are meant.
pub(super) fn filter(call: &Call) -> Result<DeadFilter, Problem> {
    Ok(DeadFilter {
        queue: call.owned("queue"),
        kind: call.owned("kind"),
        failure: call.owned("failure"),
        digest: call.owned("digest"),
        since: call.instant("since")?,
        until: call.instant("until")?,
        text: call.owned("text"),
        unreadable: call.given("unreadable")?.unwrap_or(false),
    })
}

async fn list(site: Arc<Site>, call: Call) -> Outcome {
    let (filter, page) = (filter(&call)?, call.page()?);
    let page = ask!(site, call, Request::Dead { filter, page }, Dead);
    let rows = page.rows.iter().map(shapes::row).collect();
    Answer::rows("letters", rows, page.next)
}

async fn count(site: Arc<Site>, call: Call) -> Outcome {
    let filter = filter(&call)?;
    let _place = site.place()?;
    let (mut count, mut cursor) = (0, None);
    loop {
        let filter = filter.clone();
        let counted = ask!(
            site,
            call,
            Request::CountDead { filter, cursor },
            DeadCounted
        );
        count += counted.count;
        cursor = counted.next;
        if cursor.is_none() {
            return Answer::json(json!({ "count": count }));
        }
    }
}

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    let logs = call.given("logs")?.unwrap_or(false);
    match call.path("name")? {
        LetterName::Job(id) => {
            let letter = ask!(site, call, Request::Letter { id, logs }, Letter);
            Answer::json(shapes::letter(&letter))
        }
        name @ LetterName::Place(_) => {
            ask!(site, call, Request::RawLetter { name }, RawLetter);
            let why = format!("the letter {name} cannot be read: see its bytes under `raw`");
            Err(Problem::new(Code::Damaged, why))
        }
    }
}

async fn raw(site: Arc<Site>, call: Call) -> Outcome {
    let name = call.path("name")?;
    let raw = ask!(site, call, Request::RawLetter { name }, RawLetter);
    Answer::json(shapes::raw(name, raw.unreadable.as_deref(), &raw.bytes))
}

async fn retry(site: Arc<Site>, call: Call) -> Outcome {
    let Nothing {} = call.body()?;
    one(site, call, requeue).await
}

async fn delete(site: Arc<Site>, call: Call) -> Outcome {
    one(site, call, forget).await
}

async fn one(site: Arc<Site>, call: Call, wish: Wish) -> Outcome {
    let name = call.path("name")?;
    let letters = vec![LetterRef { name, token: None }];
    let answers = amended(site.ask(wish(letters, false), &call.asking).await)?;
    let answer = answers.into_iter().next();
    let done =
        answer.ok_or_else(|| Problem::new(Code::Internal, "the runner gave no answer"))??;
    Answer::json(json!({ "id": done }))
}

/// What is kept by a purge.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Purge {
    #[serde(default)]
    keep_ms: Option<u64>,
    #[serde(default)]
    max_letters: Option<u64>,
    #[serde(default)]
    max_bytes: Option<u64>,
    dry_run: bool,
}

async fn purge(site: Arc<Site>, call: Call) -> Outcome {
    let said: Purge = call.whole_body()?;
    let bounds = LetterBounds {
        keep_ms: said.keep_ms,
        max_letters: said.max_letters,
        max_bytes: said.max_bytes,
    };
    if bounds.is_empty() {
        let why = "no bound: give `keep_ms`, `max_letters` or `max_bytes`";
        return Err(Problem::new(Code::Invalid, why));
    }
    let dry_run = said.dry_run;
    let purged = ask!(site, call, Request::PurgeDead { bounds, dry_run }, Purged);
    let letters = purged.letters.iter();
    let letters = letters.map(|(id, reason)| json!({ "id": id, "reason": reason }));
    Answer::json(json!({
        "letters": letters.collect::<Value>(),
        "left": purged.left,
        "dry_run": dry_run,
    }))
}
