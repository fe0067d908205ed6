//! What every page has around it, and the parts that many have.

use maud::{DOCTYPE, Markup, html};
use sandhog_model::{State, UnixMs};

use crate::{
    json::when::rfc3339,
    web::{call::Call, problem::Problem, site::Site, token::Role},
};

/// Where a page is among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Overview,
    Queues,
    Jobs,
    Workers,
    Dead,
    Batches,
    Crons,
    Plugins,
    Elsewhere,
}

const PLACES: [(Place, &str, &str); 8] = [
    (Place::Overview, "/", "Overview"),
    (Place::Queues, "/queues", "Queues"),
    (Place::Jobs, "/jobs", "Jobs"),
    (Place::Workers, "/workers", "Running"),
    (Place::Dead, "/dead", "Dead letters"),
    (Place::Batches, "/batches", "Batches"),
    (Place::Crons, "/crons", "Schedules"),
    (Place::Plugins, "/plugins", "Plugins"),
];

/// A page around what it shows.
pub(super) fn page(site: &Site, call: &Call, place: Place, title: &str, content: Markup) -> Markup {
    let word = site.sessions.word(&call.headers);
    whole(call, &word, (place, title, None), content)
}

/// The same of one job, brought up to date when that changes.
pub(super) fn of_job(site: &Site, call: &Call, id: &str, title: &str, content: Markup) -> Markup {
    let word = site.sessions.word(&call.headers);
    whole(call, &word, (Place::Jobs, title, Some(id)), content)
}

fn whole(
    call: &Call,
    word: &str,
    (place, title, job): (Place, &str, Option<&str>),
    content: Markup,
) -> Markup {
    let base = &call.prefix;
    html! {
        (DOCTYPE)
        html lang="en" data-base=(base) data-job=[job] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · Sandhog" }
                link rel="stylesheet" href={ (base) "/assets/style.css" };
                script src={ (base) "/assets/live.js" } defer {}
            }
            body {
                a.skip href="#main" { "To the content" }
                header {
                    strong { "Sandhog" }
                    nav aria-label="Pages" {
                        @for (one, path, name) in PLACES {
                            a href={ (base) (path) } aria-current=[(one == place).then_some("page")] { (name) }
                        }
                    }
                    span #live .soft role="status" {}
                    (who(call, word))
                }
                main #main tabindex="-1" {
                    h1 { (title) }
                    (content)
                }
                footer.soft { "Times are UTC." }
            }
        }
    }
}

/// Who looks, and the way out for those who came in.
fn who(call: &Call, word: &str) -> Markup {
    let caller = &call.asking.caller;
    html! {
        @if call.is_logged_in {
            form method="post" action={ (call.prefix) "/logout" } {
                span.soft { (caller.name) ", " (caller.role) " " }
                input type="hidden" name="word" value=(word);
                button { "Log out" }
            }
        }
    }
}

/// What went wrong.
pub(super) fn fault(call: &Call, word: &str, problem: &Problem) -> String {
    let content = html! {
        p.note.fault role="alert" { (problem.detail) }
        p.soft { "Code " code { (problem.code.name()) } ", "
            a href={ (call.prefix) "/docs/errors/" (problem.code.name()) } { "what it means" } "." }
        p { a href={ (call.prefix) "/" } { "To the overview" } }
    };
    let title = problem.code.title();
    whole(call, word, (Place::Elsewhere, title, None), content).into_string()
}

/// Buttons that do something, for those who may: what each is called, what it sends, whether it harms.
pub(super) fn actions(
    site: &Site,
    call: &Call,
    to: &str,
    buttons: &[(&str, &str, bool)],
) -> Markup {
    let word = site.sessions.word(&call.headers);
    html! {
        @if call.asking.caller.role >= Role::Operator && !buttons.is_empty() {
            form.row method="post" action={ (call.prefix) (to) } {
                input type="hidden" name="word" value=(word);
                @for (name, act, harms) in buttons {
                    // Lists have many: the focus finds its way back by the id.
                    button #{ "do-" (act) "-" (to.trim_start_matches('/').replace('/', "-")) } .harm[*harms] name="do" value=(act) { (name) }
                }
            }
        }
    }
}

/// A state in its colour.
pub(super) fn state(state: State) -> Markup {
    html! { span.state.(state.name()) { (state.name()) } }
}

/// An instant.
pub(super) fn at(at: UnixMs) -> Markup {
    let text = rfc3339(at);
    html! { time datetime=(text) { (text.replace('T', " ").trim_end_matches('Z')) } }
}

/// The way to the next page of a list, with the same choice.
pub(super) fn more(call: &Call, path: &str, kept: &[(&str, String)], next: Option<&str>) -> Markup {
    html! {
        @if let Some(next) = next {
            form.row method="get" action={ (call.prefix) (path) } {
                @for (name, value) in kept {
                    input type="hidden" name=(name) value=(value);
                }
                input type="hidden" name="cursor" value=(next);
                button #more { "Older" }
            }
        }
    }
}
