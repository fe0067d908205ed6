//! Bad samples: each rule has to find its own.

use crate::{
    rules,
    source::{Text, Tree},
};

/// The rules that find something in a tree of one file.
fn broken(path: &str, text: &str) -> Vec<&'static str> {
    broken_in(&[(path, text)])
}

fn broken_in(files: &[(&str, &str)]) -> Vec<&'static str> {
    let texts = files.iter().map(|(path, text)| Text {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
    });
    let found = rules::check(&Tree::of(texts.collect()));
    let mut names: Vec<&'static str> = found.iter().map(|finding| finding.rule).collect();
    names.dedup();
    names
}

const STORE: &str = "runner/src/store/wal.rs";

#[test]
fn a_sound_file_breaks_nothing() {
    let text = "//! Segments.\nuse crate::clock::Clock;\nfn append() { format!(\"x\"); }\n";
    assert_eq!(broken(STORE, text), [""; 0]);
}

#[test]
fn a_long_file_is_found_and_its_inline_tests_do_not_count() {
    let code = format!("//! Long.\n{}", "const _: () = ();\n".repeat(400));
    assert_eq!(broken(STORE, &code), ["file-size"]);
    let body = "const _: () = ();\n".repeat(300);
    let tests = format!("//! Long.\n{body}\n#[cfg(test)]\nmod tests {{\n{body}}}\n");
    assert_eq!(broken(STORE, &tests), [""; 0]);
    let plain = format!("//! Long.\n{body}\nmod inner {{\n{body}}}\n");
    assert_eq!(broken(STORE, &plain), ["file-size"]);
}

#[test]
fn a_long_function_is_found_wherever_it_stands() {
    let body = "    step();\n".repeat(69);
    let long = format!("fn f() {{\n{body}}}\n");
    let right = long.replacen("    step();\n", "", 1);
    for around in [
        "%",
        "impl S { % }",
        "trait T { % }",
        "#[cfg(test)] mod t { % }",
        "proptest! { % }",
    ] {
        let text = |inner: &str| format!("//! Doc.\n{}", around.replace('%', inner));
        assert_eq!(broken(STORE, &text(&long)), ["function-size"], "{around}");
        assert_eq!(broken(STORE, &text(&right)), [""; 0], "{around}");
    }
}

#[test]
fn braces_in_strings_and_comments_do_not_confuse() {
    let text = "//! Doc.\nfn f() -> &'static str {\n// }\n\"}\"\n}\nfn g() {}\n";
    assert_eq!(broken(STORE, text), [""; 0]);
}

#[test]
fn a_file_that_does_not_say_what_it_is_is_found() {
    assert_eq!(
        broken(STORE, "use core::fmt;\n//! Late.\n").len(),
        2,
        "does not parse either"
    );
    assert_eq!(broken(STORE, "// Segments.\n"), ["says-what-it-is"]);
}

#[test]
fn a_name_that_says_nothing_is_found() {
    for path in [
        "runner/src/store/utils.rs",
        "sdk/src/common/mod.rs",
        "xtask/src/helpers.rs",
    ] {
        assert_eq!(broken(path, "//! Doc.\n"), ["name"], "{path}");
    }
}

#[test]
fn work_left_undone_is_found_in_tests_too() {
    for line in [
        "fn f() { todo!() }",
        "fn f() { vec![unimplemented!()]; }",
        "#[cfg(test)] mod t { fn f() { dbg!(1); } }",
    ] {
        assert_eq!(
            broken(STORE, &format!("//! Doc.\n{line}\n")),
            ["undone"],
            "{line}"
        );
    }
    for line in [
        "#[test] #[ignore] fn f() {}",
        "p! { #[test] #[ignore = \"slow\"] fn f() {} }",
    ] {
        assert_eq!(
            broken("tests/blackbox/x.rs", &format!("//! Doc.\n{line}\n")),
            ["undone"],
            "{line}"
        );
    }
}

#[test]
fn printing_belongs_to_the_command_line() {
    let text = "//! Doc.\nfn f() { select! { x => eprintln!(\"x\") } }\n";
    assert_eq!(broken(STORE, text), ["print"]);
    for path in [
        "runner/src/cli/job.rs",
        "runner/benches/store/main.rs",
        "xtask/src/main.rs",
        "tests/kit/src/wait.rs",
        "runner/build.rs",
    ] {
        assert_eq!(broken(path, text), [""; 0], "{path}");
    }
    let tested = "//! Doc.\n#[cfg(test)] mod t { fn f() { println!(\"x\"); } }\n";
    assert_eq!(broken(STORE, tested), [""; 0]);
}

#[test]
fn imports_against_the_layers_are_found() {
    let up = [
        (STORE, "use crate::plugin::Catalog;"),
        (STORE, "use crate::{clock::Clock, engine::Running};"),
        (
            "runner/src/plugin/mod.rs",
            "fn f() { crate::store::open(); }",
        ),
        (
            "runner/src/plugin/sandbox/run.rs",
            "use super::super::super::store::Store;",
        ),
        ("runner/src/engine/run.rs", "use std::fs;"),
        (
            "runner/src/engine/run.rs",
            "use std::{fs::File, sync::Arc};",
        ),
        (
            "runner/src/engine/run.rs",
            "fn f() { join!(rustix::fs::fsync(fd)); }",
        ),
        ("runner/src/clock.rs", "use crate::disk::Disk;"),
        ("runner/src/api/mod.rs", "use crate::cli::table;"),
        ("runner/src/cli/job.rs", "use crate::app::Rooms;"),
        ("runner/src/kitchen.rs", ""),
        ("runner/model/src/time.rs", "use std::time::Instant;"),
        ("runner/cron/src/zone.rs", "use std::time::SystemTime;"),
    ];
    for (path, line) in up {
        assert_eq!(
            broken(path, &format!("//! Doc.\n{line}\n")),
            ["layer"],
            "{path}: {line}"
        );
        let tested = format!("//! Doc.\n#[cfg(test)] mod t {{ {line} }}\n");
        if !line.is_empty() {
            assert_eq!(
                broken(path, &tested),
                [""; 0],
                "{path}: {line} in its tests"
            );
        }
    }
}

#[test]
fn reaching_into_a_room_is_found() {
    let wal = (STORE, "//! Doc.\n");
    let store = (
        "runner/src/store/mod.rs",
        "//! Doc.\nmod wal;\npub use wal::{Segment, wal};\n",
    );
    let api = "runner/src/api/mod.rs";
    for reach in [
        "use crate::store::wal::Segment;",
        "use crate::store;\nfn f() { store::wal::Segment::open(); }",
        "fn f(segment: crate::store::wal::Segment) {}",
    ] {
        let reach = format!("//! Doc.\n{reach}\n");
        assert_eq!(broken_in(&[wal, (api, &reach)]), ["layer"], "{reach}");
        let wiring = ("runner/src/app.rs", reach.as_str());
        assert_eq!(broken_in(&[wal, wiring]), [""; 0], "{reach}");
    }
    let module = (api, "//! Doc.\nuse crate::store::wal;\n");
    assert_eq!(broken_in(&[wal, module]), ["layer"]);
    assert_eq!(
        broken_in(&[wal, store, module]),
        [""; 0],
        "shown under the same name"
    );
    let shown = (api, "//! Doc.\nuse crate::store::Segment;\n");
    assert_eq!(broken_in(&[wal, shown]), [""; 0]);
}

#[test]
fn wasmtime_outside_of_the_plugin_room_is_found() {
    let text = "//! Doc.\nuse wasmtime::Engine;\n";
    assert_eq!(broken("runner/src/main.rs", text), ["wasmtime"]);
    assert_eq!(broken("tests/blackbox/x.rs", text), ["wasmtime"]);
    assert_eq!(broken("runner/benches/store/main.rs", text), ["wasmtime"]);
    assert_eq!(broken("runner/benches/sandbox/bare.rs", text), [""; 0]);
    assert_eq!(broken("runner/src/plugin/sandbox/run.rs", text), [""; 0]);
}

#[test]
fn an_error_without_a_type_is_found() {
    let text = "//! Doc.\nfn f() -> anyhow::Result<()> { Ok(()) }\n";
    assert_eq!(broken(STORE, text), ["anyhow"]);
    assert_eq!(broken("sdk/src/lib.rs", text), ["anyhow"]);
    assert_eq!(broken("runner/src/cli/job.rs", text), [""; 0]);
}

#[test]
fn a_sleep_in_a_test_is_found() {
    let tested = |call: &str| format!("//! Doc.\n#[cfg(test)] mod t {{ fn f() {{ {call} }} }}\n");
    for call in [
        "std::thread::sleep(d);",
        "tokio::time::sleep(d);",
        "use std::thread::{self, sleep};",
    ] {
        assert_eq!(broken(STORE, &tested(call)), ["sleep"], "{call}");
    }
    let plain = "//! Doc.\nuse std::thread;\nfn f() { thread::sleep(d); }\n";
    assert_eq!(broken("tests/blackbox/x.rs", plain), ["sleep"]);
    assert_eq!(broken("xtask/src/demo.rs", plain), ["sleep"]);
    assert_eq!(broken("tests/kit/src/wait.rs", plain), [""; 0]);
    assert_eq!(broken(STORE, plain), [""; 0], "a ticker is no test");
    assert_eq!(
        broken("tests/guests/x/src/lib.rs", plain),
        [""; 0],
        "a guest is no test"
    );
}

#[test]
fn a_folder_of_one_machine_is_found() {
    for folder in ["wo", "ro", "ho"]
        .iter()
        .zip(["rk", "ot", "me"])
        .map(|(a, b)| format!("/{a}{b}"))
    {
        for text in [
            format!("see {folder}/x"),
            format!("\"{folder}\""),
            folder.clone(),
        ] {
            assert_eq!(broken("docs/x.md", &text), ["machine-path"], "{text}");
        }
        for text in [
            format!("engine{folder}/x"),
            format!("{folder}er.rs"),
            format!("..{folder}/x"),
        ] {
            assert_eq!(broken("docs/x.md", &text), [""; 0], "{text}");
        }
    }
}

#[test]
fn a_config_key_without_a_word_is_found() {
    let code = "//! Doc.\nconst KEYS: &[Key] = &[\n    key!(Config, slots, \"slots\", FORM, \"Says.\"),\n    \
        table![key!(Config, max_age, \"max-age\", FORM, \"Says.\")],\n];\n";
    let config = ("runner/src/config/keys.rs", code);
    assert_eq!(broken_in(&[config]), ["config-key"]);
    for half in ["`worker.slots` and max-age", "slots and `max-age`"] {
        let page = ("docs/configuration.md", half);
        assert_eq!(broken_in(&[config, page]), ["config-key"], "{half}");
    }
    let whole = ("docs/configuration.md", "`worker.slots`\nmax-age = 3\n");
    assert_eq!(broken_in(&[config, whole]), [""; 0]);
    assert_eq!(broken("runner/src/api/mod.rs", code), [""; 0]);
}
