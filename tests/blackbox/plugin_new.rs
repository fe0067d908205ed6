//! A handler of one's own, as the README tells it: made, tested, built, dropped in, run.

use std::{fs, process::Command};

use sandhog_kit::{Home, workspace};

use crate::SANDHOG;

#[test]
fn a_new_handler_passes_its_own_test_builds_and_runs_a_job() {
    let home = Home::new(SANDHOG);
    let _runner = home.start();
    let _ = home.run(&["plugin", "new", "greet"]).exits(0);
    let crate_folder = home.folder().join("greet");
    // Kept between runs, or every run would compile the handler's dependencies anew.
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), Into::into);
    let target = workspace().join(target).join("plugin-new");
    let test = Command::new("cargo")
        .args(["test", "--quiet"])
        .current_dir(&crate_folder)
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&test.stdout);
    assert!(
        test.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&test.stderr)
    );
    assert!(
        !said.contains("running 0 tests\n\ntest result") || said.contains("1 passed"),
        "no test: {said}"
    );
    let build = home
        .command(&["plugin", "build", "greet"])
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .unwrap();
    assert!(
        build.status.success(),
        "{}",
        String::from_utf8_lossy(&build.stderr)
    );
    let built = find(&home, "greet.wasm").expect("plugin build left no greet.wasm");
    let _ = home
        .run(&["plugin", "check", built.to_str().unwrap()])
        .exits(0);
    fs::copy(&built, home.plugins().join("greet.wasm")).unwrap();
    let answer = home
        .run(&["enqueue", "greet", r#"{"name":"Ada"}"#, "--wait"])
        .exits(0);
    assert!(answer.text().contains("Ada"), "{}", answer.text());
}

/// The component, in the crate's folder or among the plugins.
fn find(home: &Home, name: &str) -> Option<std::path::PathBuf> {
    let places = [
        home.folder().join("greet"),
        home.folder().to_path_buf(),
        home.plugins(),
    ];
    places
        .into_iter()
        .map(|place| place.join(name))
        .find(|file| file.is_file())
}
