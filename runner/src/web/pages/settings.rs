//! The settings in force: each key, where its value comes from, and what waits for the next start.

use std::sync::Arc;

use maud::{Markup, html};

use super::{
    field, form,
    frame::{self, Place},
    page, said, shown,
};
use crate::{
    api::{Request, Setting, SettingsInForce},
    web::{
        answer::Outcome,
        call::Call,
        problem::Problem,
        route::{Route, run},
        site::{Site, ask},
        token::Role,
    },
};

pub(super) const ROUTES: &[Route] = &[
    page(
        "/settings",
        "settingsPage",
        "The settings in force.",
        run!(show),
    ),
    form(
        "/settings",
        "changeSettingsPage",
        "Have the settings read again.",
        run!(act),
    ),
];

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    seen(&site, &call, html! {}).await
}

async fn seen(site: &Site, call: &Call, note: Markup) -> Outcome {
    let settings = ask!(site, call, Request::Settings, Settings);
    let content = html! {
        (note)
        p { @match &settings.file {
            Some(file) => { "Read from " code { (file) } "." },
            None => "No settings file was read.",
        } }
        (frame::buttons(site, call, Role::Admin, "/settings", &[("Read the file again", "reload", false)]))
        (waiting(&settings))
        @for part in settings.settings.chunk_by(|a, b| table(a) == table(b)) {
            h2 { "[" (part.first().map(table).unwrap_or_default()) "]" }
            (rows(part))
        }
    };
    shown(frame::page(
        site,
        call,
        Place::Settings,
        "Settings",
        content,
    ))
}

/// The table that a key is in.
fn table(setting: &Setting) -> &str {
    setting.key.rsplit_once('.').map_or("", |(table, _)| table)
}

fn waiting(settings: &SettingsInForce) -> Markup {
    html! {
        @if !settings.waiting.is_empty() {
            h2 { "Waits for the next start" }
            div.scroll { table {
                thead { tr { th { "Key" } th { "In force" } th { "From the next start" } } }
                tbody { @for one in &settings.waiting { tr {
                    td { code { (one.key) } }
                    td.free { (value(one.before.as_deref())) }
                    td.free { (value(one.after.as_deref())) }
                } } }
            } }
        }
    }
}

fn value(value: Option<&str>) -> Markup {
    html! { @match value { Some(value) => code { (value) }, None => span.soft { "left open" } } }
}

fn rows(part: &[Setting]) -> Markup {
    html! {
        div.scroll { table.even {
            thead { tr { th { "Key" } th { "Value" } th { "From" } } }
            tbody { @for one in part { tr {
                td { code { (one.key.rsplit_once('.').map_or(one.key.as_str(), |(_, key)| key)) } }
                td.free { (value(one.value.as_deref())) }
                td { @if one.origin == "default" { span.soft { "default" } } @else { b { (one.origin) } } }
            } } }
        } }
    }
}

async fn act(site: Arc<Site>, call: Call) -> Outcome {
    let fields = said(&site, &call)?;
    if field(&fields, "do") != Some("reload") {
        return Err(Problem::malformed(
            "the form says nothing that can be done with settings",
        ));
    }
    let differs = ask!(site, call, Request::Reload, Reloaded);
    let note = html! {
        div.note role="status" {
            @if differs.is_empty() { "The file was read again: nothing differs." }
            @else { "The file was read again:" ul { @for one in &differs { li { code { (one) } } } } }
        }
    };
    seen(&site, &call, note).await
}
