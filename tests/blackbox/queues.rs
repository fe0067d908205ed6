//! Queues that are paused, drained, bounded and shared; jobs that are unique, named, or too late.

use std::time::Duration;

use sandhog_kit::{Home, wait};
use serde_json::Value;

use crate::SANDHOG;

/// Longest wait for a state.
const BOUND: Duration = Duration::from_secs(60);

fn home(config: &str) -> Home {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config(config);
    home
}

/// A queue as `queue ls` shows it.
fn queue(home: &Home, name: &str) -> Value {
    let rows = home.run(&["queue", "ls", "-o", "json"]).exits(0).rows();
    let found = rows.into_iter().find(|row| row["queue"] == name);
    found.unwrap_or_else(|| panic!("queue {name} is not shown"))
}

fn states(home: &Home, ids: &[String]) -> Vec<String> {
    let state = |id: &String| {
        home.job(id)["state"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    ids.iter().map(state).collect()
}

#[test]
fn a_paused_queue_stays_so_over_a_kill_and_its_jobs_run_once_it_is_resumed() {
    let home = home("");
    let runner = home.start();
    let paused = home.run(&["queue", "pause", "slow", "--by", "ada"]);
    assert_eq!(paused.exits(0).text(), "slow paused");
    let held = home.enqueue(&["echo", "x", "--queue", "slow"]);
    let beside = home.enqueue(&["echo", "y"]);
    let _ = home.job_in(&beside, "completed");
    runner.kill9();
    // Without a runner it can be seen, and said.
    assert_eq!(queue(&home, "slow")["mode"], "paused");
    let drained = home.run(&["queue", "drain", "other", "-o", "json"]);
    assert_eq!(drained.exits(0).json()[0]["mode"], "draining");
    let _runner = home.start();
    let beside = home.enqueue(&["echo", "z"]);
    let _ = home.job_in(&beside, "completed");
    assert_eq!(home.job(&held)["state"], "available");
    let refused = home.run(&["enqueue", "echo", "x", "--queue", "other"]);
    let refused = refused.exits(1);
    assert!(
        refused.stderr.contains("queue resume other"),
        "{}",
        refused.stderr
    );
    let _ = home.run(&["queue", "resume", "slow", "other"]).exits(0);
    let _ = home.job_in(&held, "completed");
    let taken = home.enqueue(&["echo", "x", "--queue", "other"]);
    let _ = home.job_in(&taken, "completed");
}

#[test]
fn as_many_run_as_a_limit_lets_and_the_next_begins_within_a_second() {
    let home = home(
        "[limits]\ntimeout = \"1h\"\n[runner]\nworkers = 2\nslots = 4\n\
         [queue.one]\nconcurrency = 1\n[queue.each]\ngroup_concurrency = 1\n",
    );
    let runner = home.start();
    let heed =
        |queue: &str, group: &str| home.enqueue(&["heed", "x", "--queue", queue, "--group", group]);
    let [first, second] = [heed("one", "a"), heed("one", "a")];
    let each = [heed("each", "a"), heed("each", "a"), heed("each", "b")];
    let _ = home.job_in(&first, "running");
    let _ = home.job_in(&each[0], "running");
    let _ = home.job_in(&each[2], "running");
    assert_eq!(
        states(&home, &[second.clone(), each[1].clone()]),
        ["available"; 2]
    );
    let limits = home.run(&["limit", "ls", "-o", "json"]).exits(0).rows();
    let names: Vec<&Value> = limits.iter().map(|row| &row["queue"]).collect();
    assert_eq!(names, ["each", "one"]);
    // A place that is freed by a kill is taken at once.
    for (ends, begins) in [(&first, &second), (&each[0], &each[1])] {
        let _ = home.run(&["job", "kill", ends]).exits(0);
        let ended = sandhog_kit::millis(&home.job_in(ends, "cancelled")["at"]);
        let began = sandhog_kit::millis(&home.job_in(begins, "running")["at"]);
        assert!(began - ended < 1_000, "{} ms", began - ended);
    }
    // More may run from now on, after a restart too.
    let third = heed("one", "a");
    let set = home.run(&["limit", "set", "one", "--concurrency", "2"]);
    assert_eq!(set.exits(0).text(), "one concurrency 2");
    let _ = home.job_in(&third, "running");
    runner.kill9();
    let _runner = home.start();
    let _ = home.job_in(&second, "running");
    let _ = home.job_in(&third, "running");
    assert_eq!(queue(&home, "one")["limits"]["concurrency"], 2);
    let reset = home.run(&["limit", "reset", "one"]).exits(0);
    assert_eq!(reset.text(), "one concurrency 1");
}

#[test]
fn a_rate_and_a_depth_hold() {
    let home = home("[queue.few]\nrate = \"4/2s burst 1\"\nmax_depth = 3\n");
    let enqueue = |n: &str| home.run(&["enqueue", "echo", n, "--queue", "few"]);
    let ids: Vec<String> = ["1", "2", "3"].map(|n| enqueue(n).exits(0).text()).into();
    let refused = enqueue("4").exits(1).stderr;
    for word in ["queue few is full", "3 jobs", "max_depth", "[queue.few]"] {
        assert!(refused.contains(word), "{word}: {refused}");
    }
    let _runner = home.start();
    let mut starts: Vec<i64> = Vec::new();
    for id in &ids {
        let job = home.job_in(id, "completed");
        starts.push(sandhog_kit::millis(&job["attempts"][0]["started_at"]));
    }
    starts.sort_unstable();
    for pair in starts.windows(2) {
        let apart = pair[1] - pair[0];
        assert!((499..1_500).contains(&apart), "{apart} ms apart of 500");
    }
    let _ = enqueue("4").exits(0);
}

#[test]
fn a_heavier_queue_has_a_larger_share_and_one_in_order_comes_first() {
    let home = home(
        "[runner]\nworkers = 1\nslots = 1\n[queue.heavy]\nweight = 3\n[queues]\nfirst = [\"urgent\"]\n",
    );
    let mut all = Vec::new();
    for _ in 0..12 {
        all.push(home.enqueue(&["echo", "x", "--queue", "heavy"]));
        all.push(home.enqueue(&["echo", "x", "--queue", "light"]));
    }
    let urgent = home.enqueue(&["echo", "x", "--queue", "urgent"]);
    let _runner = home.start();
    let mut runs: Vec<(i64, String)> = Vec::new();
    for id in all.iter().chain([&urgent]) {
        let job = home.job_in(id, "completed");
        let token = sandhog_kit::millis(&job["attempts"][0]["started_at"]);
        runs.push((token, job["queue"].as_str().unwrap_or_default().to_owned()));
    }
    runs.sort();
    assert_eq!(runs[0].1, "urgent");
    let early = runs[1..13].iter().filter(|(_, queue)| queue == "heavy");
    let count = early.count();
    assert!((8..=10).contains(&count), "{count} of 12 were heavy");
}

#[test]
fn a_unique_job_is_there_once_until_it_ended() {
    let home = home("");
    let by_user = |payload: &str, more: &[&str]| {
        let mut words = vec!["enqueue", "echo", payload, "--unique-by", "user.id"];
        words.extend_from_slice(more);
        home.run(&words)
    };
    let id = by_user(r#"{"user": {"id": 7}, "n": 1}"#, &[])
        .exits(0)
        .text();
    let refused = by_user(r#"{"n": 2, "user": {"name": "ada", "id": 7}}"#, &[]);
    let refused = refused.exits(1).stderr;
    assert!(refused.contains(&id), "{refused}");
    let kept = by_user(
        r#"{"user": {"id": 7}}"#,
        &["--on-conflict", "keep", "-o", "json"],
    );
    let kept = kept.exits(0).json();
    assert_eq!(
        (&kept["id"], &kept["existing"]),
        (&id.as_str().into(), &true.into())
    );
    let _ = by_user(r#"{"user": {"id": 8}}"#, &[]).exits(0);
    let _ = by_user("no json", &[]).exits(2);
    let locks = home.run(&["unique", "ls", "-o", "json"]).exits(0).rows();
    let mine = locks.iter().find(|row| row["id"] == id.as_str());
    assert_eq!(mine.expect("it is listed")["says"], "user.id=7");
    let released = home.run(&["unique", "release", &id]).exits(0);
    assert_eq!(released.text(), format!("{id} released"));
    let next = by_user(r#"{"user": {"id": 7}}"#, &[]).exits(0).text();
    let _runner = home.start();
    for id in [&id, &next] {
        let _ = home.job_in(id, "completed");
    }
    wait::until("the other to end", BOUND, || {
        let locks = home.run(&["unique", "ls", "-o", "json"]).exits(0).rows();
        locks.is_empty().then_some(())
    });
    let again = by_user(r#"{"user": {"id": 7}}"#, &[]).exits(0).text();
    let _ = home.job_in(&again, "completed");
}

#[test]
fn an_answer_says_which_job_was_replaced_and_when_one_that_was_put_off_is_due() {
    let home = Home::new(SANDHOG);
    let enqueue = |rest: &[&str]| {
        let mut words = vec!["enqueue", "echo", "1", "--unique", "-o", "json"];
        words.extend(rest);
        home.run(&words).exits(0)
    };
    let first = enqueue(&[]);
    assert!(first.json().get("replaced").is_none(), "{}", first.text());
    let first = first.json()["id"].as_str().unwrap().to_owned();
    let second = enqueue(&["--on-conflict", "replace"]);
    assert_eq!(second.json()["replaced"], first.as_str());
    let says = format!("job {first} is cancelled: this one takes its place");
    assert!(second.stderr.contains(&says), "{}", second.stderr);
    let at = "2099-01-31T08:00:00.000Z";
    let put_off = enqueue(&["--on-conflict", "debounce", "--at", at]);
    let answer = put_off.json();
    assert_eq!(answer["id"], second.json()["id"]);
    assert_eq!(
        (&answer["existing"], &answer["due"]),
        (&true.into(), &at.into())
    );
    let says = format!("due at {at} now");
    assert!(put_off.stderr.contains(&says), "{}", put_off.stderr);
    let line = "{\"kind\":\"echo\",\"payload\":1,\"unique\":{\"on_conflict\":\"replace\"}}";
    let many = home.run_with(&["enqueue", "--bulk", "-"], line.as_bytes());
    let told = "1 job enqueued, 1 in the place of another";
    assert!(many.stderr.contains(told), "{}", many.stderr);
}

#[test]
fn the_same_idempotency_key_gives_the_same_job_over_a_kill() {
    let home = home("");
    let runner = home.start();
    let order = |kind: &str, key: &str| {
        let answer = home.run(&["enqueue", kind, "x", "--idempotency-key", key, "-o", "json"]);
        answer.exits(0).json()
    };
    let first = order("echo", "order-7");
    assert_eq!(first["existing"], false);
    let id = first["id"].as_str().expect("an id").to_owned();
    let _ = home.job_in(&id, "completed");
    runner.kill9();
    let _runner = home.start();
    let second = order("echo", "order-7");
    assert_eq!(
        (&second["id"], &second["existing"]),
        (&first["id"], &true.into())
    );
    assert_ne!(order("echo", "order-8")["id"], first["id"]);
    assert_ne!(order("flaky", "order-7")["id"], first["id"]);
}

#[test]
fn a_job_that_waits_too_long_expires_with_nobody_looking() {
    let home = home("[kind.echo]\nmax_age = \"300ms\"\n");
    let runner = home.start();
    let _ = home.run(&["queue", "pause", "slow"]).exits(0);
    let of_kind = home.enqueue(&["echo", "x", "--queue", "slow"]);
    let own = home.enqueue(&["flaky", "x", "--queue", "slow", "--expires-in", "300ms"]);
    let stays = home.enqueue(&["flaky", "x", "--queue", "slow"]);
    for id in [&of_kind, &own] {
        let job = home.job_in(id, "expired");
        let late = sandhog_kit::millis(&job["at"]) - sandhog_kit::millis(&job["expires"]);
        assert!((0..2_700).contains(&late), "{late} ms late");
    }
    let listed = home.run(&["job", "ls", "--state", "expired", "-o", "json"]);
    assert_eq!(listed.exits(0).rows().len(), 2);
    let _ = home.run(&["queue", "resume", "slow"]).exits(0);
    let _ = home.job_in(&stays, "completed");
    let _ = home.run(&["job", "retry", &own]).exits(0);
    let _ = home.job_in(&own, "completed");
    assert!(runner.terminate().success());
    let past = home.run(&[
        "enqueue",
        "echo",
        "x",
        "--expires-at",
        "2020-01-01T00:00:00Z",
    ]);
    assert!(past.exits(2).stderr.contains("expires"));
}

#[test]
fn what_is_wrong_in_the_settings_of_queues_is_refused_with_its_place() {
    for (config, words) in [
        (
            "[queue.a]\nconcurrency = 0\n",
            ["queue.a.concurrency", "from 1"],
        ),
        ("[queue.a]\nrate = \"fast\"\n", ["queue.a.rate", "100/1m"]),
        (
            "[queue.a]\nweigth = 2\n",
            ["weigth", "did you mean `weight`"],
        ),
        (
            "[queues]\nfirst = [\"a b\"]\n",
            ["queues.first", "a list of queues"],
        ),
        ("[queue.\"a b\"]\nweight = 2\n", ["a b", "names no queue"]),
    ] {
        let home = home("");
        std::fs::write(home.config(), config).expect("the settings are written");
        let answer = home.run(&["config", "check"]).exits(2);
        for word in words {
            assert!(answer.stderr.contains(word), "{word}: {}", answer.stderr);
        }
    }
}
