//! The answers of the resources beside what the document says of them.

mod refused;

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use http_body_util::BodyExt as _;
use sandhog_model::{JobId, State};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    answer::Answer,
    call::{Call, query},
    gate::Gate,
    hosts::Hosts,
    openapi,
    problem::Problem,
    resources,
    route::{Gives, Route},
    site::{Asking, Site},
    token::{Caller, Guard, Role},
};
use crate::api::double::Double;

mod asked;
mod batches;

struct Desk {
    site: Arc<Site>,
    double: Arc<Double>,
    document: Value,
    runtime: tokio::runtime::Runtime,
    _stop: watch::Sender<bool>,
}

impl Desk {
    fn new() -> Self {
        let double = Double::new();
        let gate = Gate {
            hosts: Hosts::new(([127, 0, 0, 1], 7263).into(), &[]),
            guard: Guard::default(),
        };
        let (stop, stopped) = watch::channel(false);
        Self {
            site: Arc::new(Site::new(double.ctx(true), gate, stopped)),
            double,
            document: openapi::document(),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
            _stop: stop,
        }
    }

    /// Ask the route of this name, with what is filled into its path, and hold its answer to its schema.
    fn ask(&self, name: &str, path: &[&str], behind: &str, body: Value) -> Result<Value, Problem> {
        let route = resources::routes().find(|route| route.name == name);
        let route: Route = route.unwrap_or_else(|| panic!("no route {name}"));
        let mut given = query(Some(behind), route.query).unwrap();
        let filled = route.path_params.iter().zip(path);
        given.extend(filled.map(|(param, value)| (param.name, (*value).to_owned())));
        let caller = Caller {
            name: "ada".to_owned(),
            role: route.role.unwrap_or(Role::Viewer),
        };
        let call = Call {
            asking: Asking {
                caller,
                peer: ([127, 0, 0, 1], 1).into(),
            },
            given,
            body: match body {
                Value::Null => Bytes::new(),
                body => body.to_string().into(),
            },
            idempotency_key: None,
            traceparent: None,
            headers: http::HeaderMap::new(),
            prefix: String::new(),
            is_logged_in: false,
            is_secure: false,
        };
        let answer = self
            .runtime
            .block_on((route.run)(Arc::clone(&self.site), call))?;
        let Gives::Json(statuses, schema) = route.gives else {
            panic!("{name} gives no JSON");
        };
        let (status, value) = match answer {
            Answer::Json(status, value) => (status, value),
            Answer::Flow("application/json", flow) => {
                let whole = self.runtime.block_on(flow.collect()).unwrap().to_bytes();
                (StatusCode::OK, serde_json::from_slice(&whole).unwrap())
            }
            _ => panic!("{name} gave no JSON"),
        };
        assert!(statuses.contains(&status.as_u16()), "{name} gave {status}");
        let schema = json!({ "$ref": format!("#/components/schemas/{schema}") });
        let misfit = openapi::misfit(&self.document, &schema, &value, name);
        assert_eq!(misfit, None, "{value}");
        Ok(value)
    }

    fn get(&self, name: &str, path: &[&str], behind: &str) -> Value {
        self.ask(name, path, behind, Value::Null).unwrap()
    }

    fn enqueue(&self, job: Value) -> JobId {
        let value = self.ask("enqueueJob", &[], "", job).unwrap();
        value["id"].as_str().unwrap().parse().unwrap()
    }
}

/// Whatever is there, whether parts of it are missing or not, an answer has what the document says and
/// nothing else.
#[test]
fn answers_are_what_the_document_says() {
    let desk = Desk::new();
    let full = json!({
        "kind": "page", "payload": { "a": 1 }, "headers": [["k", "1"], ["k", "2"]], "queue": "q",
        "backoff": "fixed 1s", "attempt_timeout": "2s", "retry_for": "1h", "expires_in": "1h", "group": "g",
        "tags": ["t"], "unique": { "by": ["a"], "for": "1h" }, "idempotency_key": "i",
        "then": ["page", { "kind": "page", "payload": [1], "in": "1s" }],
    });
    let done = desk.enqueue(full);
    desk.double.completes(done, "image/png", b"\x89PNG");
    let failed = desk.enqueue(json!({ "kind": "page", "payload_base64": "/w==" }));
    desk.double.fails_quietly(failed);
    let runs = desk.enqueue(json!({ "kind": "page", "payload_text": "é" }));
    desk.double.starts(runs);
    let waits = desk.enqueue(json!({ "kind": "page" }));
    let many = |kind: &str| json!({ "jobs": [{ "kind": "page" }, { "kind": kind }] });
    let _ = desk.ask("enqueueJobs", &[], "", many("page")).unwrap();
    let count = desk.double.count();
    assert!(desk.ask("enqueueJobs", &[], "", many("!")).is_err());
    assert_eq!(desk.double.count(), count);
    for id in [done, failed, runs, waits] {
        let id = id.text();
        let job = desk.get("getJob", &[&id], "");
        assert_eq!(job["id"], id);
        let _ = desk.get("waitForJob", &[&id], "timeout_ms=0");
    }
    let _ = desk.get("getJobLogs", &[&failed.text()], "attempt=1");
    let _ = desk.get("getJobLogs", &[&runs.text()], "");
    let cancelled = desk.ask("cancelJob", &[&waits.text()], "", json!({ "reason": "r" }));
    assert_eq!(cancelled.unwrap()["state"], "cancelled");
    let _ = desk.get("getJob", &[&waits.text()], "");
    let _ = desk
        .ask("killJob", &[&runs.text()], "", Value::Null)
        .unwrap();
    let page = desk.get("listJobs", &[], "limit=2");
    assert!(page["next"].is_string());
    for name in [
        "listQueues",
        "listUnique",
        "listDead",
        "countDead",
        "listSchedules",
        "listPlugins",
        "listWorkers",
        "getStats",
        "getHealth",
        "getReady",
        "getConfig",
    ] {
        let _ = desk.get(name, &[], "");
    }
    let _ = desk.ask("reloadConfig", &[], "", Value::Null).unwrap();
    for (name, body) in [
        ("pauseQueue", Value::Null),
        ("resumeQueue", json!({})),
        ("drainQueue", json!({})),
        (
            "setLimits",
            json!({ "concurrency": 3, "group_rate": "1/1s" }),
        ),
        ("resetLimits", Value::Null),
    ] {
        let _ = desk.ask(name, &["q"], "", body).unwrap();
    }
    for name in ["quietWorkers", "resumeWorkers"] {
        let _ = desk.ask(name, &[], "", Value::Null).unwrap();
    }
}

#[test]
fn answers_to_changes_of_a_job_are_what_the_document_says() {
    let desk = Desk::new();
    let again = desk.enqueue(json!({ "kind": "page" })).text();
    for (name, body) in [
        ("snoozeJob", json!({ "for": "1h" })),
        ("snoozeJob", json!({ "until": "2099-01-01T00:00:00Z" })),
        ("retryJob", Value::Null),
        ("discardJob", json!({ "reason": "r" })),
    ] {
        let _ = desk.ask(name, &[&again], "", body).unwrap();
    }
    let other = desk.enqueue(json!({ "kind": "page" })).text();
    let none = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for (name, body) in [
        ("snoozeJobs", json!({ "ids": [other, none], "for": "1h" })),
        ("retryJobs", json!({ "ids": [other, none] })),
        (
            "discardJobs",
            json!({ "ids": [other, none], "reason": "r" }),
        ),
        ("cancelJobs", json!({ "ids": [none, other] })),
        ("killJobs", json!({ "ids": [none], "reason": null })),
        ("deleteJobs", json!({ "ids": [other, none], "force": true })),
    ] {
        let told = desk.ask(name, &[], "", body).unwrap();
        let refused = |job: &Value| job["error"]["code"] == "not-found" && job["id"] == none;
        assert!(
            told["jobs"].as_array().unwrap().iter().any(refused),
            "{told}"
        );
    }
    let gone = desk.ask("deleteJob", &[&again], "force=true", Value::Null);
    assert_eq!(gone.unwrap()["state"], "deleted");
}

#[test]
fn answers_about_the_dead_schedules_and_plugins_are_what_the_document_says() {
    let desk = Desk::new();
    let ids: Vec<JobId> = (0..4)
        .map(|_| desk.enqueue(json!({ "kind": "page", "payload": [1] })))
        .collect();
    for id in &ids {
        desk.double.dies(*id);
    }
    desk.double.breaks(7168, b"\x00\x01");
    let rows = desk.get("listDead", &[], "");
    assert_eq!(rows["letters"].as_array().unwrap().len(), 5, "{rows}");
    let [first, second, third, fourth] = ids[..] else {
        unreachable!("there are four")
    };
    for logs in ["", "logs=true"] {
        let _ = desk.get("getDead", &[&first.text()], logs);
    }
    let _ = desk.get("getRawDead", &["@7168"], "");
    let broken = desk
        .ask("getDead", &["@7168"], "", Value::Null)
        .unwrap_err();
    assert_eq!(broken.code.name(), "damaged");
    let _ = desk
        .ask("retryDead", &[&first.text()], "", Value::Null)
        .unwrap();
    let _ = desk
        .ask("deleteDead", &[&second.text()], "", Value::Null)
        .unwrap();
    let letters = json!({ "letters": [{ "id": third }, { "id": first }, { "id": "@1" }] });
    let told = desk.ask("retryManyDead", &[], "", letters).unwrap();
    assert!(told["letters"][1]["error"]["code"].is_string(), "{told}");
    let _ = desk
        .ask(
            "purgeDead",
            &[],
            "",
            json!({ "max_letters": 0, "dry_run": false }),
        )
        .unwrap();
    let gone = desk.ask("getDead", &[&fourth.text()], "", Value::Null);
    assert_eq!(gone.unwrap_err().code.name(), "not-found");

    let entry = json!({ "schedule": "0 3 * * *", "kind": "page", "zone": null });
    let put = desk.ask("putSchedule", &["night"], "", entry).unwrap();
    assert!(put["schedule"]["next"].is_string(), "{put}");
    for name in ["pauseSchedule", "triggerSchedule", "resumeSchedule"] {
        let _ = desk.ask(name, &["night"], "", Value::Null).unwrap();
    }
    let _ = desk.get("listSchedules", &[], "limit=1");
    let _ = desk
        .ask("deleteSchedule", &["night"], "", Value::Null)
        .unwrap();
    let slots = "schedule=30+2+*+*+*&zone=Europe/Paris&after=2026-03-28T12:00:00Z&count=200";
    let _ = desk.get("nextSlots", &[], slots);

    for (name, body) in [
        ("getPlugin", Value::Null),
        ("rollBackPlugin", json!({ "to": "cd" })),
        ("getPlugin", Value::Null),
        ("checkPlugin", Value::Null),
        ("quarantinePlugin", json!({ "reason": "r" })),
        ("checkPlugin", json!({})),
        ("getPlugin", Value::Null),
        ("releasePlugin", json!({})),
    ] {
        let _ = desk.ask(name, &["page"], "", body).unwrap();
    }
}

#[test]
fn answers_about_all_letters_that_fit_are_what_the_document_says() {
    let desk = Desk::new();
    for _ in 0..2 {
        let id = desk.enqueue(json!({ "kind": "page" }));
        desk.double.dies(id);
    }
    for (name, body, done) in [
        (
            "retryManyDead",
            json!({ "filter": { "kind": "page" }, "dry_run": true }),
            2,
        ),
        (
            "deleteManyDead",
            json!({ "filter": { "kind": "other", "unreadable": null } }),
            0,
        ),
    ] {
        let told = desk.ask(name, &[], "", body).unwrap();
        assert_eq!(told["done"], done, "{told}");
    }
}

/// Who asks over any way may what their role lets, and no more.
#[test]
fn no_way_leads_past_the_roles() {
    let desk = Desk::new();
    let id = desk.enqueue(json!({ "kind": "page" }));
    let request = crate::api::Request::Retry { id };
    let asking = Asking {
        caller: Caller {
            name: "eyes".to_owned(),
            role: Role::Viewer,
        },
        peer: ([127, 0, 0, 1], 1).into(),
    };
    let refused = desk
        .runtime
        .block_on(desk.site.ask(request, &asking))
        .unwrap_err();
    assert_eq!(refused.code.name(), "forbidden");
    let state = desk.get("getJob", &[&id.text()], "")["state"].clone();
    assert_eq!(state, State::Available.name());
}
