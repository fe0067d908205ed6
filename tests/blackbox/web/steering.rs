//! Queues, dead letters, schedules, plugins and workers over HTTP, on a real runner.

use std::{fs, time::Duration};

use sandhog_kit::wait;
use serde_json::{Value, json};

use super::{
    ADMIN, VIEWER, guarded,
    resources::{enqueue, job},
    runner,
};

#[test]
fn queues_and_their_limits_are_steered() {
    let (_home, _runner, http) = runner();
    let queue = |verb: &str| {
        http.post(&format!("/api/v1/queues/mail/{verb}"), &json!({}))
            .is(200)
            .json()
    };
    assert_eq!(queue("pause")["mode"], "paused");
    let waiting = enqueue(&http, &json!({ "kind": "echo", "queue": "mail" }));
    let held = http.get("/api/v1/queues").is(200).json();
    assert!(
        held["queues"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("paused"),
        "{held}"
    );
    assert_eq!(queue("drain")["mode"], "draining");
    let full = http.post("/api/v1/jobs", &json!({ "kind": "echo", "queue": "mail" }));
    assert_eq!(
        (full.status, full.problem()),
        (429, "queue-full".to_owned())
    );
    let _ = queue("resume");
    let _ = job(&http, &waiting, "completed");
    let put = |body: Value| http.write("PUT", "/api/v1/queues/mail/limits", &body);
    let set = put(json!({ "concurrency": 2, "rate": "100/1m" }))
        .is(200)
        .json();
    assert_eq!(set["limits"]["concurrency"], 2);
    let set = put(json!({ "concurrency": null, "group_concurrency": 1 }))
        .is(200)
        .json();
    assert_eq!(
        set["set"],
        json!({ "concurrency": null, "rate": "100/1m", "group_concurrency": 1, "group_rate": null })
    );
    assert_eq!(put(json!({ "rate": "often" })).problem(), "invalid");
    assert_eq!(put(json!({ "concurrency": 0 })).problem(), "invalid");
    let reset = http
        .send("DELETE", "/api/v1/queues/mail/limits", &[], None)
        .is(200)
        .json();
    assert_eq!(reset["set"]["rate"], Value::Null);
}

#[test]
fn dead_letters_are_shown_brought_back_and_deleted() {
    let (_home, _runner, http) = runner();
    let ids: Vec<String> = (0..5)
        .map(|number| {
            let wish = json!({ "kind": "permanent", "payload": number, "queue": "q" });
            let id = enqueue(&http, &wish);
            // One after the other, so that the last is the newest letter.
            let _ = job(&http, &id, "dead");
            id
        })
        .collect();
    let count = |filter: &str| {
        http.get(&format!("/api/v1/dead/count{filter}"))
            .is(200)
            .json()["count"]
            .clone()
    };
    assert_eq!(count(""), 5);
    assert_eq!(count("?kind=echo"), 0);
    let list = http.get("/api/v1/dead?queue=q&limit=2").is(200).json();
    assert_eq!(list["letters"].as_array().unwrap().len(), 2);
    assert!(list["next"].is_string());
    let row = &list["letters"][0];
    let letter = http.get(&format!("/api/v1/dead/{}", ids[4])).is(200).json();
    assert_eq!((&letter["id"], &letter["payload"]), (&row["id"], &json!(4)));
    let raw = http
        .get(&format!("/api/v1/dead/{}/raw", ids[4]))
        .is(200)
        .json();
    assert_eq!(raw["unreadable"], Value::Null);
    let lines = http.get("/api/v1/dead/export?queue=q").is(200);
    assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(lines.text().lines().count(), 5);
    assert!(lines.text().ends_with('\n'));
    let stale = json!({ "letters": [{ "id": ids[0], "token": "999999" }, { "id": ids[1] }] });
    let changed = http.post("/api/v1/dead/delete", &stale).is(200).json();
    assert_eq!(
        changed["letters"][0]["error"]["code"], "changed",
        "{changed}"
    );
    assert_eq!(changed["letters"][1], json!({ "id": ids[1] }));
    let _ = http
        .send("DELETE", &format!("/api/v1/dead/{}", ids[2]), &[], None)
        .is(200);
    let gone = http.send("DELETE", &format!("/api/v1/dead/{}", ids[2]), &[], None);
    assert_eq!(gone.problem(), "not-found");
    let _ = http
        .post(&format!("/api/v1/dead/{}/retry", ids[3]), &json!({}))
        .is(200);
    let purge = |dry_run: bool| {
        let body = json!({ "max_letters": 1, "dry_run": dry_run });
        http.post("/api/v1/dead/purge", &body).is(200).json()
    };
    wait::until("the job to die again", Duration::from_secs(60), || {
        (count("") == 3).then_some(())
    });
    assert_eq!(purge(true)["letters"].as_array().unwrap().len(), 2);
    assert_eq!(count(""), 3);
    assert_eq!(purge(false)["letters"].as_array().unwrap().len(), 2);
    assert_eq!(count(""), 1);
    let boundless = http.post("/api/v1/dead/purge", &json!({ "dry_run": true }));
    assert_eq!(boundless.problem(), "invalid");
}

#[test]
fn schedules_are_added_paused_and_run_out_of_turn() {
    let (_home, _runner, http) = runner();
    let entry =
        json!({ "schedule": "0 3 * * *", "kind": "echo", "payload": "{\"a\":1}", "priority": 2 });
    let put = http
        .write("PUT", "/api/v1/crons/night", &entry)
        .is(200)
        .json();
    assert_eq!(
        (&put["schedule"]["zone"], &put["schedule"]["added"]),
        (&json!("UTC"), &json!(true))
    );
    let paused = http
        .post("/api/v1/crons/night/pause", &json!({ "reason": "holiday" }))
        .is(200)
        .json();
    assert_eq!(paused["schedule"]["paused"]["reason"], "holiday");
    let triggered = http
        .post("/api/v1/crons/night/trigger", &json!({}))
        .is(200)
        .json();
    let done = job(&http, triggered["job"].as_str().unwrap(), "completed");
    assert_eq!(
        (&done["payload"]["a"], &done["priority"]),
        (&json!(1), &json!(2))
    );
    let resumed = http
        .post("/api/v1/crons/night/resume", &json!({}))
        .is(200)
        .json();
    assert!(resumed["schedule"]["next"].is_string());
    let list = http.get("/api/v1/crons").is(200).json();
    assert_eq!(list["schedules"].as_array().unwrap().len(), 1);
    let bad = http.write(
        "PUT",
        "/api/v1/crons/night",
        &json!({ "schedule": "61 * * * *", "kind": "echo" }),
    );
    assert_eq!(bad.problem(), "invalid");
    let _ = http
        .send("DELETE", "/api/v1/crons/night", &[], None)
        .is(200);
    assert_eq!(
        http.post("/api/v1/crons/night/trigger", &json!({}))
            .problem(),
        "not-found"
    );
    let slots = "/api/v1/crons/next?schedule=30+2+*+*+*&zone=Europe/Paris&after=2026-03-28T12:00:00Z&count=2";
    let slots = http.get(slots).is(200).json();
    assert_eq!(slots["slots"][0]["moved"], true, "{slots}");
    assert_eq!(
        http.get("/api/v1/crons/next?zone=UTC").problem(),
        "bad-request"
    );
    assert_eq!(
        http.get("/api/v1/crons/next?schedule=x").problem(),
        "invalid"
    );
}

#[test]
fn plugins_workers_and_the_runner_are_seen_and_told() {
    let (_home, mut runner, http) = runner();
    let plugins = http.get("/api/v1/plugins").is(200).json();
    assert_eq!(plugins["plugins"][0]["name"], "misbehave");
    let act = |verb: &str| http.post(&format!("/api/v1/plugins/misbehave/{verb}"), &json!({}));
    assert_eq!(act("quarantine").is(200).json()["status"], "quarantined");
    assert_eq!(act("rollback").problem(), "wrong-state");
    assert_eq!(act("release").is(200).json()["status"], "ok");
    let shown = http.get("/api/v1/plugins/misbehave").is(200).json();
    assert_eq!(shown["versions"].as_array().unwrap().len(), 1);
    assert_eq!(http.get("/api/v1/plugins/none").problem(), "not-found");
    let mode = |verb: &str| {
        http.post(&format!("/api/v1/workers/{verb}"), &json!({}))
            .is(200)
            .json()["mode"]
            .clone()
    };
    assert_eq!(mode("quiet"), "quiet");
    let stats = http.get("/api/v1/stats").is(200).json();
    assert_eq!(
        (&stats["runner"]["mode"], &stats["store"]["jobs"]["dead"]),
        (&json!("quiet"), &json!(0))
    );
    assert_eq!(mode("resume"), "running");
    let workers = http.get("/api/v1/workers").is(200).json();
    assert_eq!(workers["workers"][0]["number"], 0);
    assert_eq!(http.get("/health").is(200).json()["status"], "ok");
    assert_eq!(mode("stop"), "stopping");
    let ended = wait::until("the runner to end", Duration::from_secs(20), || {
        runner.ended()
    });
    assert!(ended.success(), "{}", runner.said());
}

#[test]
fn unique_jobs_are_let_past() {
    let (_home, _runner, http) = runner();
    let wish =
        json!({ "kind": "echo", "in": "1h", "unique": { "key": "k", "on_conflict": "reject" } });
    let id = enqueue(&http, &wish);
    let second = http.post("/api/v1/jobs", &wish);
    assert_eq!(
        (second.status, second.problem()),
        (409, "duplicate".to_owned())
    );
    let rows = http.get("/api/v1/unique").is(200).json();
    assert_eq!(rows["jobs"][0]["id"], json!(id));
    let released = http
        .post("/api/v1/unique/release", &json!({ "ids": [id] }))
        .is(200)
        .json();
    assert_eq!(released["jobs"][0], json!({ "id": id, "released": true }));
    let _ = enqueue(&http, &wish);
}

#[test]
fn the_settings_in_force_say_where_they_come_from_and_tell_no_secret() {
    let (home, _runner, http) = guarded();
    let told = http.with(VIEWER).get("/api/v1/config").is(200);
    assert!(!told.text().contains(ADMIN), "{}", told.text());
    let row = |told: &Value, key: &str| {
        let rows = told["settings"].as_array().expect("settings").iter();
        let found = rows.clone().find(|row| row["key"] == key);
        found.cloned().unwrap_or_else(|| panic!("no {key}"))
    };
    assert_eq!(row(&told.json(), "http.token_file")["origin"], "file");
    assert_eq!(row(&told.json(), "runner.lease")["origin"], "default");
    let file = home.folder().join("sandhog.toml");
    let before = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{before}\n[store]\ninterval = \"9s\"\n")).unwrap();
    let _ = http
        .with(ADMIN)
        .post("/api/v1/config/reload", &json!({}))
        .is(200);
    let told = http.with(VIEWER).get("/api/v1/config").json();
    assert_eq!(row(&told, "store.interval")["value"], "\"100ms\"");
    assert_eq!(told["waiting"][0]["key"], "store.interval");
    assert_eq!(told["waiting"][0]["after"], "\"9s\"");
}

/// Each page that a problem leads to is there, with or without a token.
#[test]
fn every_problem_leads_to_its_page() {
    let (_home, _runner, http) = guarded();
    let unauthorized = http.get("/api/v1/stats").is(401).json();
    let page = http.get(unauthorized["type"].as_str().unwrap()).is(200);
    assert_eq!(
        page.header("content-type"),
        Some("text/markdown; charset=utf-8")
    );
    assert!(
        page.text().starts_with("# `unauthorized`"),
        "{}",
        page.text()
    );
    assert_eq!(http.get("/docs/errors/none").problem(), "not-found");
}
