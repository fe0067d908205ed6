//! What a component says of itself: the JSON of the contract's `describe`, schema 1.

use serde::Serialize;

use crate::handler::Entry;

#[derive(Serialize)]
struct Description<'a> {
    schema: u32,
    sdk: Sdk,
    kinds: Vec<KindDescription<'a>>,
    /// What the handlers wish to be granted.
    requires: Requires<'a>,
}

#[derive(Serialize)]
struct Sdk {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Requires<'a> {
    /// In the form of a plugin's `NAME.toml`.
    #[serde(skip_serializing_if = "str::is_empty")]
    grants: &'a str,
}

#[derive(Serialize)]
struct KindDescription<'a> {
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trap_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backoff: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'a str>,
}

/// The description of a component with these handlers, as JSON.
pub fn describe(entries: &[Entry], grants: &str) -> String {
    let kinds = entries.iter().map(|entry| {
        let kind = &entry.kind;
        KindDescription {
            kind: kind.kind,
            summary: kind.summary,
            timeout_ms: kind.timeout_ms,
            max_attempts: kind.max_attempts,
            trap_attempts: kind.trap_attempts,
            backoff: kind.backoff,
            queue: kind.queue,
            content_type: kind.content_type,
        }
    });
    let description = Description {
        schema: 1,
        sdk: Sdk {
            name: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
        },
        kinds: kinds.collect(),
        requires: Requires { grants },
    };
    serde_json::to_string(&description).expect("texts and numbers are always JSON")
}
