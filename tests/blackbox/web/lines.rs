//! T52: what callers and guests write is one line of the log for each event, whatever is in it.

use sandhog_kit::{Home, Http};
use serde_json::{Value, json};

use super::{ADMIN, start};
use crate::SANDHOG;

/// Ends of lines, orders to a terminal, and what some take for ends of lines.
const NASTY: &str = "a\r\n2026-01-01T00:00:00.000000Z  INFO audit who=\"boss\"\n\u{1b}[31mred\u{1b}]0;t\u{7}\u{0}\u{85}\u{2028}\u{2029}\u{202e}b\n{\"level\":\"INFO\"}\n";

fn provoke(http: &Http) {
    let dead = http
        .post(
            "/api/v1/jobs",
            &json!({ "kind": "permanent", "payload_text": NASTY }),
        )
        .is(201)
        .json();
    let id = dead["id"].as_str().unwrap();
    let _ = http
        .get(&format!("/api/v1/jobs/{id}/wait?timeout_ms=60000"))
        .is(200);
    let _ = http.post("/api/v1/jobs", &json!({ "kind": NASTY }));
    let _ = http.post("/api/v1/jobs", &json!({ "kind": "echo", "queue": NASTY }));
    let _ = http.post(
        &format!("/api/v1/jobs/{id}/cancel"),
        &json!({ "reason": NASTY }),
    );
    let _ = http.write(
        "PUT",
        "/api/v1/crons/night",
        &json!({ "schedule": NASTY, "kind": NASTY }),
    );
    let _ = http
        .post(
            "/api/v1/plugins/misbehave/quarantine",
            &json!({ "reason": NASTY }),
        )
        .is(200);
    let encoded: String = NASTY.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let _ = http.post(&format!("/api/v1/plugins/{encoded}/release"), &json!({}));
    let _ = http.get(&format!("/api/v1/jobs?cursor={encoded}"));
    let _ = http.send("GET", "/health", &[("user-agent", "a\u{1b}[31m")], None);
    let _ = http
        .with(ADMIN)
        .post("/api/v1/queues/mail/pause", &json!({}))
        .is(200);
}

fn runner_that_logs(format: &str) -> String {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    home.write_config(&format!(
        "[log]\nformat = \"{format}\"\nlevel = \"debug\"\n"
    ));
    let (_home, runner, http) = start(home);
    provoke(&http);
    let said = runner.said();
    assert!(
        said.contains("forbidden") || said.contains("audit"),
        "{said}"
    );
    said
}

#[test]
fn t52_a_text_log_has_a_line_for_each_event() {
    let said = runner_that_logs("text");
    for line in said.split_terminator('\n') {
        let (time, rest) = line.split_once(' ').unwrap_or((line, ""));
        assert!(
            time.len() == 27 && time.ends_with('Z'),
            "{line:?} is no event"
        );
        let level = rest.split_whitespace().next().unwrap_or_default();
        assert!(
            ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"].contains(&level),
            "{line:?}"
        );
        let order = |c: char| c.is_control() || "\u{2028}\u{2029}\u{202e}".contains(c);
        assert!(!line.contains(order), "{line:?} gives orders");
        assert!(!line.starts_with("2026-01-01"), "{line:?} is forged");
    }
}

#[test]
fn t52_a_json_log_has_an_object_for_each_event() {
    let said = runner_that_logs("json");
    let lines = said.split_terminator('\n').map(|line| {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    });
    let audits = lines.filter(|line| {
        assert!(
            line["timestamp"].is_string() && line["level"].is_string(),
            "{line}"
        );
        line["target"] == "audit"
    });
    // Those that could be read far enough to be changes.
    assert_eq!(audits.count(), 8, "{said}");
}
