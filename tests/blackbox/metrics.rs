//! What a scrape says, and that what is made for it names only what there is.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use sandhog_kit::{Home, Http, wait};

use crate::SANDHOG;

const SOON: Duration = Duration::from_secs(30);

/// Each sample with its labels, and its value. Lines that are none of the format's are a failure.
fn samples(text: &str) -> BTreeMap<String, f64> {
    assert!(text.ends_with("# EOF\n"), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        let plain = name.split('{').next().unwrap_or_default();
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        assert!(
            plain.chars().all(is_name) && plain.starts_with("sandhog_"),
            "{line}"
        );
        (name.to_owned(), value.parse().expect("a number"))
    };
    lines.map(sample).collect()
}

#[test]
fn a_scrape_counts_what_happened() {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    home.write_config(
        "[queue.few]\nmax_depth = 1\n[cron.tick]\nschedule = \"* * * * * *\"\nkind = \"echo\"\nqueue = \"ticks\"\n",
    );
    let runner = home.start();
    let http = Http::new(runner.http());
    let look = || samples(&http.get("/metrics").text());
    for _ in 0..3 {
        let _ = home.run(&["enqueue", "echo", "x", "--wait"]).exits(0);
    }
    let id = home.enqueue(&["divide", "x", "--max-attempts", "1", "--queue", "elsewhere"]);
    let _ = home.job_in(&id, "dead");
    let _ = home.enqueue(&["echo", "x", "--queue", "few", "--in", "1h"]);
    let _ = home
        .run(&["enqueue", "echo", "x", "--queue", "few"])
        .exits(1);
    // The same told again is no refusal, and a second one with the key of a unique job may be.
    for _ in 0..3 {
        let again = [
            "enqueue",
            "echo",
            "x",
            "--queue",
            "many",
            "--idempotency-key",
            "k",
        ];
        let _ = home.run(&again).exits(0);
    }
    let unique = |on: &str| {
        let words = [
            "enqueue",
            "echo",
            "x",
            "--in",
            "1h",
            "--unique",
            "--on-conflict",
            on,
        ];
        home.run(&[&words[..], &["--queue", "many"]].concat())
    };
    let _ = unique("keep").exits(0);
    let _ = unique("keep").exits(0);
    let _ = unique("reject").exits(1);
    let denied = home.enqueue(&["fetch", "x", "--header", "url=http://127.0.0.1:9/"]);
    let _ = home.job_in(&denied, "completed");
    let seen = wait::until("a slot to get its job", SOON, || {
        let seen = look();
        (seen["sandhog_cron_lag_seconds_count"] >= 1.0).then_some(seen)
    });
    counted(&seen);
    let is_told = |name: &String| name.contains("kept-existing");
    assert!(!seen.keys().any(is_told), "{seen:#?}");
    something_of_all(&seen);
    let _ = home.run(&["worker", "quiet"]).exits(0);
    assert_eq!(look()["sandhog_claiming"], 0.0);
}

#[test]
fn a_job_is_waited_for_from_when_it_could_have_begun() {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    let runner = home.start();
    let http = Http::new(runner.http());
    let id = home.enqueue(&["permanent", "x", "--at", "2020-01-01T00:00:00Z"]);
    let _ = home.job_in(&id, "dead");
    let _ = home.run(&["dead", "retry", &id]).exits(0);
    let count = "sandhog_queue_latency_seconds_count{queue=\"default\"}";
    let seen = wait::until("a second first attempt", SOON, || {
        let seen = samples(&http.get("/metrics").text());
        (seen[count] == 2.0).then_some(seen)
    });
    let waited = seen["sandhog_queue_latency_seconds_sum{queue=\"default\"}"];
    assert!(waited < 60.0, "{waited} s");
}

fn counted(seen: &BTreeMap<String, f64>) {
    for (name, value) in [
        ("sandhog_jobs_enqueued_total{queue=\"default\"}", 4.0),
        ("sandhog_jobs_enqueued_total{queue=\"few\"}", 1.0),
        ("sandhog_jobs_enqueued_total{queue=\"other\"}", 1.0),
        ("sandhog_enqueue_refusals_total{reason=\"queue-full\"}", 1.0),
        ("sandhog_enqueue_refusals_total{reason=\"duplicate\"}", 1.0),
        ("sandhog_enqueue_kept_total", 3.0),
        ("sandhog_attempts_total{kind=\"divide\"}", 1.0),
        (
            "sandhog_attempt_failures_total{failure=\"trap:divide-by-zero\"}",
            1.0,
        ),
        (
            "sandhog_attempt_duration_seconds_count{kind=\"divide\"}",
            1.0,
        ),
        ("sandhog_jobs_ended_total{state=\"dead\"}", 1.0),
        ("sandhog_denials_total{capability=\"http\"}", 1.0),
        ("sandhog_jobs{state=\"scheduled\"}", 2.0),
        ("sandhog_queue_jobs{queue=\"few\",state=\"scheduled\"}", 1.0),
        ("sandhog_queue_latency_seconds_count{queue=\"other\"}", 1.0),
        ("sandhog_dead_letters", 1.0),
        ("sandhog_plugins", 1.0),
        ("sandhog_store_poisoned", 0.0),
        ("sandhog_claiming", 1.0),
    ] {
        // The schedule's jobs are others of `other`.
        let found = seen.get(name).copied().unwrap_or(-1.0);
        let is_other = name.contains("other");
        assert!(
            found == value || is_other && found >= value,
            "{name} is {found}: {seen:#?}"
        );
    }
}

fn something_of_all(seen: &BTreeMap<String, f64>) {
    for name in [
        "sandhog_log_sync_seconds_count",
        "sandhog_log_sync_records_sum",
        "sandhog_attempt_peak_memory_bytes_sum",
        "sandhog_process_resident_memory_bytes",
        "sandhog_process_cpu_seconds",
        "sandhog_slots",
    ] {
        assert!(seen[name] > 0.0, "{name}: {seen:#?}");
    }
}

/// What a rate sees the first of: it is there before that happens.
#[test]
fn what_has_a_name_is_counted_from_zero() {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    let runner = home.start();
    let first = samples(&Http::new(runner.http()).get("/metrics").text());
    for name in [
        "sandhog_enqueue_kept_total",
        "sandhog_enqueue_refusals_total{reason=\"disk-full\"}",
        "sandhog_enqueue_refusals_total{reason=\"duplicate\"}",
        "sandhog_attempt_failures_total{failure=\"trap:divide-by-zero\"}",
        "sandhog_attempt_failures_total{failure=\"timeout\"}",
        "sandhog_attempt_outcomes_total{outcome=\"permanent\"}",
        "sandhog_jobs_ended_total{state=\"dead\"}",
        "sandhog_denials_total{capability=\"signing\"}",
    ] {
        assert_eq!(first.get(name), Some(&0.0), "{name}: {first:#?}");
    }
}

#[test]
fn rules_and_the_dashboard_ask_for_metrics_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("a file of the tree");
    let page = read("docs/metrics.md");
    let known: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `sandhog_"))
        .filter_map(|line| line.split('`').next())
        .collect();
    assert!(known.len() > 30);
    for file in [
        "deploy/prometheus-rules.yml",
        "deploy/grafana-dashboard.json",
    ] {
        let text = read(file);
        let mut asked = 0;
        for rest in text.split("sandhog_").skip(1) {
            let end = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
            let name = &rest[..end.unwrap_or(rest.len())];
            let plain = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|part| name.strip_suffix(part));
            assert!(
                known.contains(&plain.unwrap_or(name)),
                "{file} asks for sandhog_{name}"
            );
            asked += 1;
        }
        assert!(asked > 5, "{file}");
    }
    let dashboard: serde_json::Value =
        serde_json::from_str(&read("deploy/grafana-dashboard.json")).expect("JSON");
    assert!(
        dashboard["panels"]
            .as_array()
            .is_some_and(|panels| panels.len() > 8)
    );
}
