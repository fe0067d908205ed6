//! Jobs called off: while they wait, while they run, with and without a runner, and across a crash.

use std::time::Instant;

use sandhog_kit::{Home, Receiver, millis};
use serde_json::Value;

use crate::SANDHOG;

fn home(config: &str) -> Home {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config(&format!("[limits]\ntimeout = \"1h\"\n{config}"));
    home
}

/// Milliseconds from the question to the recorded end.
fn took(job: &Value) -> i64 {
    millis(&job["at"]) - millis(&job["cancel"]["at"])
}

/// A line for the table that `SANDHOG_TABLE=1` asks for.
fn table(row: &str) {
    if std::env::var_os("SANDHOG_TABLE").is_some() {
        println!("{row}");
    }
}

#[test]
fn a_waiting_job_ends_at_once_and_stays_so_until_someone_retries_it() {
    let home = home("");
    let _runner = home.start();
    let id = home.enqueue(&["echo", "x", "--in", "1h"]);
    let words = ["job", "cancel", &id, "--reason", "not now", "--by", "ada"];
    assert_eq!(home.run(&words).exits(0).text(), format!("{id} cancelled"));
    let job = home.job(&id);
    assert_eq!(job["state"], "cancelled");
    let cancel = &job["cancel"];
    assert_eq!(
        (&cancel["how"], &cancel["by"], &cancel["reason"]),
        (&"cancel".into(), &"ada".into(), &"not now".into())
    );
    // Asked again, nothing changes: the first who asked counts.
    let again = home.run(&["job", "kill", &id, "--by", "bob", "-o", "json"]);
    assert_eq!(again.exits(0).json()[0]["state"], "cancelled");
    assert_eq!(home.job(&id)["cancel"]["by"], "ada");
    let shown = home.run(&["job", "show", &id]).exits(0).text();
    assert!(shown.contains("cancelled by ada: not now"), "{shown}");

    let _ = home.run(&["job", "retry", &id]).exits(0);
    let job = home.job_in(&id, "completed");
    assert_eq!(job["cancel"], Value::Null);
    let late = home.run(&["job", "cancel", &id]).exits(1);
    assert!(
        late.stderr
            .contains(&format!("cannot cancel job {id}: it is completed")),
        "{}",
        late.stderr
    );
}

#[test]
fn with_no_runner_up_each_id_is_answered_for_itself() {
    let home = home("");
    let first = home.enqueue(&["echo", "x"]);
    let last = home.enqueue(&["echo", "y"]);
    let unknown = "0000000000000000000000000Z";
    let answer = home.run(&["job", "cancel", &first, unknown, &last]);
    // Some were done.
    let answer = answer.exits(6);
    assert!(answer.stderr.contains(unknown), "{}", answer.stderr);
    assert_eq!(
        answer.text(),
        format!("{first} cancelled\n{last} cancelled")
    );
    let _runner = home.start();
    let beside = home.enqueue(&["echo", "z"]);
    let _ = home.job_in(&beside, "completed");
    for id in [first, last] {
        let job = home.job(&id);
        assert_eq!(
            (&job["state"], &job["attempts"]),
            (&"cancelled".into(), &Value::Array(Vec::new())),
        );
    }
}

#[test]
fn a_handler_that_is_told_may_end_by_itself() {
    let home = home("[runner]\ncancel_grace = \"1h\"\n");
    let _runner = home.start();
    let fails = home.enqueue(&["heed", "x"]);
    let succeeds = home.enqueue(&["heed", "x", "--header", "end=ok"]);
    let _ = home.job_in(&fails, "running");
    let _ = home.job_in(&succeeds, "running");
    let answer = home.run(&["job", "cancel", &fails, &succeeds, "--reason", "enough"]);
    let said = answer.exits(0).text();
    assert!(
        said.contains(&format!("{fails} running, asked to end")),
        "{said}"
    );
    // A failure that would be retried ends the job; what was finished stays true.
    let job = home.job_in(&fails, "cancelled");
    assert_eq!(
        (
            &job["attempts"][0]["failure"]["code"],
            &job["cancel"]["reason"]
        ),
        (&"told".into(), &"enough".into())
    );
    table(&format!("cancel, a handler that looks: {} ms", took(&job)));
    let job = home.job_in(&succeeds, "completed");
    assert_eq!(job["result"], "ended by itself");
}

#[test]
fn jobs_that_are_only_asked_to_end_are_counted_apart() {
    let home = home("[runner]\ncancel_grace = \"1h\"\n");
    let _runner = home.start();
    let runs = home.enqueue(&["heed", "x", "--header", "end=ok", "--tag", "red"]);
    let _waits = home.enqueue(&["unserved", "x", "--tag", "red"]);
    let _ = home.job_in(&runs, "running");
    let cancel = ["job", "cancel", "--tag", "red"];
    let dry = home.run(&[&cancel[..], &["--dry-run"]].concat()).exits(0);
    let told = "1 job would be cancelled, 1 asked to end; nothing was changed\n";
    assert_eq!(dry.stderr, told);
    let both = home.run(&cancel).exits(0);
    assert_eq!(both.stderr, "1 job cancelled, 1 asked to end\n");
}

#[test]
fn a_handler_that_waits_as_the_contract_offers_it_ends_at_once() {
    let home = home("[runner]\ncancel_grace = \"1h\"\n");
    let _runner = home.start();
    let id = home.enqueue(&["rest", "x", "--header", "ms=1800000"]);
    let _ = home.job_in(&id, "running");
    let _ = home.run(&["job", "cancel", &id]).exits(0);
    let job = home.job_in(&id, "cancelled");
    assert_eq!(job["attempts"][0]["failure"]["code"], "told", "{job}");
    assert!(took(&job) < 2_000, "ended after {} ms", took(&job));
    table(&format!(
        "cancel, in the contract's wait: {} ms",
        took(&job)
    ));
}

#[test]
fn a_request_under_way_is_given_up_when_its_job_is_called_off() {
    let receiver = Receiver::start();
    let home = home(
        "[runner]\ncancel_grace = \"1h\"\n[capabilities]\nprivate = [\"127.0.0.0/8\"]\n\
         [kind.webhook.config]\nsecret = \"none\"\n",
    );
    home.install("webhook");
    home.grant(
        "webhook",
        "[[grants.http]]\norigin = \"http://127.0.0.1:*\"\nmethods = [\"POST\"]\nprivate = true\n",
    );
    let _runner = home.start();
    for path in ["silent", "drip-head", "stall"] {
        let header = format!("url={}/{path}", receiver.origin());
        let id = home.enqueue(&["webhook", "{}", "--header", &header]);
        let _ = receiver.next();
        let _ = home.run(&["job", "cancel", &id]).exits(0);
        let job = home.job_in(&id, "cancelled");
        let failure = &job["attempts"][0]["failure"];
        assert_eq!(failure["code"], "http-cancelled", "{path}: {job}");
        assert!(took(&job) < 2_000, "{path}: ended after {} ms", took(&job));
        table(&format!("cancel, in a request ({path}): {} ms", took(&job)));
    }
}

#[test]
fn a_handler_that_does_not_listen_is_stopped_after_the_grace() {
    let home = home("[runner]\ncancel_grace = \"400ms\"\n");
    let _runner = home.start();
    let id = home.enqueue(&["loop", "x"]);
    let _ = home.job_in(&id, "running");
    let _ = home.run(&["job", "cancel", &id, "--by", "ada"]).exits(0);
    assert_eq!(home.job(&id)["cancel"]["by"], "ada", "told while it runs");
    let job = home.job_in(&id, "cancelled");
    let failure = &job["attempts"][0]["failure"];
    assert_eq!(
        (&failure["kind"], &failure["cause"]),
        (&"cancelled".into(), &"cancelled by ada".into())
    );
    assert!(took(&job) >= 400, "stopped after {} ms", took(&job));
    table(&format!("cancel, a grace of 400 ms: {} ms", took(&job)));
}

/// Kill jobs of a kind one after the other, beside one that runs through all of it.
fn kill_each(kind: &[&str], what: &str) {
    let home = home("[runner]\nworkers = 1\nslots = 4\ncancel_grace = \"1h\"\n");
    let _runner = home.start();
    let beside = home.enqueue(&["heed", "x", "--header", "end=ok"]);
    let _ = home.job_in(&beside, "running");
    let mut times = Vec::new();
    for _ in 0..5 {
        let id = home.enqueue(kind);
        let _ = home.job_in(&id, "running");
        let asked = Instant::now();
        let _ = home
            .run(&["job", "kill", &id, "--reason", "stuck"])
            .exits(0);
        let job = home.job_in(&id, "cancelled");
        let seen = asked.elapsed().as_millis();
        assert!(took(&job) < 2_000, "{what}: {} ms", took(&job));
        let failure = &job["attempts"][0]["failure"];
        assert_eq!(
            (&failure["kind"], &failure["code"]),
            (&"cancelled".into(), &"killed".into())
        );
        assert_eq!(job["cancel"]["reason"], "stuck");
        times.push((took(&job), seen));
    }
    times.sort_unstable();
    table(&format!(
        "kill in {what}: {} ms to {} ms from the question to the recorded end; seen outside after {} ms",
        times[0].0,
        times[times.len() - 1].0,
        times[times.len() / 2].1
    ));
    let _ = home.run(&["job", "cancel", &beside]).exits(0);
    let job = home.job_in(&beside, "completed");
    assert_eq!(job["attempt"], 1, "the neighbour was disturbed: {job}");
}

#[test]
fn a_kill_ends_a_tight_loop_at_once() {
    kill_each(&["loop", "x"], "a tight loop");
}

#[test]
fn a_kill_ends_a_wait_in_the_host_at_once() {
    kill_each(&["sleep", "x", "--header", "ms=600000"], "a host wait");
}

#[test]
fn a_cancel_survives_a_crash_of_the_runner() {
    let home = home("[runner]\ncancel_grace = \"1h\"\n");
    let runner = home.start();
    let id = home.enqueue(&["loop", "x"]);
    let _ = home.job_in(&id, "running");
    let _ = home
        .run(&["job", "cancel", &id, "--reason", "enough"])
        .exits(0);
    assert_eq!(home.job(&id)["state"], "running");
    runner.kill9();
    // The next to open the directory sees it ended, a runner or a command.
    let job = home.job(&id);
    assert_eq!(
        (&job["state"], &job["losses"], &job["cancel"]["reason"]),
        (&"cancelled".into(), &1.into(), &"enough".into())
    );
    let _runner = home.start();
    let beside = home.enqueue(&["echo", "z"]);
    let _ = home.job_in(&beside, "completed");
    assert_eq!(home.job(&id)["state"], "cancelled");
}
