//! Jobs that follow one another.

use sandhog_kit::Home;
use serde_json::Value;

use crate::SANDHOG;

fn home() -> Home {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("");
    home
}

/// The only job that one enqueued.
fn next(home: &Home, id: &str) -> String {
    let words = ["job", "ls", "--parent", id, "-o", "json"];
    let rows = home.run(&words).exits(0).rows();
    assert_eq!(rows.len(), 1, "{rows:?}");
    rows[0]["id"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_chain_hands_results_on_over_a_kill() {
    let home = home();
    let words = ["echo", "a", "--then", "echo", "--then", "echo={\"b\":1}"];
    let id = home.enqueue(&[&words[..], &["--then", "echo", "--in", "1ms"]].concat());
    let shown = home.run(&["job", "show", &id]).exits(0).text();
    assert!(shown.contains("echo, then echo, then echo"), "{shown}");
    let runner = home.start();
    let first = home.job_in(&id, "completed");
    runner.kill9();
    let _runner = home.start();
    assert_eq!(first["then"][1]["payload"]["b"], 1);
    assert_eq!(first["then"][0]["takes_result"], true);
    let mut id = id;
    for payload in [
        Value::from("a"),
        serde_json::json!({ "b": 1 }),
        serde_json::json!({ "b": 1 }),
    ] {
        id = next(&home, &id);
        let job = home.job_in(&id, "completed");
        assert_eq!(job["payload"], payload);
    }
    assert_eq!(home.job(&id)["then"], Value::Array(Vec::new()));
}

#[test]
fn a_chain_ends_with_what_ends_without_a_result_and_goes_on_when_that_comes_back() {
    let home = home();
    let dead = home.enqueue(&["panic", "a", "--max-attempts", "1", "--then", "echo"]);
    let off = home.enqueue(&["echo", "a", "--then", "echo"]);
    let _ = home.run(&["job", "cancel", &off]).exits(0);
    let _runner = home.start();
    let _ = home.job_in(&dead, "dead");
    for (id, state) in [(&dead, "dead"), (&off, "cancelled")] {
        let shown = home.run(&["job", "show", id]).exits(0).text();
        let told = format!("echo (the chain ended here: this job is {state})");
        assert!(shown.contains(&told), "{shown}");
        assert_eq!(home.job(id)["children"], Value::Array(Vec::new()));
    }
    let _ = home.run(&["job", "retry", &off]).exits(0);
    let _ = home.job_in(&off, "completed");
    let _ = home.job_in(&next(&home, &off), "completed");
}

#[test]
fn a_file_of_jobs_says_chains_and_what_is_wrong_with_them() {
    let home = home();
    let line = |then: &str| format!("{{\"kind\":\"echo\",\"payload\":1,\"then\":{then}}}\n");
    let good = line(
        r#"["echo", { "kind":"echo", "payload": { "x" : 12345678901234567890123 }, "queue":"q",
            "in":"1ms", "expires_in":"1h", "tags":["t"], "max_attempts":3, "group":"g" }]"#
            .replace('\n', " ")
            .as_str(),
    );
    let file = home.data().with_file_name("jobs.ndjson");
    std::fs::write(&file, good).unwrap();
    let path = file.to_str().unwrap();
    let id = home.run(&["enqueue", "--bulk", path]).exits(0).text();
    let _runner = home.start();
    let _ = home.job_in(&id, "completed");
    let last = next(&home, &next_in(&home, &id));
    let job = home.job_in(&last, "completed");
    assert_eq!(
        (
            &job["queue"],
            &job["group"],
            &job["tags"][0],
            &job["max_attempts"]
        ),
        (&"q".into(), &"g".into(), &"t".into(), &3.into())
    );
    for (then, says) in [
        ("3", "`then` is no list of jobs"),
        (
            r#"[{"payload":1}]"#,
            "has job 1, which field `kind` is missing",
        ),
        (
            r#"["a", {"kind":"b","at":"2030-01-01T00:00:00Z"}]"#,
            "has job 2, which has `at`",
        ),
        (r#"[{"kind":"b","then":["c"]}]"#, "which has `then`"),
        (r#"["two words"]"#, "job 1 of those that are to follow"),
    ] {
        std::fs::write(&file, line(then)).unwrap();
        let refused = home.run(&["enqueue", "--bulk", path]).exits(2).stderr;
        assert!(refused.contains(says), "{then}: {refused}");
    }
    let many = vec!["\"echo\""; 33].join(",");
    std::fs::write(&file, line(&format!("[{many}]"))).unwrap();
    let refused = home.run(&["enqueue", "--bulk", path]).exits(2).stderr;
    assert!(refused.contains("at most 32"), "{refused}");
}

/// The same, once the job completed.
fn next_in(home: &Home, id: &str) -> String {
    let next = next(home, id);
    let _ = home.job_in(&next, "completed");
    next
}

#[test]
fn a_handler_adds_no_job_twice_under_a_key() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.grant("misbehave", "[grants]\nenqueue = { queues = [\"*\"] }\n");
    let _runner = home.start();
    let _ = home.run(&["queue", "pause", "default"]).exits(0);
    let children = |key: &str| {
        let header = format!("{key}=k");
        let words = [
            "spawn",
            "x",
            "--queue",
            "q",
            "--header",
            "children=2",
            "--header",
            &header,
        ];
        let id = home.enqueue(&words);
        let job = home.job_in(&id, "completed");
        job["children"].as_array().map_or(0, Vec::len)
    };
    assert_eq!((children("unique-key"), children("unique-key")), (1, 0));
    assert_eq!(
        (children("idempotency-key"), children("idempotency-key")),
        (1, 0)
    );
    // What stood in the way ended.
    let _ = home.run(&["job", "cancel", "--kind", "echo"]).exits(0);
    assert_eq!(
        (children("unique-key"), children("idempotency-key")),
        (1, 0)
    );
}
