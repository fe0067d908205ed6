//! Where things are, and how much of them is kept.

use std::{fs, path::Path, time::Duration};

use sandhog_kit::{Home, component::handler, wait};
use serde_json::Value;

use super::home;
use crate::SANDHOG;

const SOON: Duration = Duration::from_secs(30);

#[test]
fn paths_are_relative_to_the_file() {
    let home = home("[runner]\ndata = \"kept/here\"\nplugins = \"code\"\n");
    fs::rename(home.plugins(), home.folder().join("code")).expect("a rename");
    let run = |words: &[&str]| {
        let mut command = home.command(words);
        command
            .env_remove("SANDHOG_DATA")
            .env_remove("SANDHOG_PLUGINS");
        // From elsewhere: the file's own folder counts.
        let out = command
            .current_dir("/")
            .output()
            .expect("the program starts");
        assert!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    let _ = run(&["enqueue", "echo", "x"]);
    assert!(home.folder().join("kept/here/logs").is_dir());
    assert!(run(&["plugin", "ls"]).contains("misbehave"));
}

#[test]
fn as_many_workers_with_as_many_slots() {
    let home = home("[runner]\nworkers = 3\nslots = 7\n");
    let _runner = home.start();
    let rows = home.run(&["worker", "ls", "-o", "json"]).exits(0).rows();
    let slots: Vec<&Value> = rows.iter().map(|row| &row["slots"]).collect();
    assert_eq!(slots, [7, 7, 7]);
}

#[test]
fn the_log_has_the_form_and_the_level_of_the_settings() {
    let home = home("[log]\nformat = \"json\"\nlevel = \"warn\"\n");
    let runner = home.start();
    let id = home.enqueue(&["permanent", "x"]);
    let _ = home.job_in(&id, "dead");
    let said = wait::until("a line", SOON, || {
        let said = runner.said();
        said.contains(&id).then_some(said)
    });
    for line in said.lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        assert_ne!(line["level"], "INFO", "{line}");
    }
}

fn drop_in(home: &Home, mark: &str) {
    let bytes = wat::parse_str(handler("work", "", "", mark)).expect("a component's text");
    let passing = home.folder().join("passing");
    fs::write(&passing, bytes).expect("a file");
    fs::rename(passing, home.plugins().join("worker.wasm")).expect("a rename");
    wait::until(&format!("{mark} to be served"), SOON, || {
        let shown = home.run(&["plugin", "show", "worker", "-o", "json"]);
        (shown.code == 0 && shown.json()["served"]["kinds"][0]["summary"] == mark).then_some(())
    });
}

#[test]
fn plugins_are_kept_within_their_bounds() {
    let home = Home::new(SANDHOG);
    home.write_config("[plugins]\nmax_file = \"64KiB\"\nkeep_versions = 2\n");
    let _runner = home.start();
    for mark in ["one", "two", "three", "four"] {
        drop_in(&home, mark);
    }
    let kept = wait::until("versions to be let go", SOON, || {
        let shown = home.json(&["plugin", "show", "worker"]);
        let versions = shown["versions"].as_array().expect("versions").clone();
        (versions.len() <= 2).then_some(versions)
    });
    assert_eq!(kept.len(), 2);
    home.install("misbehave");
    wait::until("the large one to be refused", SOON, || {
        let listed = home.run(&["plugin", "ls"]).exits(0).text();
        listed.contains("64 KiB").then_some(())
    });
}

fn code(home: &Home) -> usize {
    let files = fs::read_dir(home.data().join("code")).expect("the code's directory");
    let code = |path: &Path| path.extension().is_some_and(|ending| ending == "cwasm");
    files.flatten().filter(|file| code(&file.path())).count()
}

#[test]
fn native_code_that_nothing_uses_goes() {
    for (bound, kept) in [
        ("cache_age = \"1s\"", 2),
        ("cache_size = \"1MiB\"", 2),
        ("cache_size = \"64MiB\"", 4),
    ] {
        let home = home("[plugins]\nkeep_versions = 1\n");
        let runner = home.start();
        for mark in ["one", "two", "three"] {
            drop_in(&home, mark);
        }
        assert_eq!(code(&home), 4);
        assert!(runner.terminate().success());
        // What was used in the last second is not old.
        wait::let_run(Duration::from_millis(1_100));
        home.write_config(&format!("[plugins]\n{bound}\nkeep_versions = 1\n"));
        let _runner = home.start();
        assert_eq!(code(&home), kept, "{bound}");
    }
}
