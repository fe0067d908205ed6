//! T36: a plugin that is replaced again and again while its jobs run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::Write,
    time::Duration,
};

use sandhog_kit::{Home, component::handler, long, wait};
use serde_json::Value;

use crate::SANDHOG;

const SOON: Duration = Duration::from_secs(30);

/// A version of the plugin.
fn version(number: usize) -> Vec<u8> {
    // Some work, so that jobs are running at any time.
    let fields = "(func $spin (local i32) (loop $l (local.set 0 (i32.add (local.get 0) (i32.const 1))) (br_if $l (i32.lt_u (local.get 0) (i32.const 200000)))))";
    let text = handler("work", "(call $spin)", fields, &format!("v{number}"));
    wat::parse_str(text).expect("a component's text")
}

fn row(home: &Home, status: &str) -> Option<Value> {
    let rows = home.run(&["plugin", "ls", "-o", "json"]).exits(0).rows();
    rows.into_iter().find(|row| row["status"] == status)
}

/// Waits until a version is served; its digest.
fn served(home: &Home, number: usize) -> String {
    let mark = format!("v{number}");
    wait::until(&format!("{mark} to be served"), SOON, || {
        let row = row(home, "ok")?;
        (row["kinds"][0]["summary"] == mark.as_str())
            .then(|| row["digest"].as_str().map(str::to_owned))?
    })
}

/// Puts a version in place, in one of the ways that people do.
fn replace(home: &Home, number: usize) {
    let place = home.plugins().join("worker.wasm");
    let bytes = version(number);
    match number % 3 {
        0 => {
            let passing = home.folder().join("passing");
            fs::write(&passing, &bytes).expect("a file");
            fs::rename(passing, &place).expect("a rename");
        }
        1 => {
            let mut file = File::create(&place).expect("the file itself");
            let (first, rest) = bytes.split_at(bytes.len() / 2);
            file.write_all(first).expect("half of it");
            file.write_all(rest).expect("the rest");
        }
        _ => {
            fs::write(&place, &bytes[..bytes.len() / 3]).expect("a part of it");
            wait::until("the part to be refused", SOON, || row(home, "unusable"));
            fs::write(&place, &bytes).expect("all of it");
        }
    }
}

#[test]
fn t36_replaced_again_and_again_while_jobs_run() {
    let home = Home::new(SANDHOG);
    let (replacements, each) = if long() { (200, 10) } else { (24, 25) };
    fs::write(home.plugins().join("worker.wasm"), version(0)).expect("a file");
    let runner = home.start();
    let mut digests = BTreeSet::from([served(&home, 0)]);
    let mut jobs = Vec::new();
    let mut warm = 0;
    for number in 1..=replacements {
        let lines = "{\"payload\":1}\n".repeat(each);
        let bulk = home.folder().join("bulk.ndjson");
        fs::write(&bulk, lines).expect("a file");
        let bulk = bulk.to_str().expect("UTF-8");
        let ids = home
            .run(&["enqueue", "work", "--bulk", bulk, "-o", "json"])
            .exits(0);
        jobs.extend(ids.rows().iter().map(|row| row["id"].clone()));
        replace(&home, number);
        digests.insert(served(&home, number));
        if number == replacements / 4 {
            warm = runner.resident_kib();
        }
    }
    assert_eq!(digests.len(), replacements + 1);
    wait::until("all jobs to end", SOON * 4, || {
        let open = |state: &&str| {
            let rows = home.run(&["job", "ls", "--state", state, "--limit", "1", "-o", "json"]);
            !rows.exits(0).rows().is_empty()
        };
        (!["available", "running", "retryable", "scheduled"]
            .iter()
            .any(open))
        .then_some(())
    });
    // Before the rows are asked for: an answer with all of them is large.
    let end = runner.resident_kib();
    let grown = end.saturating_sub(warm);
    // The jobs themselves are kept, and the heap grows by a few MiB at a time.
    assert!(
        grown < warm / 10 + (4 << 10),
        "the runner grew by {grown} KiB from {warm} KiB"
    );
    let (rows, _) = home.walk(&["job", "ls"], "500");
    let done: BTreeMap<&str, &Value> = (rows.iter())
        .map(|row| (row["id"].as_str().expect("an id"), row))
        .collect();
    assert_eq!(jobs.len(), replacements * each);
    let mut ran = BTreeSet::new();
    for job in &jobs {
        let id = job.as_str().expect("an id");
        let row = done.get(id).unwrap_or_else(|| panic!("job {id} is lost"));
        assert_eq!(
            (&row["state"], &row["attempt"]),
            (&"completed".into(), &1.into()),
            "{row}"
        );
        let digest = row["digest"].as_str().expect("a digest");
        assert!(digests.contains(digest), "{row} ran what was never served");
        ran.insert(digest.to_owned());
    }
    if std::env::var_os("SANDHOG_TABLE").is_some() {
        println!(
            "T36: {replacements} replacements, {} jobs by {} versions, resident {warm} → {end} KiB",
            jobs.len(),
            ran.len()
        );
    }
}
