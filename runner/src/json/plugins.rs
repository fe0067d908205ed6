//! Plugins as JSON. A shape only ever gains fields.

use serde_json::{Value, json};

use super::when::rfc3339;
use crate::plugin::{Catalog, Checked, Held, Plugin, PluginView, Problem, grants_as_toml};

/// What the plugin folder offers: plugins, then those held back, then files that cannot be used.
pub(crate) fn catalog(catalog: &Catalog) -> Vec<Value> {
    let plugins = catalog.plugins.iter().map(|(name, one)| {
        let mut value = plugin(one, "ok");
        if let Some(of_file) = catalog.replaced.get(name) {
            value["status"] = "rolled-back".into();
            value["of_file"] = of_file.as_str().into();
        }
        value
    });
    plugins
        .chain(catalog.held.values().map(held))
        .chain(catalog.problems.iter().map(problem))
        .collect()
}

pub(crate) fn plugin(plugin: &Plugin, status: &str) -> Value {
    json!({
        "name": plugin.name,
        "status": status,
        "file": plugin.file,
        "kinds": plugin.kinds,
        "digest": plugin.digest,
        "size": plugin.size,
        "sdk": plugin.sdk,
        "cached": plugin.cached,
    })
}

/// A component that was looked at, or what is wrong with it.
pub(crate) fn checked(found: &Result<Checked, Problem>) -> Value {
    let checked = match found {
        Ok(checked) => checked,
        Err(found) => return problem(found),
    };
    let mut value = plugin(&checked.plugin, "ok");
    value["imports"] = json!(checked.imports);
    value["asks"] = json!(checked.plugin.asks.as_deref().map(grants_as_toml));
    value["grants"] = grants_as_toml(&checked.plugin.grants).into();
    value["missing"] = json!(checked.missing());
    value["linked"] = json!(checked.linked());
    value["verdict"] = checked.verdict().into();
    value
}

fn held(held: &Held) -> Value {
    let status = if held.since.is_some() {
        "quarantined"
    } else {
        "waiting"
    };
    let mut value = plugin(&held.plugin, status);
    value["since"] = held.since.map(rfc3339).into();
    value["why"] = held.why.clone().into();
    value["by_hand"] = held.by_hand.into();
    value
}

/// A plugin with its versions, the latest first.
pub(crate) fn plugin_view(view: &PluginView) -> Value {
    let versions = view.versions.iter().map(|one| {
        let quarantine = one.quarantine.as_ref();
        json!({
            "digest": one.version.digest,
            "size": one.version.size,
            "sdk": one.version.sdk,
            "taken_at": rfc3339(one.version.taken_at),
            "proven": one.version.proven,
            "quarantine": quarantine.map(|quarantine| json!({
                "since": rfc3339(quarantine.since),
                "why": quarantine.why,
                "by_hand": quarantine.by_hand,
            })),
        })
    });
    let status = match (&view.served, &view.held) {
        (Some(served), _) if view.of_file.as_ref() == Some(&served.digest) => "ok",
        (Some(_), _) => "rolled-back",
        (None, Some(held)) if held.since.is_some() => "quarantined",
        (None, Some(_)) => "waiting",
        (None, None) => "unusable",
    };
    json!({
        "name": view.name,
        "status": status,
        "file": view.file,
        "served": view.served.as_ref().map(|served| plugin(served, status)),
        "of_file": view.of_file,
        "held": view.held.as_ref().map(held),
        "problem": view.problem.as_ref().map(problem),
        "versions": versions.collect::<Value>(),
    })
}

pub(crate) fn problem(problem: &Problem) -> Value {
    json!({
        "name": problem.file.file_stem().map(|name| name.to_string_lossy()),
        "status": "unusable",
        "file": problem.file,
        "cause": problem.cause,
        "hint": problem.hint,
        "earlier_served": problem.earlier_served,
    })
}
