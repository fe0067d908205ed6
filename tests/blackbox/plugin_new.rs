//! A handler of one's own, as the README tells it: made, tested, built, dropped in, run.

use std::{fs, os::unix::fs::symlink, path::Path};

use sandhog_kit::Home;

use crate::SANDHOG;

#[test]
fn a_new_handler_passes_its_own_test_builds_and_runs_a_job() {
    let home = Home::new(SANDHOG);
    let _runner = home.start();
    let _ = home.run(&["plugin", "new", "greet"]).exits(0);
    let crate_folder = home.folder().join("greet");
    keep_what_is_built(&crate_folder);
    let test = home
        .command(&["plugin", "test", "greet"])
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&test.stdout);
    let beside = String::from_utf8_lossy(&test.stderr);
    assert!(test.status.success(), "{said}\n{beside}");
    let passed = beside.lines().any(|line| {
        let count = line.split_once("test result: ok. ").map(|(_, rest)| rest);
        count.is_some_and(|rest| !rest.starts_with("0 passed"))
    });
    assert!(passed, "the new crate has no test: {beside}");
    for sample in [
        "ada: as expected, completed",
        "nobody: as expected, permanent",
    ] {
        assert!(said.contains(&format!("sample {sample} in ")), "{said}");
    }
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
    let tried = home
        .command(&["plugin", "run", "greet", "--payload", r#"{"name":"Eve"}"#])
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .unwrap();
    let tried = String::from_utf8_lossy(&tried.stdout);
    assert!(tried.contains("Hello, Eve!"), "{tried}");
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

#[test]
fn a_machine_without_rust_is_told_how_to_get_it() {
    let home = Home::new(SANDHOG);
    let tools = home.folder().join("tools");
    fs::create_dir(&tools).unwrap();
    symlink("/bin/bash", tools.join("bash")).unwrap();
    let _ = home.run(&["plugin", "new", "greet"]).exits(0);
    let told = |verb: &str| {
        let mut command = home.command(&["plugin", verb, "greet"]);
        command.env("PATH", &tools);
        command.env("WASM_TOOLCHAIN_DIR", home.folder().join("none"));
        let out = command.output().unwrap();
        assert_eq!(out.status.code(), Some(1));
        String::from_utf8(out.stderr).unwrap()
    };
    let get = "get one by: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh && \
               rustup target add wasm32-wasip2";
    let said = told("build");
    assert!(said.contains(get), "{said}");
    let said = told("test");
    assert!(
        said.contains("cargo is not here, get it by: curl "),
        "{said}"
    );
}

#[test]
fn what_is_missing_is_told_with_the_command_that_gets_it() {
    let home = Home::new(SANDHOG);
    let tools = home.folder().join("tools");
    fs::create_dir(&tools).unwrap();
    let build = |name: &str| {
        let mut command = home.command(&["plugin", "build", name]);
        let out = command.env("PATH", &tools).output().unwrap();
        assert_eq!(out.status.code(), Some(1));
        String::from_utf8(out.stderr).unwrap()
    };
    let is_there = |tool: &str| symlink("/bin/true", tools.join(tool)).unwrap();
    let _ = home
        .run(&["plugin", "new", "py", "--lang", "python"])
        .exits(0);
    let said = build("py");
    assert!(
        said.contains("get it by: sudo apt install python3"),
        "{said}"
    );
    is_there("python3");
    let said = build("py");
    let get =
        "get it by: cd py && python3 -m venv .venv && .venv/bin/pip install -r requirements.txt";
    assert!(
        said.contains("componentize-py is not here") && said.contains(get),
        "{said}"
    );
    let _ = home.run(&["plugin", "new", "js", "--lang", "js"]).exits(0);
    let said = build("js");
    assert!(
        said.contains("get it by: sudo apt install nodejs npm"),
        "{said}"
    );
    is_there("npm");
    let said = build("js");
    assert!(said.contains("get it by: cd js && npm install"), "{said}");
    fs::create_dir(home.folder().join("js/node_modules")).unwrap();
    let said = build("js");
    assert!(
        said.contains("`build` of package.json wrote no js/js.wasm"),
        "{said}"
    );
}
