//! Batches: from a file or one by one, ended, called off, and over a kill.

use sandhog_kit::{Home, wait};
use serde_json::Value;
use std::time::Duration;

use crate::SANDHOG;

/// Longest wait for a batch.
const BOUND: Duration = Duration::from_secs(60);

fn home() -> Home {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[limits]\ntimeout = \"1h\"\n");
    home
}

fn show(home: &Home, id: &str) -> Value {
    home.run(&["batch", "show", id, "-o", "json"])
        .exits(0)
        .json()
}

fn members(home: &Home, id: &str) -> Vec<String> {
    let words = ["job", "ls", "--batch", id, "-o", "json"];
    let rows = home.run(&words).exits(0).rows();
    let id = |row: &Value| row["id"].as_str().unwrap_or_default().to_owned();
    rows.iter().map(id).collect()
}

/// The job that follows a batch, once it ran.
fn followed(home: &Home, id: &str, on: &str) -> Value {
    let of = || show(home, id)[on].clone();
    wait::until("the end of the batch", BOUND, || {
        (!of()["enqueued_at"].is_null()).then_some(())
    });
    home.job_in(of()["job"].as_str().unwrap(), "completed")
}

#[test]
fn a_file_of_jobs_is_a_batch_that_is_followed_once_over_a_kill() {
    let home = home();
    let lines: String = (0..40)
        .map(|n| format!("{{\"kind\":\"echo\",\"payload\":{n}}}\n"))
        .collect();
    let file = home.data().with_file_name("jobs.ndjson");
    std::fs::write(&file, lines).unwrap();
    let words = [
        "batch",
        "enqueue",
        file.to_str().unwrap(),
        "--name",
        "import",
        "--on-success",
        "echo={\"then\":\"mail\"}",
        "--on-complete",
        "echo",
    ];
    let ids = home.run(&words).exits(0);
    let id = ids
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("batch "));
    let id = id.expect("it says which").to_owned();
    assert_eq!(members(&home, &id).len(), 40);
    let before = show(&home, &id);
    assert_eq!(
        (&before["status"], &before["name"]),
        (&"sealed".into(), &"import".into())
    );
    let runner = home.start();
    let some = ids.text().lines().next().unwrap().to_owned();
    let _ = home.job_in(&some, "completed");
    runner.kill9();
    let _runner = home.start();
    let success = followed(&home, &id, "on_success");
    let told = &success["payload"];
    assert_eq!(
        (&told["total"], &told["completed"]),
        (&40.into(), &40.into())
    );
    assert_eq!(
        (&told["batch"], &told["payload"]["then"]),
        (&id.clone().into(), &"mail".into())
    );
    let complete = followed(&home, &id, "on_complete");
    assert_eq!(complete["payload"]["event"], "complete");
    assert_eq!(complete["payload"]["payload"], Value::Null);
    assert_eq!(show(&home, &id)["status"], "ended");
    let rows = home.run(&[
        "job", "ls", "--kind", "echo", "--limit", "100", "-o", "json",
    ]);
    assert_eq!(rows.exits(0).rows().len(), 42, "each is there once");
    let listed = home.run(&["batch", "ls"]).exits(0).text();
    assert!(
        listed.contains("import") && listed.contains(&id),
        "{listed}"
    );
    assert_eq!(home.job(&some)["batch"], id);
}

#[test]
fn a_batch_that_is_called_off_asks_what_runs_and_tells_how_many_it_was() {
    let home = home();
    let opened = home.run(&[
        "batch",
        "open",
        "--on-complete",
        "echo",
        "--on-success",
        "echo",
    ]);
    let id = opened.exits(0).text();
    let put = |words: &[&str]| home.enqueue(&[words, &["--batch", &id]].concat());
    let runs = put(&["heed", "x"]);
    let waits = put(&["echo", "x", "--in", "1h"]);
    let dead = put(&["panic", "x", "--max-attempts", "1"]);
    let _runner = home.start();
    let _ = home.job_in(&runs, "running");
    let _ = home.job_in(&dead, "dead");
    let words = ["batch", "cancel", &id, "--reason", "no use", "--by", "ada"];
    assert_eq!(home.run(&words).exits(0).text(), format!("{id} cancelled"));
    assert_eq!(home.job(&waits)["cancel"]["reason"], "no use");
    let complete = followed(&home, &id, "on_complete");
    let told = &complete["payload"];
    // The one that ran may have ended by itself with a result.
    assert_eq!((&told["total"], &told["dead"]), (&3.into(), &1.into()));
    let ended = told["cancelled"].as_u64().unwrap() + told["completed"].as_u64().unwrap();
    assert_eq!(ended, 2);
    assert_eq!(show(&home, &id)["on_success"]["enqueued_at"], Value::Null);
    let again = home.run(&["batch", "cancel", &id]).exits(0).text();
    assert_eq!(again, format!("{id} cancelled already"));
    let over = home.run(&["batch", "seal", &id]).exits(1).stderr;
    assert!(over.contains("it was called off"), "{over}");
    let refused = home.run(&["enqueue", "echo", "x", "--batch", &id]).exits(1);
    assert!(
        refused.stderr.contains("was called off"),
        "{}",
        refused.stderr
    );
    let shown = home.run(&["batch", "show", &id]).exits(0).text();
    assert!(shown.contains("cancelled by ada: no use"), "{shown}");
}

#[test]
fn what_is_wrong_with_a_batch_is_told() {
    let home = home();
    let refused = home.run(&["batch", "open", "--on-success", "echo=not json"]);
    let refused = refused.exits(2).stderr;
    assert!(refused.contains("is no JSON"), "{refused}");
    let unknown = "0000000000000000000000000Z";
    for words in [
        &["batch", "show", unknown][..],
        &["batch", "seal", unknown],
        &["batch", "cancel", unknown],
        &["enqueue", "echo", "x", "--batch", unknown],
    ] {
        let missing = home.run(words).exits(4).stderr;
        assert!(missing.contains("no batch"), "{missing}");
    }
    // No runner is needed for the empty one: what follows waits for one.
    let id = home.run(&["batch", "open", "--on-complete", "echo", "-o", "json"]);
    let id = id.exits(0).json()["id"].as_str().unwrap().to_owned();
    let sealed = home
        .run(&["batch", "seal", &id, "-o", "json"])
        .exits(0)
        .json();
    assert_eq!(sealed[0]["status"], "ended");
    for verb in ["seal", "cancel"] {
        let over = home.run(&["batch", verb, &id]).exits(1).stderr;
        let says = format!("cannot {verb} batch {id}: it has ended");
        assert!(over.contains(&says), "{over}");
    }
    let closed = home.run(&["enqueue", "echo", "x", "--batch", &id]).exits(1);
    assert!(closed.stderr.contains("is sealed"), "{}", closed.stderr);
    let _runner = home.start();
    let complete = followed(&home, &id, "on_complete");
    assert_eq!(complete["payload"]["total"], 0);
}

/// With next to nothing kept, a batch is there for those who ask when it ended, and what was called off is not
/// brought back because its batch is forgotten.
#[test]
fn a_batch_outlives_the_question_for_it_and_one_called_off_outlives_its_jobs() {
    let home = home();
    home.write_config("[store]\nmax_completed = 0\n");
    let _runner = home.start();
    let open = || {
        let opened = home.run(&["batch", "open", "--on-complete", "echo", "-o", "json"]);
        let opened = opened.exits(0).json();
        opened["id"].as_str().expect("an id").to_owned()
    };

    let ended = open();
    let _ = home.enqueue(&["echo", "1", "--batch", &ended]);
    let _ = home.run(&["batch", "seal", &ended]).exits(0);
    wait::until("the batch to be shown as ended", BOUND, || {
        (show(&home, &ended)["status"] == "ended").then_some(())
    });

    let off = open();
    let member = home.enqueue(&["echo", "1", "--in", "1h", "--batch", &off]);
    let fails = home.enqueue(&["permanent", "1", "--batch", &off]);
    let _ = home.job_in(&fails, "dead");
    let told = home.run(&["batch", "cancel", &off, "-o", "json"]).exits(0);
    assert!(told.text().contains(&off), "{}", told.text());
    for id in [&member, &fails] {
        let refused = home.run(&["job", "retry", id]);
        assert!(refused.stderr.contains("called off"), "{}", refused.stderr);
    }
    // The letter alone is left when the rest is forgotten, and the batch with it.
    wait::until("what was called off to be forgotten", BOUND, || {
        home.run(&["job", "show", &member])
            .code
            .eq(&4)
            .then_some(())
    });
    let refused = home.run(&["dead", "retry", &fails]);
    assert!(refused.stderr.contains("called off"), "{}", refused.stderr);

    // Of a choice those are counted that were changed.
    let chosen = home.run(&["job", "retry", "--state", "dead", "--kind", "permanent"]);
    assert!(
        chosen.stderr.contains("0 jobs retried"),
        "{}",
        chosen.stderr
    );
}
