//! Plugins, and which of their versions is served.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::jobs::{Nothing, Reason};
use crate::{
    api::Request,
    json::shapes,
    plugin::PluginAct,
    web::{
        answer::{Answer, Outcome},
        call::Call,
        form::{Form, Param, param},
        problem::Code,
        route::{Gives, Route, Takes, Verb, run},
        site::{Site, ask},
        token::Role,
    },
};

const NAME: &[Param] = &[param(
    "name",
    Form::Text(255),
    "The plugin: its file's name without its ending.",
)];
const MAY: &[Code] = &[
    Code::NotFound,
    Code::WrongState,
    Code::Invalid,
    Code::NoRunner,
];

pub(super) const ROUTES: &[Route] = &[
    Route::get(
        "/api/v1/plugins",
        "listPlugins",
        "What the plugin folder offers: plugins that are served, those held back, and files that cannot be used with what is wrong with them.",
        Gives::Json(&[200], "Plugins"),
        run!(list),
    )
    .may(&[Code::NoRunner]),
    Route::get(
        "/api/v1/plugins/{name}",
        "getPlugin",
        "One plugin with its versions, and why it is held back if it is.",
        Gives::Json(&[200], "PluginView"),
        run!(show),
    )
    .at(NAME)
    .may(&[Code::NotFound, Code::NoRunner]),
    Route::write(
        (Verb::Post, Role::Operator),
        "/api/v1/plugins/{name}/check",
        "checkPlugin",
        "Look at a plugin's file anew, as `sandhog plugin check` does: what it imports, asks for and is granted, and whether it can run. One at a time.",
        Gives::Json(&[200], "PluginCheck"),
        run!(check),
    )
    .at(NAME)
    .takes(Takes::Maybe("Nothing"))
    .may(&[Code::NotFound, Code::NoRunner]),
    act("/api/v1/plugins/{name}/quarantine", "quarantinePlugin", "Hold back the version that is served: its jobs wait and use no attempt.", run!(quarantine))
        .takes(Takes::Maybe("Reason")),
    act("/api/v1/plugins/{name}/rollback", "rollBackPlugin", "Serve an earlier version in place of the file's, until the file is replaced.", run!(roll_back))
        .takes(Takes::Maybe("Rollback")),
    act("/api/v1/plugins/{name}/release", "releasePlugin", "Let the file's version run again: end a quarantine and a rollback.", run!(release)),
];

const fn act(
    path: &'static str,
    name: &'static str,
    says: &'static str,
    run: crate::web::route::Run,
) -> Route {
    let gives = Gives::Json(&[200], "PluginView");
    Route::write((Verb::Post, Role::Admin), path, name, says, gives, run)
        .at(NAME)
        .takes(Takes::Maybe("Nothing"))
        .may(MAY)
}

async fn list(site: Arc<Site>, call: Call) -> Outcome {
    let plugins = ask!(site, call, Request::Plugins, Plugins);
    Answer::json(json!({ "plugins": shapes::catalog(&plugins.catalog) }))
}

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    let name = call.path("name")?;
    let view = ask!(site, call, Request::Plugin { name }, Plugin);
    Answer::json(shapes::plugin_view(&view))
}

async fn check(site: Arc<Site>, call: Call) -> Outcome {
    let Nothing {} = call.body()?;
    let name = call.path("name")?;
    let found = ask!(site, call, Request::CheckPlugin { name }, CheckedPlugin);
    Answer::json(shapes::checked(&found))
}

async fn change(site: &Site, call: &Call, act: PluginAct) -> Outcome {
    let name = call.path("name")?;
    let view = ask!(
        site,
        call,
        Request::ActOnPlugin { name, act },
        ActedOnPlugin
    );
    Answer::json(shapes::plugin_view(&view))
}

async fn quarantine(site: Arc<Site>, call: Call) -> Outcome {
    let Reason { reason } = call.body()?;
    change(&site, &call, PluginAct::Quarantine { why: reason }).await
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Rollback {
    to: Option<String>,
}

async fn roll_back(site: Arc<Site>, call: Call) -> Outcome {
    let Rollback { to } = call.body()?;
    change(&site, &call, PluginAct::Rollback { to }).await
}

async fn release(site: Arc<Site>, call: Call) -> Outcome {
    let Nothing {} = call.body()?;
    change(&site, &call, PluginAct::Release).await
}
