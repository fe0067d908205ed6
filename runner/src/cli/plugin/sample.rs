//! Samples beside a handler, `samples/NAME.json`: a job, and what is to come of it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use sandhog_model::{Failure, Outcome as Ended, Output};
use serde::Deserialize;
use serde_json::{Value, json};

use super::trial::outcome_name;
use crate::{
    cli::{base64, enqueue::by_ending},
    plugin::Report,
};

/// One sample.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Sample {
    /// The kind; the only one the component serves when `None`.
    pub(super) kind: Option<String>,
    /// The payload's media type, where it is not what its form says.
    content_type: Option<String>,
    headers: BTreeMap<String, String>,
    payload: Option<Value>,
    payload_text: Option<String>,
    payload_base64: Option<String>,
    /// Beside the sample.
    payload_file: Option<PathBuf>,
    expect: Expectation,
    #[serde(skip)]
    path: PathBuf,
}

/// What is to come of a sample. Nothing is asked for but what is said.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Expectation {
    outcome: String,
    result: Option<Value>,
    result_text: Option<String>,
    result_base64: Option<String>,
    /// The failure's code.
    code: Option<String>,
    /// A part of the failure's line.
    message: Option<String>,
    /// The kinds of the jobs it enqueues, in their order.
    enqueued: Option<Vec<String>>,
}

impl Default for Expectation {
    fn default() -> Self {
        Self {
            outcome: OUTCOMES[0].to_owned(),
            result: None,
            result_text: None,
            result_base64: None,
            code: None,
            message: None,
            enqueued: None,
        }
    }
}

/// What an attempt can come to.
const OUTCOMES: [&str; 5] = ["completed", "failed", "permanent", "snoozed", "discarded"];

/// The samples of a handler's folder, by name; none where there is no folder for them.
pub(super) fn of(dir: &Path) -> anyhow::Result<Vec<(String, Sample)>> {
    let folder = dir.join("samples");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries =
        fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut samples = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            let stem = path.file_stem().unwrap_or_default();
            let name = stem.to_string_lossy().into_owned();
            let sample = read(&path).with_context(|| format!("{} is no sample", path.display()))?;
            samples.push((name, sample));
        }
    }
    samples.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(samples)
}

fn read(path: &Path) -> anyhow::Result<Sample> {
    let mut sample: Sample = serde_json::from_str(&fs::read_to_string(path)?)?;
    path.clone_into(&mut sample.path);
    let payloads = [
        sample.payload.is_some(),
        sample.payload_text.is_some(),
        sample.payload_base64.is_some(),
        sample.payload_file.is_some(),
    ];
    ensure!(
        payloads.iter().filter(|said| **said).count() <= 1,
        "of `payload`, `payload_text`, `payload_base64` and `payload_file` one is enough"
    );
    let expect = &sample.expect;
    ensure!(
        OUTCOMES.contains(&expect.outcome.as_str()),
        "`expect.outcome` is {:?}: known are {}",
        expect.outcome,
        OUTCOMES.join(", ")
    );
    let fails = expect.outcome == "failed" || expect.outcome == "permanent";
    ensure!(
        fails || (expect.code.is_none() && expect.message.is_none()),
        "`expect.code` and `expect.message` are of an outcome `failed` or `permanent`"
    );
    let has_result =
        expect.result.is_some() || expect.result_text.is_some() || expect.result_base64.is_some();
    ensure!(
        expect.outcome == OUTCOMES[0] || !has_result,
        "an outcome `{}` has no result to expect",
        expect.outcome
    );
    Ok(sample)
}

impl Sample {
    /// The payload with its media type; `None` leaves that to the handler.
    pub(super) fn payload(&self) -> anyhow::Result<(Vec<u8>, Option<String>)> {
        let (bytes, guessed) = if let Some(value) = &self.payload {
            (serde_json::to_vec(value)?, Some("application/json"))
        } else if let Some(text) = &self.payload_text {
            let bytes = text.clone().into_bytes();
            (bytes, Some("text/plain; charset=utf-8"))
        } else if let Some(text) = &self.payload_base64 {
            let bytes = base64::decode(text).context("`payload_base64` is no base64")?;
            (bytes, None)
        } else if let Some(file) = &self.payload_file {
            let file = self.path.with_file_name(file);
            let bytes =
                fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            (bytes, by_ending(&file))
        } else {
            (Vec::new(), None)
        };
        let content_type = self.content_type.clone();
        Ok((bytes, content_type.or_else(|| guessed.map(str::to_owned))))
    }

    /// The headers, in the order of their keys.
    pub(super) fn headers(&self) -> Vec<(String, String)> {
        self.headers.clone().into_iter().collect()
    }

    /// What is other than expected, if anything is.
    pub(super) fn differences(&self, report: &Report) -> Vec<String> {
        let expect = &self.expect;
        let mut found = Vec::new();
        let outcome = outcome_name(&report.outcome);
        let failure = match &report.outcome {
            Ended::Failed { failure, .. } | Ended::Permanent(failure) => Some(failure),
            _ => None,
        };
        if outcome != expect.outcome {
            let why = failure.map_or_else(String::new, |failure| format!(": {}", failure.cause));
            found.push(format!("expected {}, it is {outcome}{why}", expect.outcome));
            return found;
        }
        if let Some(failure) = failure {
            found.extend(expect.of_failure(failure));
        }
        if let Ended::Completed(output) = &report.outcome
            && let Err(why) = expect.of_result(output)
        {
            found.push(why.to_string());
        }
        if let Some(kinds) = &expect.enqueued {
            let enqueued: Vec<&String> = report.children.iter().map(|job| &job.kind).collect();
            found.extend(difference("enqueued", &json!(kinds), &json!(enqueued)));
        }
        found
    }
}

impl Expectation {
    fn of_failure(&self, failure: &Failure) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(code) = &self.code {
            found.extend(difference("code", &json!(code), &json!(failure.code)));
        }
        if let Some(part) = &self.message
            && !failure.cause.contains(part)
        {
            found.push(format!("message: expected {part:?} in {:?}", failure.cause));
        }
        found
    }

    fn of_result(&self, output: &Output) -> anyhow::Result<()> {
        let bytes = &output.payload;
        let different = if let Some(value) = &self.result {
            let result: Value = serde_json::from_slice(bytes)
                .with_context(|| format!("the result is no JSON but {}", output.content_type))?;
            difference("result", value, &result)
        } else if let Some(text) = &self.result_text {
            let result = String::from_utf8_lossy(bytes);
            difference("result", &json!(text), &json!(result))
        } else if let Some(text) = &self.result_base64 {
            difference("result", &json!(text), &json!(base64::encode(bytes)))
        } else {
            None
        };
        match different {
            Some(different) => bail!(different),
            None => Ok(()),
        }
    }
}

/// The first place where two values differ, and how.
fn difference(place: &str, expected: &Value, found: &Value) -> Option<String> {
    match (expected, found) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys());
            names.into_iter().find_map(|name| {
                let of = |object: &serde_json::Map<String, Value>| object.get(name).cloned();
                let place = format!("{place}.{name}");
                match (of(one), of(other)) {
                    (Some(one), Some(other)) => difference(&place, &one, &other),
                    (Some(one), None) => Some(format!("{place}: expected {one}, it is missing")),
                    (None, Some(other)) => Some(format!("{place}: not expected, it is {other}")),
                    (None, None) => None,
                }
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let pairs = one.iter().zip(other).enumerate();
            pairs
                .into_iter()
                .find_map(|(at, (one, other))| difference(&format!("{place}[{at}]"), one, other))
        }
        _ if expected == found => None,
        _ => Some(format!("{place}: expected {expected}, it is {found}")),
    }
}

#[cfg(test)]
mod tests {
    use sandhog_model::FailureKind;

    use super::*;
    use crate::api::double;

    fn sample(text: &str) -> Result<Sample, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("samples")).unwrap();
        fs::write(folder.path().join("samples/a.json"), text).unwrap();
        fs::write(folder.path().join("samples/a.png"), "PNG").unwrap();
        let mut found = of(folder.path()).map_err(|error| format!("{error:#}"))?;
        let (name, sample) = found.pop().unwrap();
        assert_eq!(name, "a");
        // While the folder is there.
        sample.payload().map_err(|error| format!("{error:#}"))?;
        Ok(sample)
    }

    fn report(outcome: Ended) -> Report {
        Report {
            outcome,
            attempt: double::trapped(),
            children: Vec::new(),
        }
    }

    fn completed(text: &str) -> Report {
        report(Ended::Completed(Output {
            content_type: "application/json".into(),
            payload: text.as_bytes().to_vec(),
        }))
    }

    #[test]
    fn a_sample_that_is_none_says_why() {
        for (text, part) in [
            ("{", "a.json is no sample: EOF"),
            (r#"{"kid": "a"}"#, "unknown field `kid`"),
            (r#"{"payload": 1, "payload_text": "b"}"#, "one is enough"),
            (r#"{"payload_base64": "?"}"#, "is no base64"),
            (r#"{"payload_file": "none.png"}"#, "none.png"),
            (r#"{"expect": {"outcome": "good"}}"#, "known are completed"),
            (r#"{"expect": {"code": "a"}}"#, "of an outcome `failed`"),
            (
                r#"{"expect": {"outcome": "failed", "result": 1}}"#,
                "no result",
            ),
        ] {
            let why = sample(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }

    #[test]
    fn a_payload_has_one_of_four_forms() {
        let payload = |text: &str| {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("samples")).unwrap();
            fs::write(folder.path().join("samples/a.json"), text).unwrap();
            fs::write(folder.path().join("samples/a.png"), "PNG").unwrap();
            let found = of(folder.path()).unwrap();
            found[0].1.payload().unwrap()
        };
        let typed = |bytes: &str, kind: &str| (bytes.as_bytes().to_vec(), Some(kind.to_owned()));
        assert_eq!(
            payload(r#"{"payload": [1]}"#),
            typed("[1]", "application/json")
        );
        let text = payload(r#"{"payload_text": "a", "content_type": "text/csv"}"#);
        assert_eq!(text, typed("a", "text/csv"));
        assert_eq!(
            payload(r#"{"payload_base64": "YQ=="}"#),
            (b"a".to_vec(), None)
        );
        assert_eq!(
            payload(r#"{"payload_file": "a.png"}"#),
            typed("PNG", "image/png")
        );
        assert_eq!(payload("{}"), (Vec::new(), None));
        let folder = tempfile::tempdir().unwrap();
        assert!(of(folder.path()).unwrap().is_empty());
    }

    #[test]
    fn what_came_is_held_against_what_was_expected() {
        let differs = |sample_text: &str, report: &Report| {
            let differences = sample(sample_text).unwrap().differences(report);
            differences.join("; ")
        };
        let right = r#"{"expect": {"result": {"a": [1, {"b": 2}]}}}"#;
        assert_eq!(differs(right, &completed(r#"{"a":[1,{"b":2}]}"#)), "");
        assert_eq!(differs("{}", &completed("whatever")), "");
        for (result, said) in [
            (r#"{"a":[1,{"b":3}]}"#, "result.a[1].b: expected 2, it is 3"),
            (
                r#"{"a":[1]}"#,
                r#"result.a: expected [1,{"b":2}], it is [1]"#,
            ),
            ("{}", r#"result.a: expected [1,{"b":2}], it is missing"#),
            (
                r#"{"a":[1,{"b":2}],"c":0}"#,
                "result.c: not expected, it is 0",
            ),
            ("text", "the result is no JSON but application/json"),
        ] {
            assert_eq!(differs(right, &completed(result)), said);
        }
        let failure = Failure::new(FailureKind::Error, "no-name", "there is nobody");
        let permanent = report(Ended::Permanent(failure));
        let of = |rest: &str| format!(r#"{{"expect": {{"outcome": "permanent"{rest}}}}}"#);
        assert_eq!(differs(&of(""), &permanent), "");
        assert_eq!(
            differs(
                &of(r#", "code": "no-name", "message": "nobody""#),
                &permanent
            ),
            ""
        );
        assert_eq!(
            differs(&of(r#", "code": "a", "message": "zz""#), &permanent),
            r#"code: expected "a", it is "no-name"; message: expected "zz" in "there is nobody""#
        );
        assert_eq!(
            differs("{}", &permanent),
            "expected completed, it is permanent: there is nobody"
        );
        assert_eq!(
            differs(r#"{"expect": {"enqueued": ["mail"]}}"#, &completed("1")),
            r#"enqueued: expected ["mail"], it is []"#
        );
        assert_eq!(
            differs(r#"{"expect": {"result_text": "1"}}"#, &completed("1")),
            ""
        );
        assert_eq!(
            differs(r#"{"expect": {"result_base64": "MQ=="}}"#, &completed("2")),
            r#"result: expected "MQ==", it is "Mg==""#
        );
    }
}
