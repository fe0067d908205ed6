//! Many jobs at once of which some are refused, and batches that not all jobs went into.

use sandhog_kit::{Answer, Home, Http};
use serde_json::{Value, json};

use crate::SANDHOG;

/// Jobs in a queue that takes two, of which the second is there already.
const LINES: [&str; 5] = [
    r#"{"kind":"unserved","payload":1}"#,
    r#"{"kind":"unserved","payload":2,"unique":{"key":"k"}}"#,
    "",
    r#"{"kind":"unserved","payload":3}"#,
    r#"{"kind":"unserved","payload":4,"queue":"full"}"#,
];

fn home() -> Home {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    home.write_config("[queue.full]\nmax_depth = 1\n");
    let _ = home.enqueue(&["unserved", "0", "--unique-key", "k"]);
    let _ = home.enqueue(&["unserved", "0", "--queue", "full"]);
    home
}

fn bulk(home: &Home, words: &[&str], lines: &[&str]) -> Answer {
    home.run_with(words, lines.join("\n").as_bytes())
}

#[test]
fn each_line_has_its_answer_in_its_place() {
    for up in [false, true] {
        let home = home();
        let _runner = up.then(|| home.start());
        let words = ["enqueue", "--bulk", "-", "-o", "json"];
        let rows = bulk(&home, &words, &LINES).exits(6).rows();
        let lines: Vec<&Value> = rows.iter().map(|row| &row["line"]).collect();
        assert_eq!(lines, [1, 2, 4, 5]);
        assert_eq!(rows[1]["error"]["code"], "duplicate");
        assert_eq!(rows[3]["error"]["code"], "queue-full");
        let id = rows[2]["id"].as_str().expect("an id");
        assert_eq!(home.job(id)["payload"], 3);
        let told = bulk(&home, &["enqueue", "--bulk", "-"], &LINES).exits(6);
        let words: Vec<String> = told.text().lines().map(str::to_owned).collect();
        let is_id = words.iter().map(|word| word.len() == 26);
        assert_eq!(is_id.collect::<Vec<_>>(), [true, false, true, false]);
        assert_eq!((&*words[1], &*words[3]), ("-", "-"));
        for word in [
            "line 2 was",
            "line 5 was",
            "2 of 4 jobs enqueued, 2 refused",
        ] {
            assert!(told.stderr.contains(word), "{word}: {}", told.stderr);
        }
        let none = bulk(&home, &["enqueue", "--bulk", "-"], &LINES[1..2]);
        let _ = none.exits(1);
    }
}

#[test]
fn every_line_that_is_not_right_is_told_and_nothing_is_enqueued() {
    let home = home();
    let lines = [
        LINES[0],
        r#"{"kind":"unserved","priority":"high"}"#,
        r#"{"kind":"two words"}"#,
        r#"{"kind":"unserved","payload_text":"no json","unique":{"by":["a"]}}"#,
        "{",
    ];
    let refused = bulk(&home, &["enqueue", "--bulk", "-"], &lines).exits(2);
    for line in 2..=5 {
        let word = format!("line {line} ");
        assert!(refused.stderr.contains(&word), "{line}: {}", refused.stderr);
    }
    let jobs = |home: &Home| home.run(&["job", "ls", "-o", "json"]).exits(0).rows().len();
    assert_eq!(jobs(&home), 2);
    let runner = home.start();
    let http = Http::new(runner.http());
    let right = json!({ "kind": "unserved" });
    for (bad, code) in [
        (json!({ "kind": "two words" }), "invalid"),
        (
            json!({ "kind": "unserved", "unique": { "key": "" } }),
            "invalid",
        ),
        (json!({ "kind": "unserved", "of": 1 }), "bad-request"),
    ] {
        let body = json!({ "jobs": [right, bad, right, { "kind": "" }] });
        let reply = http.post("/api/v1/jobs/bulk", &body);
        assert_eq!(reply.problem(), code, "{}", reply.text());
        for place in ["jobs[1]", "jobs[3]", "Nothing was enqueued"] {
            assert!(reply.text().contains(place), "{place}: {}", reply.text());
        }
    }
    assert_eq!(jobs(&home), 2);
    // What is refused for the sake of what is there stands in its place.
    let unique = json!({ "kind": "unserved", "unique": { "key": "k" } });
    let body = json!({ "jobs": [unique, right] });
    let answers = http.post("/api/v1/jobs/bulk", &body).is(200).json();
    assert_eq!(answers["jobs"][0]["error"]["code"], "duplicate");
    assert!(answers["jobs"][1]["id"].is_string());
}

#[test]
fn a_batch_that_not_all_went_into_stays_open_and_says_how_to_go_on() {
    let home = home();
    let told = bulk(&home, &["batch", "enqueue", "-"], &LINES).exits(6);
    let batches = home.run(&["batch", "ls", "-o", "json"]).exits(0).rows();
    let (id, status) = (
        batches[0]["id"].as_str().expect("an id"),
        &batches[0]["status"],
    );
    assert_eq!(
        (status, &batches[0]["jobs"]["total"]),
        (&json!("open"), &json!(2))
    );
    for word in [
        "2 of 4 jobs enqueued",
        &format!("batch {id} is open"),
        &format!("enqueue --bulk FILE --batch {id}"),
        &format!("batch seal {id}"),
        &format!("batch cancel {id}"),
    ] {
        assert!(told.stderr.contains(word), "{word}: {}", told.stderr);
    }
}

#[test]
fn a_job_that_was_there_stays_out_of_the_batch_and_everyone_hears_of_it() {
    let home = home();
    let open = || home.run(&["batch", "open"]).exits(0).text();
    let (batch, other) = (open(), open());
    let keep = ["--unique-key", "k", "--on-conflict", "keep"];
    let words = [&["enqueue", "unserved", "0", "--batch", &batch], &keep[..]].concat();
    let told = home.run(&words).exits(0);
    let says = format!("it is in no batch, and batch {batch} goes on without it");
    assert!(told.stderr.contains(&says), "{}", told.stderr);
    let json = home.json(&words);
    assert_eq!(
        (&json["existing"], &json["batch"]),
        (&json!(true), &Value::Null)
    );

    let named = ["--idempotency-key", "order-1"];
    let within = |batch: &str| {
        let words = [&["enqueue", "unserved", "1", "--batch", batch], &named[..]].concat();
        home.run(&[&words, &["-o", "json"][..]].concat()).exits(0)
    };
    let first = within(&batch).json();
    assert_eq!(
        (&first["existing"], &first["batch"]),
        (&json!(false), &json!(batch))
    );
    // Told again it is where it was wished.
    let again = within(&batch);
    assert_eq!(
        (&again.json()["batch"], again.stderr.contains("without it")),
        (&json!(batch), false)
    );
    let elsewhere = within(&other);
    assert_eq!(elsewhere.json()["batch"], json!(batch));
    let says = format!("it stays in batch {batch}, and batch {other} goes on without it");
    assert!(elsewhere.stderr.contains(&says), "{}", elsewhere.stderr);

    let line = r#"{"kind":"unserved","payload":1,"unique":{"key":"k","on_conflict":"keep"}}"#;
    let words = ["enqueue", "--bulk", "-", "--batch", &batch];
    let told = bulk(&home, &words, &[line, LINES[0]]).exits(0);
    let says = "1 job enqueued, 1 was there before and 1 of those was not in the batch";
    assert!(told.stderr.contains(says), "{}", told.stderr);

    let runner = home.start();
    let http = Http::new(runner.http());
    let body =
        json!({ "kind": "unserved", "payload": 1, "idempotency_key": "order-1", "batch": other });
    let answer = http.post("/api/v1/jobs", &body).is(200).json();
    assert_eq!(
        (&answer["existing"], &answer["batch"]),
        (&json!(true), &json!(batch))
    );
    let body = json!({ "kind": "unserved", "payload": 2, "batch": other });
    let answer = http.post("/api/v1/jobs", &body).is(201).json();
    assert_eq!(answer["batch"], json!(other));
}
