//! Dead letters: found, looked at, brought back and deleted, one by one and many, which is asked about first.

use std::sync::Arc;

use maud::{Markup, html};
use sandhog_model::{Letter, Token};

use super::{
    back, field, form,
    frame::{self, Place},
    job, page, said, shown, sweep,
};
use crate::{
    api::{ApiError, Request, Response},
    json::base64,
    store::{DeadFilter, DeadRow, LetterName, LetterRef},
    web::{
        answer::Outcome,
        call::Call,
        form::{CURSOR, Form, LIMIT, Param, param},
        problem::Problem,
        route::{Route, run},
        site::{Site, ask, mismatch},
        sweep::reference,
        token::Role,
    },
};

const NAME: &[Param] = &[param("name", Form::Letter, "The letter.")];
/// Bytes shown of a letter that cannot be read.
const BYTES: usize = 16 << 10;

pub(super) const ROUTES: &[Route] = &[
    page(
        "/dead",
        "deadPage",
        "Dead letters with filters.",
        run!(list),
    )
    .query(&[
        param("queue", Form::Text(128), "Only from this queue."),
        param("kind", Form::Text(128), "Only of this kind."),
        param("failure", Form::Text(128), "Only those that failed so."),
        param("text", Form::Text(1_024), "Only those with this text."),
        LIMIT,
        CURSOR,
    ]),
    page("/dead/{name}", "letterPage", "One dead letter.", run!(show)).at(NAME),
    form(
        "/dead",
        "changeDeadPage",
        "Bring letters back, or delete them.",
        run!(act),
    ),
];

async fn list(site: Arc<Site>, call: Call) -> Outcome {
    let filter = DeadFilter {
        queue: call.owned("queue"),
        kind: call.owned("kind"),
        failure: call.owned("failure"),
        text: call.owned("text"),
        ..DeadFilter::default()
    };
    let page = call.page()?;
    let page = ask!(site, call, Request::Dead { filter, page }, Dead);
    let kept = frame::kept(&call, FILTERS);
    let content = html! {
        (frame::filters(&call, "/dead", FILTERS, html! {}))
        @if page.rows.is_empty() { (frame::nothing(page.next.is_some(), "letter")) }
        @else { (table(&site, &call, &page.rows)) }
        (frame::more(&call, "/dead", &kept, page.next.as_deref()))
    };
    shown(frame::page(
        &site,
        &call,
        Place::Dead,
        "Dead letters",
        content,
    ))
}

pub(super) const FILTERS: &[(&str, &str)] = &[
    ("queue", "Queue"),
    ("kind", "Kind"),
    ("failure", "Failure"),
    ("text", "Text"),
];

/// A row each, whatever is wrong with it: one that cannot be read has its place for a name.
fn table(site: &Site, call: &Call, rows: &[DeadRow]) -> Markup {
    let may = call.asking.caller.role >= Role::Operator;
    html! {
        form method="post" action={ (call.prefix) "/dead" } {
            input type="hidden" name="word" value=(site.sessions.word(&call.headers));
            div.scroll { table {
                thead { tr { @if may { th { span.soft { "Choose" } } } th { "Letter" } th { "Kind" } th { "Queue" } th { "Died" } th { "Failure" } } }
                tbody { @for row in rows { tr {
                    @if may { td { input type="checkbox" name="letter" value=(written(reference(row))) aria-label={ "Choose " (row.name) }; } }
                    td { a href={ (call.prefix) "/dead/" (row.name) } { code { (row.name) } } }
                    td { (row.kind) }
                    td { (row.queue) }
                    td { @if row.died_at.0 > 0 { (frame::at(row.died_at)) } }
                    td.free { @match &row.unreadable {
                        Some(why) => { "unreadable, " (row.bytes) " bytes: " (why) },
                        None => { (row.failure.kind) ": " (row.failure.cause) },
                    } }
                } } }
            } }
            @if may { div.row {
                button #do-ask-retry name="do" value="ask-retry" { "Bring back those chosen" }
                button #do-ask-delete .harm name="do" value="ask-delete" { "Delete those chosen" }
                button #do-ask-retry-shown name="do" value="ask-retry-shown" { "Bring back all " (rows.len()) " shown" }
                button #do-ask-delete-shown .harm name="do" value="ask-delete-shown" { "Delete all " (rows.len()) " shown" }
                button #do-ask-retry-all name="do" value="ask-retry-all" { "Bring back all that match" }
                button #do-ask-delete-all .harm name="do" value="ask-delete-all" { "Delete all that match" }
                @for (name, value) in frame::kept(call, FILTERS) { input type="hidden" name=(name) value=(value); }
                @for row in rows { input type="hidden" name="shown" value=(written(reference(row))); }
            } }
        }
    }
}

/// A letter as a form names it.
fn written(letter: LetterRef) -> String {
    match letter.token {
        Some(token) => format!("{}:{}", letter.name, token.0),
        None => letter.name.to_string(),
    }
}

fn letter_of(text: &str) -> Result<LetterRef, Problem> {
    let wrong = || Problem::malformed("the form names no letter");
    let (name, token) = match text.split_once(':') {
        Some((name, token)) => (name, Some(Token(token.parse().map_err(|_| wrong())?))),
        None => (text, None),
    };
    let name = name.parse().map_err(|_| wrong())?;
    Ok(LetterRef { name, token })
}

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    let name: LetterName = call.path("name")?;
    let letter = match name {
        LetterName::Job(id) => {
            let logs = false;
            match site.ask(Request::Letter { id, logs }, &call.asking).await {
                Ok(Response::Letter(letter)) => Some(letter),
                Ok(other) => return Err(mismatch(&other)),
                Err(error) if error.code == crate::api::ErrorCode::Damaged => None,
                Err(error) => return Err(error.into()),
            }
        }
        LetterName::Place(_) => None,
    };
    let content = match &letter {
        Some(letter) => readable(&call, letter),
        None => {
            let raw = ask!(site, call, Request::RawLetter { name }, RawLetter);
            let part = &raw.bytes[..raw.bytes.len().min(BYTES)];
            html! {
                p.note.fault { "It cannot be read: " (raw.unreadable.as_deref().unwrap_or("its record is damaged")) }
                p.soft { (raw.bytes.len()) " bytes, in base64" @if part.len() < raw.bytes.len() { ", the first " (BYTES) " shown" } }
                pre { (base64::encode(part)) }
            }
        }
    };
    let content = html! {
        (single(&site, &call, name, letter.is_some()))
        (content)
    };
    let title = format!("Dead letter {name}");
    shown(frame::page(&site, &call, Place::Dead, &title, content))
}

/// The buttons of one letter.
fn single(site: &Site, call: &Call, name: LetterName, is_readable: bool) -> Markup {
    html! {
        @if call.asking.caller.role >= Role::Operator {
            form.row method="post" action={ (call.prefix) "/dead" } {
                input type="hidden" name="word" value=(site.sessions.word(&call.headers));
                input type="hidden" name="letter" value=(name);
                @if is_readable { button #do-retry name="do" value="retry" { "Bring back" } }
                button #do-ask-delete .harm name="do" value="ask-delete" { "Delete" }
            }
        }
    }
}

fn readable(call: &Call, letter: &Letter) -> Markup {
    let job = &letter.job;
    let last = letter
        .attempts
        .last()
        .and_then(|last| last.failure.as_ref());
    html! {
        dl {
            dt { "Kind" } dd { (job.kind) }
            dt { "Queue" } dd { (job.queue) ", priority " (job.priority) }
            dt { "Died" } dd { (frame::at(letter.died_at)) }
            dt { "Enqueued" } dd { (frame::at(job.enqueued_at)) }
            @if let Some(parent) = job.parent { dt { "Parent" } dd { a href={ (call.prefix) "/jobs/" (parent) } { code { (parent) } } } }
            @for (key, value) in &job.headers { dt { "Header " (key) } dd { (value) } }
        }
        @if let Some(failure) = last { h2 { "Why it failed last" } (job::told(failure)) }
        h2 { "Payload" }
        (job::bytes(&job.content_type, &job.payload))
        h2 { "Attempts" }
        (job::all(&letter.attempts))
    }
}

async fn act(site: Arc<Site>, call: Call) -> Outcome {
    let fields = said(&site, &call)?;
    let does = field(&fields, "do").unwrap_or_default();
    if let Some(does) = does.strip_suffix("-all") {
        return sweep::act(site, call, &fields, does).await;
    }
    let (does, which) = match does.strip_suffix("-shown") {
        Some(does) => (does, "shown"),
        None => (does, "letter"),
    };
    let named = fields.iter().filter(|(name, _)| name == which);
    let letters: Vec<LetterRef> = named
        .map(|(_, text)| letter_of(text))
        .collect::<Result<_, _>>()?;
    if letters.is_empty() {
        return Err(Problem::malformed(
            "no letter was chosen: go back and choose some",
        ));
    }
    let (act, dry_run) = match does.strip_prefix("ask-") {
        Some(act) => (act, true),
        None => (does, false),
    };
    let asked_for = letters.clone();
    let request = match act {
        "retry" => Request::Requeue { letters, dry_run },
        "delete" => Request::Delete { letters, dry_run },
        _ => {
            return Err(Problem::malformed(
                "the form says nothing that can be done with letters",
            ));
        }
    };
    let answers = ask!(site, call, request, Amended);
    if dry_run {
        return shown(asked(&site, &call, (&asked_for, &answers), act));
    }
    let refused: Vec<&ApiError> = answers
        .iter()
        .filter_map(|answer| answer.as_ref().err())
        .collect();
    if refused.is_empty() {
        return back(&call, "/dead");
    }
    let content = html! {
        p { (answers.len() - refused.len()) " of " (answers.len()) " done. The others were left alone:" }
        ul { @for error in refused { li { (error.text) } } }
        p { a href={ (call.prefix) "/dead" } { "Back to the dead letters" } }
    };
    shown(frame::outcome(
        &site,
        &call,
        Place::Dead,
        "Not all of them",
        content,
    ))
}

/// What would be done, before it is.
fn asked(
    site: &Site,
    call: &Call,
    (letters, answers): (&[LetterRef], &[Result<LetterName, ApiError>]),
    act: &str,
) -> Markup {
    let what = if act == "delete" {
        "Delete"
    } else {
        "Bring back"
    };
    let count = answers.iter().filter(|answer| answer.is_ok()).count();
    let content = html! {
        p { (count) @if count == 1 { " letter." } @else { " letters." } " Nothing was changed yet; one that died again meanwhile is left alone." }
        ul { @for (letter, answer) in letters.iter().zip(answers) {
            li { code { (letter.name) } @if let Err(error) = answer { " would be left alone: " (error.text) } }
        } }
        form.row method="post" action={ (call.prefix) "/dead" } {
            input type="hidden" name="word" value=(site.sessions.word(&call.headers));
            @for (letter, answer) in letters.iter().zip(answers) {
                @if answer.is_ok() { input type="hidden" name="letter" value=(written(*letter)); }
            }
            @if count > 0 { button #sure .harm[act == "delete"] name="do" value=(act) { (what) } }
            a href={ (call.prefix) "/dead" } { "Leave them" }
        }
    };
    let title = format!("{what}?");
    frame::outcome(site, call, Place::Dead, &title, content)
}
