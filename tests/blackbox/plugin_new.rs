//! A handler of one's own, as the README tells it: made, tested, built, dropped in, run.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use sandhog_kit::Home;

use crate::SANDHOG;

#[test]
fn a_new_handler_passes_its_own_test_builds_and_runs_a_job() {
    let home = Home::new(SANDHOG);
    let _runner = home.start();
    let _ = home.run(&["plugin", "new", "greet"]).exits(0);
    let crate_folder = home.folder().join("greet");
    keep_what_is_built(&crate_folder);
    let test = Command::new("cargo")
        .args(["test", "--quiet"])
        .current_dir(&crate_folder)
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&test.stdout);
    assert!(
        test.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&test.stderr)
    );
    let passed = said.lines().any(|line| {
        let count = line.split_once("test result: ok. ").map(|(_, rest)| rest);
        count.is_some_and(|rest| !rest.starts_with("0 passed"))
    });
    assert!(passed, "the new crate has no test: {said}");
    let build = home
        .command(&["plugin", "build", "greet"])
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .unwrap();
    assert!(
        build.status.success(),
        "{}",
        String::from_utf8_lossy(&build.stderr)
    );
    let built = crate_folder.join("greet.wasm");
    let bytes = fs::read(&built).unwrap();
    let lines = b".debug_line";
    assert!(
        bytes.windows(lines.len()).any(|part| part == lines),
        "no backtrace of it would have lines"
    );
    let _ = home
        .run(&["plugin", "check", built.to_str().unwrap()])
        .exits(0);
    fs::copy(&built, home.plugins().join("greet.wasm")).unwrap();
    let answer = home
        .run(&["enqueue", "greet", r#"{"name":"Ada"}"#, "--wait"])
        .exits(0);
    assert!(answer.text().contains("Ada"), "{}", answer.text());
}

/// Points the crate's build folder at one that stays between runs, or every run would compile the
/// handler's dependencies anew.
fn keep_what_is_built(crate_folder: &Path) {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugin-new");
    fs::create_dir_all(&kept).unwrap();
    symlink(kept, crate_folder.join("target")).unwrap();
}
