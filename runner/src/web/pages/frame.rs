//! What every page has around it, and the parts that many have.

use maud::{DOCTYPE, Markup, PreEscaped, html};
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
    Waiting,
    Workers,
    Dead,
    Batches,
    Crons,
    Plugins,
    Settings,
    Elsewhere,
}

const PLACES: [(Place, &str, &str); 10] = [
    (Place::Overview, "/", "Overview"),
    (Place::Queues, "/queues", "Queues"),
    (Place::Jobs, "/jobs", "Jobs"),
    (Place::Waiting, "/waiting", "Waiting"),
    (Place::Workers, "/workers", "Running"),
    (Place::Dead, "/dead", "Dead letters"),
    (Place::Batches, "/batches", "Batches"),
    (Place::Crons, "/crons", "Schedules"),
    (Place::Plugins, "/plugins", "Plugins"),
    (Place::Settings, "/settings", "Settings"),
];

/// A page around what it shows.
pub(super) fn page(site: &Site, call: &Call, place: Place, title: &str, content: Markup) -> Markup {
    let word = site.sessions.word(&call.headers);
    whole(call, &word, (place, title, Kept::Live(None)), content)
}

/// What a form came to, which stays as it is.
pub(super) fn outcome(
    site: &Site,
    call: &Call,
    place: Place,
    title: &str,
    content: Markup,
) -> Markup {
    let word = site.sessions.word(&call.headers);
    whole(call, &word, (place, title, Kept::Still), content)
}

/// Where in a page that comes by and by the rest goes in.
pub(super) const REST: PreEscaped<&str> = PreEscaped("<!-- the rest -->");

/// A page before and after its rest.
pub(super) fn around(page: Markup) -> (String, String) {
    let text = page.into_string();
    let (before, after) = text.split_once(REST.0).unwrap_or((&text, ""));
    (before.to_owned(), after.to_owned())
}

/// Whether a page is brought up to date as jobs change.
enum Kept<'j> {
    /// When any job does, or this one alone.
    Live(Option<&'j str>),
    Still,
}

/// The same of one job, brought up to date when that changes.
pub(super) fn of_job(site: &Site, call: &Call, id: &str, title: &str, content: Markup) -> Markup {
    let word = site.sessions.word(&call.headers);
    whole(
        call,
        &word,
        (Place::Jobs, title, Kept::Live(Some(id))),
        content,
    )
}

fn whole(
    call: &Call,
    word: &str,
    (place, title, kept): (Place, &str, Kept<'_>),
    content: Markup,
) -> Markup {
    let base = &call.prefix;
    let (is_live, job) = match kept {
        Kept::Live(job) => (true, job),
        Kept::Still => (false, None),
    };
    html! {
        (DOCTYPE)
        html lang="en" data-base=(base) data-job=[job] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · Sandhog" }
                link rel="stylesheet" href={ (base) "/assets/style.css" };
                link rel="icon" href={ (base) "/assets/icon.svg" };
                @if is_live { script src={ (base) "/assets/live.js" } defer {} }
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
    whole(call, word, (Place::Elsewhere, title, Kept::Still), content).into_string()
}

/// What a button is called, what it sends, whether it harms.
pub(super) type Button<'b> = (&'b str, &'b str, bool);

/// Buttons that do something, for operators.
pub(super) fn actions(site: &Site, call: &Call, to: &str, buttons: &[Button<'_>]) -> Markup {
    self::buttons(site, call, Role::Operator, to, buttons)
}

/// The same for those who have a role.
pub(super) fn buttons(
    site: &Site,
    call: &Call,
    role: Role,
    to: &str,
    buttons: &[Button<'_>],
) -> Markup {
    let word = site.sessions.word(&call.headers);
    html! {
        @if call.asking.caller.role >= role && !buttons.is_empty() {
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
    onward(call, path, kept, next, "Older")
}

/// The same, with what the rows there are beside those here.
pub(super) fn onward(
    call: &Call,
    path: &str,
    kept: &[(&str, String)],
    next: Option<&str>,
    are: &str,
) -> Markup {
    html! {
        @if let Some(next) = next {
            form.row method="get" action={ (call.prefix) (path) } {
                @for (name, value) in kept {
                    input type="hidden" name=(name) value=(value);
                }
                input type="hidden" name="cursor" value=(next);
                button #more { (are) }
            }
        }
    }
}

/// Fields to choose by, each with its title, behind what else there is to choose.
pub(super) fn filters(call: &Call, path: &str, fields: &[(&str, &str)], first: Markup) -> Markup {
    html! {
        form.row method="get" action={ (call.prefix) (path) } role="search" {
            (first)
            @for (name, title) in fields {
                label { (title) input name=(name) value=(call.text(name).unwrap_or_default()) size="14"; }
            }
            button { "Show" }
        }
    }
}

/// What was chosen by, for the next page.
pub(super) fn kept<'n>(call: &Call, fields: &[(&'n str, &str)]) -> Vec<(&'n str, String)> {
    let kept = fields
        .iter()
        .filter_map(|(name, _)| Some((*name, call.owned(name)?)));
    kept.collect()
}

/// A list without rows: perhaps there are some further on.
pub(super) fn nothing(has_more: bool, what: &str) -> Markup {
    html! {
        p.soft { @if has_more { "None of those looked at fit; there are more further on." } @else { "No " (what) " fits." } }
    }
}

/// A name as a part of a path: files can be called anything.
pub(super) fn segment(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    name.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::segment;

    #[test]
    fn a_name_is_one_part_of_a_path_whatever_it_is() {
        assert_eq!(segment("mail-2.x"), "mail-2.x");
        assert_eq!(segment("a/b?c#d%\u{e9} <"), "a%2Fb%3Fc%23d%25%C3%A9%20%3C");
    }
}
