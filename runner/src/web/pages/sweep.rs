//! All dead letters that match, brought back or deleted: first how many there are, then the work, told as it goes.

use std::sync::Arc;

use maud::{Markup, html};
use sandhog_model::UnixMs;

use super::{
    dead::FILTERS,
    field,
    frame::{self, Place},
    shown,
};
use crate::{
    store::DeadFilter,
    web::{
        answer::{Answer, Flow, Outcome},
        call::Call,
        problem::Problem,
        site::Site,
        sweep::{self, Sweep, Swept, Wish, forget, requeue},
    },
};

/// Refused letters shown.
const SHOWN: usize = 20;
/// So many times the work is told about on its way.
const TOLD: u64 = 20;

type Fields = [(String, String)];

/// What is to be done with all that match.
#[derive(Clone, Copy)]
struct Act {
    name: &'static str,
    wish: Wish,
    per_second: Option<u32>,
    /// As an order, as a participle, and as what goes on.
    words: [&'static str; 3],
}

const ACTS: [Act; 2] = [
    Act {
        name: "retry",
        wish: requeue,
        per_second: Some(sweep::USUAL_PER_SECOND),
        words: ["Bring back", "brought back", "Bringing back"],
    },
    Act {
        name: "delete",
        wish: forget,
        per_second: None,
        words: ["Delete", "deleted", "Deleting"],
    },
];

/// Ask about it, or do it.
pub(super) async fn act(site: Arc<Site>, call: Call, fields: &Fields, does: &str) -> Outcome {
    let (does, is_asked) = match does.strip_prefix("ask-") {
        Some(does) => (does, true),
        None => (does, false),
    };
    let act = ACTS.into_iter().find(|act| act.name == does);
    let act = act
        .ok_or_else(|| Problem::malformed("the form says nothing that can be done with letters"))?;
    let place = site.place()?;
    let until = until(&site, fields)?;
    let sweep = Sweep {
        letters: sweep::gather(&site, &call.asking, &filter(fields), until).await?,
        wish: act.wish,
        per_second: act.per_second,
    };
    if is_asked {
        let swept = sweep.weigh(&site, &call.asking).await?;
        return shown(asked(&site, &call, (fields, until), act, &swept));
    }
    let [order, done, goes_on] = act.words;
    let all = sweep.letters.len() as u64;
    let content = html! {
        p { (goes_on) " " (letters(all)) @if let Some(rate) = act.per_second { ", " (rate) " a second" }
            ". Leaving this page stops it; what is done by then stays done." }
        (frame::REST)
    };
    let title = format!("{order} all that match");
    let (before, after) = frame::around(frame::outcome(&site, &call, Place::Dead, &title, content));
    let (to, flow) = Flow::new();
    tokio::spawn(async move {
        let _place = place;
        let _ = to.send(before.into()).await;
        let mut told = 0;
        let swept = sweep
            .work(&site, &call.asking, &to, |swept| {
                let now = (swept.done + swept.refused) * TOLD / all;
                let is_news = std::mem::replace(&mut told, now) < now && now < TOLD;
                is_news.then(|| html! { p.soft { (so_far(swept, all, done)) } }.into_string())
            })
            .await;
        let end = html! { (end(&call, &swept, all, done)) };
        let _ = to.send((end.into_string() + &after).into()).await;
    });
    Ok(Answer::HtmlFlow(flow))
}

/// Letters that came after someone was asked are none of what they said yes to.
fn until(site: &Site, fields: &Fields) -> Result<UnixMs, Problem> {
    match field(fields, "until") {
        Some(text) => {
            let read = text.parse().map(UnixMs);
            read.map_err(|_| Problem::malformed("the form's instant is no number"))
        }
        None => Ok(site.ctx.clock.now().wall),
    }
}

fn filter(fields: &Fields) -> DeadFilter {
    let said = |name| field(fields, name).map(str::to_owned);
    DeadFilter {
        queue: said("queue"),
        kind: said("kind"),
        failure: said("failure"),
        text: said("text"),
        ..DeadFilter::default()
    }
}

fn letters(count: u64) -> String {
    match count {
        1 => "1 letter".to_owned(),
        count => format!("{count} letters"),
    }
}

fn so_far(swept: &Swept, all: u64, done: &str) -> String {
    let text = format!("{} of {} {done}", swept.done, letters(all));
    match swept.refused {
        0 => format!("{text}."),
        refused => format!("{text}, {refused} left alone."),
    }
}

fn end(call: &Call, swept: &Swept, all: u64, done: &str) -> Markup {
    html! {
        @if let Some(why) = &swept.stopped { p.note.fault { "It ended before it was through: " (why) ". The rest is as it was." } }
        p { strong { (so_far(swept, all, done)) } }
        (left_alone(swept, "was left alone"))
        p { a href={ (call.prefix) "/dead" } { "Back to the dead letters" } }
    }
}

fn left_alone(swept: &Swept, how: &str) -> Markup {
    html! {
        @if !swept.named.is_empty() { ul {
            @for (name, error) in swept.named.iter().take(SHOWN) { li { code { (name) } " " (how) ": " (error.text) } }
            @if swept.refused > SHOWN as u64 { li { "and " (swept.refused - SHOWN as u64) " more" } }
        } }
    }
}

/// How many it would be, before it is done.
fn asked(
    site: &Site,
    call: &Call,
    (fields, until): (&Fields, UnixMs),
    act: Act,
    swept: &Swept,
) -> Markup {
    let [order, done, _] = act.words;
    let said = FILTERS
        .iter()
        .filter_map(|(name, title)| Some((*name, *title, field(fields, name)?)));
    let said: Vec<(&str, &str, &str)> = said.collect();
    let content = html! {
        p { "All " strong { (letters(swept.done)) } " that match would be " (done) ". Nothing was changed yet; letters that come from now on are left alone." }
        @if said.is_empty() { p { "Nothing was chosen by: these are all there are." } }
        @else { dl { @for (_, title, value) in &said { dt { (title) } dd { (value) } } } }
        (left_alone(swept, "would be left alone"))
        form.row method="post" action={ (call.prefix) "/dead" } {
            input type="hidden" name="word" value=(site.sessions.word(&call.headers));
            input type="hidden" name="until" value=(until.0);
            @for (name, _, value) in &said { input type="hidden" name=(name) value=(value); }
            @if swept.done > 0 { button #sure .harm[act.name == "delete"] name="do" value={ (act.name) "-all" } { (order) " all " (swept.done) } }
            a href={ (call.prefix) "/dead" } { "Leave them" }
        }
    };
    let title = format!("{order} all that match?");
    frame::outcome(site, call, Place::Dead, &title, content)
}
