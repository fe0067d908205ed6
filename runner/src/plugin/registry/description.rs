//! What a component says of itself: the JSON of the contract's `describe`, schema 1.

use std::collections::BTreeSet;

use sandhog_model::{JobId, KindDefaults, NewJob, RetryPolicy, UnixMs};
use serde::Deserialize;

use super::Fault;
use crate::plugin::{Grants, KindInfo, capabilities::grants};

/// Longest description, in bytes.
pub(crate) const DESCRIPTION_BYTES: usize = 64 << 10;
/// What the registry keeps of a description.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Description {
    pub(crate) sdk: String,
    pub(crate) kinds: Vec<KindInfo>,
    /// What its handlers wish to be granted.
    pub(crate) asks: Option<Grants>,
}

// Fields a later schema adds are ignored.
#[derive(Deserialize)]
struct Raw {
    schema: u32,
    sdk: Option<RawSdk>,
    #[serde(default)]
    kinds: Vec<RawKind>,
    #[serde(default)]
    requires: RawRequires,
}

#[derive(Deserialize, Default)]
struct RawRequires {
    /// In the form of a `NAME.toml`.
    grants: Option<String>,
}

#[derive(Deserialize)]
struct RawSdk {
    name: String,
    #[serde(default)]
    version: String,
}

#[derive(Deserialize)]
struct RawKind {
    kind: String,
    #[serde(default)]
    summary: String,
    timeout_ms: Option<u64>,
    max_attempts: Option<u32>,
    trap_attempts: Option<u32>,
    backoff: Option<String>,
    queue: Option<String>,
    content_type: Option<String>,
}

/// The host's side of the exchange.
pub(crate) fn host_info() -> String {
    serde_json::json!({
        "schema": 1,
        "host": { "name": "sandhog", "version": env!("CARGO_PKG_VERSION") },
        "contracts": ["sandhog:job@0.1.0"],
    })
    .to_string()
}

/// Read a component's answer.
pub(crate) fn parse(text: &str) -> Result<Description, Fault> {
    if text.len() > DESCRIPTION_BYTES {
        return Err(bad(format!(
            "its description has {} bytes, the limit is {DESCRIPTION_BYTES}",
            text.len()
        )));
    }
    let raw: Raw = serde_json::from_str(text)
        .map_err(|error| bad(format!("its description cannot be read: {error}")))?;
    if raw.schema != 1 {
        return Err(bad(format!(
            "its description has schema {}, this runner reads schema 1",
            raw.schema
        )));
    }
    if raw.kinds.is_empty() {
        return Err(Fault::new(
            "it serves no kind of job",
            "put `#[sandhog_sdk::job]` on a function and name it in `sandhog_sdk::export!`",
        ));
    }
    let mut seen = BTreeSet::new();
    let mut kinds = Vec::new();
    for kind in raw.kinds {
        if !seen.insert(kind.kind.clone()) {
            return Err(bad(format!("it describes kind {:?} twice", kind.kind)));
        }
        kinds.push(kind_info(kind)?);
    }
    let sdk = raw.sdk.map_or_else(
        || "unknown".to_owned(),
        |sdk| format!("{} {}", sdk.name, sdk.version).trim().to_owned(),
    );
    let asks = match &raw.requires.grants {
        None => None,
        Some(text) => Some(grants::parse(text).map_err(|why| {
            bad(format!(
                "what it wishes to be granted cannot be read: {why}"
            ))
        })?),
    };
    Ok(Description { sdk, kinds, asks })
}

fn kind_info(raw: RawKind) -> Result<KindInfo, Fault> {
    let of = |what: String| bad(format!("kind {:?}: {what}", raw.kind));
    let backoff = match &raw.backoff {
        Some(text) => Some(
            text.parse()
                .map_err(|why| of(format!("backoff {text:?}: {why}")))?,
        ),
        None => None,
    };
    let retry = RetryPolicy {
        max_attempts: raw.max_attempts,
        trap_attempts: raw.trap_attempts,
        backoff,
    };
    // What a handler proposes must make a job that would be accepted.
    let sample = NewJob {
        kind: raw.kind.clone(),
        queue: raw.queue.clone(),
        content_type: raw.content_type.clone(),
        retry: retry.clone(),
        timeout_ms: raw.timeout_ms,
        ..NewJob::default()
    };
    sample
        .accept(JobId(0), UnixMs(0), &KindDefaults::default())
        .map_err(|refused| of(refused.to_string()))?;
    Ok(KindInfo {
        summary: raw.summary,
        timeout_ms: raw.timeout_ms,
        retry,
        queue: raw.queue,
        content_type: raw.content_type,
        kind: raw.kind,
    })
}

fn bad(cause: impl Into<String>) -> Fault {
    Fault::new(
        cause,
        "mend what the component's `describe` answers; the SDK writes it from `#[sandhog_sdk::job]`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read_and_growth_ignored() {
        let read = parse(
            r#"{"schema":1,"sdk":{"name":"sandhog-sdk","version":"0.1.0"},"later":{},
               "kinds":[{"kind":"thumbnail","timeout_ms":30000,"max_attempts":5,"new":true}]}"#,
        )
        .unwrap();
        assert_eq!(read.sdk, "sandhog-sdk 0.1.0");
        assert_eq!(read.kinds[0].kind, "thumbnail");
        assert_eq!(read.kinds[0].timeout_ms, Some(30_000));
        assert_eq!(read.kinds[0].retry.max_attempts, Some(5));
    }

    #[test]
    fn faults_name_what_is_wrong() {
        for (text, says) in [
            ("", "cannot be read"),
            (r#"{"kinds":[{"kind":"a"}]}"#, "schema"),
            (r#"{"schema":2,"kinds":[{"kind":"a"}]}"#, "schema 2"),
            (r#"{"schema":1}"#, "no kind"),
            (r#"{"schema":1,"kinds":[]}"#, "no kind"),
            (r#"{"schema":1,"kinds":[{"kind":"-a"}]}"#, "\"-a\""),
            (
                r#"{"schema":1,"kinds":[{"kind":"a"},{"kind":"a"}]}"#,
                "twice",
            ),
            (
                r#"{"schema":1,"kinds":[{"kind":"a","timeout_ms":0}]}"#,
                "timeout",
            ),
            (
                r#"{"schema":1,"kinds":[{"kind":"a","max_attempts":0}]}"#,
                "attempts",
            ),
            (
                r#"{"schema":1,"kinds":[{"kind":"a","backoff":"sometimes"}]}"#,
                "\"sometimes\"",
            ),
            (r#"{"schema":1,"kinds":[{"kind":"a","queue":""}]}"#, "queue"),
        ] {
            let fault = parse(text).unwrap_err();
            assert!(fault.cause.contains(says), "{text}: {fault:?}");
        }
    }
}
