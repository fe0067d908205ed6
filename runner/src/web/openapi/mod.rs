//! The OpenAPI document, made of the same routes that the router is made of.

#[cfg(test)]
mod fits;
mod schema;
mod schemas;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use self::schema::name;
use super::{
    form::Param,
    problem::Code,
    resources,
    route::{Gives, Repeats, Route, Takes, Verb},
    rpc,
};

/// What may go wrong with every request.
const EVERYWHERE: &[Code] = &[
    Code::BadRequest,
    Code::Timeout,
    Code::TooLarge,
    Code::UriTooLong,
    Code::Misdirected,
    Code::HeadersTooLarge,
    Code::Internal,
    Code::Busy,
];

const ABOUT: &str = "A durable job runner. Errors are `application/problem+json` with a stable `code`; their \
`type` leads to a page that says what to do. Lists come in pages: give `next` of one as `cursor` of the next. Instants are RFC 3339 \
in UTC. A payload or result is JSON in `payload` when its media type says so, text in `payload` when it says that, and anything else \
in base64 in `payload_base64`; `payload_bytes` is its length. Without tokens in the runner's settings none is asked for.";

/// The document.
pub(super) fn document() -> Value {
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in resources::routes().filter(is_told) {
        let methods = paths.entry(route.path).or_default();
        methods.insert(route.method.name().to_owned(), operation(&route));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Sandhog",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": schemas::all().into_iter().collect::<BTreeMap<_, _>>(),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// Pages for people, and the command line's own way, are no part of it.
fn is_told(route: &Route) -> bool {
    route.path != rpc::PATH && !matches!(route.gives, Gives::Page | Gives::Asset)
}

fn operation(route: &Route) -> Value {
    let mut parameters: Vec<Value> = Vec::new();
    let in_path = route.path_params.iter().map(|param| (param, "path"));
    let behind = route.query.iter().map(|param| (param, "query"));
    for (param, place) in in_path.chain(behind) {
        parameters.push(parameter(param, place));
    }
    if route.repeats() == Repeats::ByName {
        parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "description": "The caller's name for this wish: told again, it gives the same job.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 1024, "pattern": "^[!-~]+$" },
        }));
    }
    let mut operation = json!({
        "operationId": route.name,
        "tags": [tag(route.path)],
        "summary": route.says,
        "responses": responses(route),
        "security": match route.role {
            // With tokens in the settings one is needed, without them none.
            Some(_) => json!([{ "token": [] }, {}]),
            None => json!([]),
        },
    });
    if let Some(role) = route.role {
        operation["x-sandhog-role"] = role.name().into();
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(schema) = route.takes.schema() {
        operation["requestBody"] = json!({
            "required": matches!(route.takes, Takes::Json(..)),
            "content": { "application/json": { "schema": name(schema) } },
        });
    }
    operation
}

fn tag(path: &str) -> &str {
    let path = path.strip_prefix("/api/v1").unwrap_or(path);
    path.split('/').nth(1).unwrap_or_default()
}

fn parameter(param: &Param, place: &str) -> Value {
    // The one parameter behind a path that must be there says so in its words.
    let required = place == "path" || param.says.ends_with("Must be there.");
    json!({
        "name": param.name,
        "in": place,
        "required": required,
        "description": param.says,
        "schema": param.form.schema(),
    })
}

fn responses(route: &Route) -> Map<String, Value> {
    let mut responses = Map::new();
    let (statuses, media_type, schema) = match route.gives {
        Gives::Json(statuses, schema) => (statuses, "application/json", name(schema)),
        Gives::Other(media_type) => (&[200_u16][..], media_type, json!({ "type": "string" })),
        Gives::Page | Gives::Asset => return Map::new(),
    };
    for status in statuses {
        let says = match status {
            201 => "It is new.",
            503 => "It is not well, or not ready.",
            _ => "Done.",
        };
        responses.insert(
            status.to_string(),
            json!({ "description": says, "content": { media_type: { "schema": schema } } }),
        );
    }
    let mut by_status: BTreeMap<u16, BTreeSet<Code>> = BTreeMap::new();
    for code in codes(route) {
        by_status
            .entry(code.status().as_u16())
            .or_default()
            .insert(code);
    }
    for (status, codes) in by_status {
        let says: Vec<String> = codes
            .iter()
            .map(|code| format!("`{}`: {}.", code.name(), code.title()))
            .collect();
        let problem = json!({ "schema": name("Problem") });
        let response = responses
            .entry(status.to_string())
            .or_insert_with(|| json!({ "description": says.join(" "), "content": {} }));
        response["content"]["application/problem+json"] = problem;
    }
    responses
}

/// What may go wrong with a route.
fn codes(route: &Route) -> BTreeSet<Code> {
    let mut codes: BTreeSet<Code> = EVERYWHERE.iter().chain(route.may).copied().collect();
    if route.role.is_some() {
        codes.extend([Code::Unauthorized, Code::Forbidden]);
        // The store may be gone, or a record of it be damaged.
        codes.extend([Code::Poisoned, Code::Stopping, Code::Damaged]);
    }
    if route.method != Verb::Get {
        codes.extend([Code::UnsupportedMediaType, Code::ForeignOrigin]);
    }
    codes
}

#[cfg(test)]
pub(super) use fits::misfit;
#[cfg(test)]
mod tests;
