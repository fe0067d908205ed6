//! Handlers made, built, tested and tried, and the verbs that show and choose versions of plugins.

use super::*;

#[test]
fn versions_of_a_plugin_are_shown_and_chosen() {
    let desk = Desk::new();
    for verb in ["show", "rollback", "quarantine", "release"] {
        desk.run(&["plugin", verb, "page"]).ends(3);
    }
    let (_runtime, _handle) = desk.runner();
    desk.run(&["plugin", "show", "nobody"]).ends(4);
    let shown = desk.run(&["plugin", "show", "page"]).ends(0).out.clone();
    for part in [
        "abababababab",
        "cdcdcdcdcdcd",
        "served, in the folder",
        "its file is served",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = desk
        .run(&["plugin", "show", "page", "-o", "json"])
        .ends(0)
        .json();
    assert_eq!(
        (&shown["status"], &shown["versions"][1]["proven"]),
        (&"ok".into(), &true.into())
    );
    let held = desk.run(&["plugin", "quarantine", "page"]);
    assert!(
        held.ends(0).out.contains("someone said so\\u{1b}[0m"),
        "{}",
        held.out
    );
    let shown = desk
        .run(&["plugin", "show", "page", "-o", "json"])
        .ends(0)
        .json();
    assert_eq!(shown["status"], "quarantined");
    assert_eq!(shown["versions"][0]["quarantine"]["by_hand"], true);
    let back = desk.run(&["plugin", "rollback", "page", "--to", "cd"]);
    assert!(
        back.ends(0).out.contains("in place of its file's, abab"),
        "{}",
        back.out
    );
    let back = desk
        .run(&["plugin", "rollback", "page", "-o", "json"])
        .ends(0)
        .json();
    assert_eq!(back["status"], "rolled-back");
    let gone = desk
        .run(&["plugin", "release", "nobody"])
        .ends(4)
        .err
        .clone();
    assert!(gone.contains("known are page"), "{gone}");
    let free = desk.run(&["plugin", "release", "page"]);
    assert!(
        free.ends(0).out.contains("its file is served"),
        "{}",
        free.out
    );
}

#[test]
fn plugins_are_checked_and_tried() {
    let desk = Desk::new();
    let all = desk.run(&["plugin", "check"]);
    assert!(
        all.ends(1).out.contains("it is cut off\\u{1b}[0m"),
        "{}",
        all.out
    );
    let missing = desk.run(&["plugin", "check", "nope.wasm"]);
    assert!(
        missing
            .ends(4)
            .err
            .contains("there is no component nope.wasm")
    );
    let component = desk.file("a.wasm", "");
    desk.run(&["plugin", "check", &component]).ends(0);
    let two = desk.file("two.wasm", "");
    let later = desk.run(&["plugin", "run", &two, "later"]);
    assert!(
        later
            .ends(1)
            .err
            .contains("snoozed for 2s, after 0.5ms of 30s"),
        "{}",
        later.err
    );
    let tried = desk.run(&["plugin", "run", &component, "page", "[1]"]);
    assert_eq!(tried.ends(0).out, "[1]");
    assert!(
        tried
            .err
            .contains("completed in 1s of 30s, 1s of processor time, 3.0 MiB of 128.0 MiB memory"),
        "{}",
        tried.err
    );
    assert!(tried.err.contains("careful\\u{1b}"));
    let tried = desk.run(&["plugin", "run", &component, "page", "[1]", "-o", "json"]);
    assert_eq!(
        (&tried.json()["outcome"], &tried.json()["result"][0]),
        (&"completed".into(), &1.into())
    );
    assert!(
        desk.run(&["plugin", "run", &component, "other"])
            .ends(2)
            .err
            .contains("it does not serve kind \"other\": it serves page")
    );
    let cut = desk.file("cut.wasm", "");
    let refused = desk.run(&["plugin", "run", &cut, "page"]);
    assert!(refused.ends(2).err.contains("it is cut off"));
    desk.run(&["plugin", "run", "/none.wasm", "page"]).ends(4);
}

#[test]
fn a_check_shows_imports_wishes_and_grants() {
    let desk = Desk::new();
    let component = desk.file("a.wasm", "");
    let checked = desk.run(&["plugin", "check", &component]);
    for says in [
        "serves: page\n",
        "imports:\n  sandhog:job/enqueue@0.1.0\n",
        "asks for:\n  [[grants.http]]\n  origin = \"https://a.b\"\n",
        "is granted by page.toml and the ceiling: nothing\n",
        "is not granted:\n  GET to https://a.b\n  sandhog:job/enqueue: it may enqueue",
        "verdict: it can run, and is denied what is not granted",
    ] {
        assert!(
            checked.ends(0).out.contains(says),
            "{says}: {}",
            checked.out
        );
    }
    let checked = desk.run(&["plugin", "check", &component, "-o", "json"]);
    assert_eq!(checked.json()[0]["missing"][0], "GET to https://a.b");
}

#[test]
fn what_a_runtime_links_whether_it_is_used_or_not_is_no_problem() {
    let desk = Desk::new();
    let component = desk.file("python.wasm", "");
    let checked = desk.run(&["plugin", "check", &component]);
    let out = &checked.ends(0).out;
    let says = "links, as every component of its language, used or not: sandhog:job/enqueue; a handler that uses one";
    assert!(out.contains(says), "{out}");
    assert!(!out.contains("no queue is granted"), "{out}");
    // What it asks for in vain still is one.
    assert!(
        out.contains("is not granted:\n  GET to https://a.b\n"),
        "{out}"
    );
    let checked = desk
        .run(&["plugin", "check", &component, "-o", "json"])
        .json();
    assert_eq!(checked[0]["linked"][0], "sandhog:job/enqueue");
    assert_eq!(checked[0]["missing"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_handler_is_made_once_and_only_a_handlers_folder_is_built() {
    let desk = Desk::new();
    desk.run(&["plugin", "new", "1a"]).ends(2);
    let none = desk.run(&["plugin", "build", "/none"]);
    assert!(
        none.ends(2)
            .err
            .contains("or make one with `sandhog plugin new`")
    );
    let target = desk.folder.path().join("my-plugin");
    let words = [
        "plugin",
        "new",
        "my-plugin",
        "--path",
        target.to_str().unwrap(),
    ];
    desk.run(&words).ends(0);
    assert!(desk.run(&words).ends(2).err.contains("is there already"));
    let ignored = fs::read_to_string(target.join(".gitignore")).unwrap();
    assert!(ignored.lines().any(|line| line == "*.wasm"), "{ignored}");
    let unrelated = desk.folder.path().join("unrelated");
    fs::create_dir(&unrelated).unwrap();
    fs::write(unrelated.join("Cargo.toml"), "[workspace]\nmembers = []\n").unwrap();
    let refused = desk.run(&["plugin", "build", unrelated.to_str().unwrap()]);
    assert!(refused.ends(2).err.contains("is no handler's crate"));
}

#[test]
fn kind_and_payload_may_be_options_and_the_only_kind_left_out() {
    let desk = Desk::new();
    let (one, two) = (desk.file("a.wasm", ""), desk.file("two.wasm", ""));
    let tried = |words: &[&str]| desk.run(&[&["plugin", "run"], words].concat());
    assert_eq!(tried(&[&one, "--payload", "[1]"]).ends(0).out, "[1]");
    let words = [&two, "--kind", "page", "--payload", "[2]"];
    assert_eq!(tried(&words).ends(0).out, "[2]");
    let unsaid = tried(&[&two]);
    assert!(
        unsaid
            .ends(2)
            .err
            .contains("name a kind, one of page, later"),
        "{}",
        unsaid.err
    );
    tried(&[&one, "page", "--kind", "page"]).ends(2);
    tried(&[&one, "page", "[1]", "--payload", "[1]"]).ends(2);
    tried(&[&one, "--stdin", "--watch"]).ends(2);
}

/// Puts a program where it can be run. Another process writes it: a file that this one has open for
/// writing could not be run while some other test starts a process.
fn program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut tee = std::process::Command::new("tee")
        .arg(path)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    tee.stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    assert!(tee.wait().unwrap().success());
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A folder in Python whose tools do as they are told.
fn python(desk: &Desk, tests_end_with: u8) -> String {
    let folder = desk.folder.path().join("a");
    fs::create_dir_all(folder.join("samples")).unwrap();
    fs::write(folder.join("handler.py"), "").unwrap();
    let tests = format!("#!/bin/sh\nexit {tests_end_with}\n");
    program(&folder.join(".venv/bin/python3"), &tests);
    let build = "#!/bin/sh\nprintf component > \"$8\"\n";
    program(&folder.join(".venv/bin/componentize-py"), build);
    folder.to_str().unwrap().to_owned()
}

#[test]
fn a_test_runs_the_handlers_own_tests_and_its_samples() {
    let desk = Desk::new();
    let folder = python(&desk, 0);
    let none = desk.run(&["plugin", "test", &folder]);
    assert!(
        none.ends(0).out.contains("a.wasm: 9 B, serves page"),
        "{}",
        none.out
    );
    assert!(
        none.err.contains("no sample was tried: put a job"),
        "{}",
        none.err
    );
    desk.file(
        "a/samples/same.json",
        r#"{"payload": 1, "expect": {"result": 1}}"#,
    );
    let passed = desk.run(&["plugin", "test", &folder]);
    assert!(
        passed
            .ends(0)
            .out
            .contains("sample same: as expected, completed in 1s")
    );
    desk.file(
        "a/samples/other.json",
        r#"{"payload": 1, "expect": {"result": 2}}"#,
    );
    let failed = desk.run(&["plugin", "test", &folder]);
    let said = "sample other: NOT as expected: result: expected 2, it is 1";
    assert!(failed.ends(1).out.contains(said), "{}", failed.out);
    let json = desk
        .run(&["plugin", "test", &folder, "-o", "json"])
        .ends(1)
        .json();
    assert_eq!(json["passed"], false);
    assert_eq!(
        json["samples"][0]["differences"][0],
        "result: expected 2, it is 1"
    );
    desk.file("a/samples/other.json", r#"{"kind": "nope"}"#);
    let unknown = desk.run(&["plugin", "test", &folder]);
    let said = "samples/other.json: it does not serve kind \"nope\": it serves page";
    assert!(unknown.ends(2).err.contains(said), "{}", unknown.err);
    desk.file("a/samples/other.json", "{");
    desk.run(&["plugin", "test", &folder]).ends(2);
}

#[test]
fn nothing_is_built_when_the_handlers_own_tests_fail() {
    let desk = Desk::new();
    let folder = python(&desk, 3);
    let failed = desk.run(&["plugin", "test", &folder]);
    assert!(
        failed.ends(1).err.contains("exit status: 3"),
        "{}",
        failed.err
    );
    assert!(!Path::new(&folder).join("a.wasm").exists());
}

#[test]
fn a_folder_is_built_before_it_is_tried() {
    let desk = Desk::new();
    let folder = python(&desk, 0);
    let tried = desk.run(&["plugin", "run", &folder, "--payload", "[1]"]);
    assert_eq!(tried.ends(0).out, "[1]");
    assert_eq!(
        fs::read(Path::new(&folder).join("a.wasm")).unwrap(),
        b"component"
    );
}
