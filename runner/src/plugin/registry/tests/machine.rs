//! What is no fault of the file: a disk without room, a compiler that cannot be had.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    time::Duration,
};

use super::{component, folder::Folder};
use crate::plugin::{CompileLimits, Compiler, RegistryOptions};

#[test]
fn what_the_cache_cannot_take_is_served_from_memory_and_kept_later() {
    let folder = Folder::new().start();
    let code = folder.dir.path().join("code");
    fs::remove_dir(&code).unwrap();
    folder.write("one.wasm", &component(&["a"]));
    let catalog = folder.once("served", |catalog| catalog.kinds() == ["a"]);
    assert_eq!(catalog.problems, []);
    assert!(!catalog.plugins["one"].code.path().exists());
    fs::DirBuilder::new().mode(0o700).create(&code).unwrap();
    sandhog_kit::wait::until("the code to be kept", Duration::from_secs(20), || {
        (folder.code_files().len() == 2).then_some(())
    });
    let folder = folder.start();
    assert!(folder.catalog().plugins["one"].cached);
}

#[test]
fn a_compiler_that_cannot_be_had_is_tried_again_without_a_touch() {
    let folder = Folder::new();
    folder.write("one.wasm", &component(&["a"]));
    let program = folder.dir.path().join("compiler");
    let options = RegistryOptions {
        compiler: Compiler::Child {
            program: program.clone(),
            limits: CompileLimits::default(),
        },
        ..folder.options()
    };
    let folder = folder.start_with(options);
    let catalog = folder.catalog();
    assert!(
        catalog.problems[0]
            .cause
            .contains("the compiler cannot be run"),
        "{:?}",
        catalog.problems
    );
    // Whole under another name first: a file that is open for writing cannot be run.
    let passing = folder.dir.path().join("passing");
    fs::write(&passing, "#!/bin/sh\necho not today >&2\nexit 10\n").unwrap();
    fs::set_permissions(&passing, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(&passing, &program).unwrap();
    folder.once("tried again", |catalog| {
        catalog.problems[0].cause == "it does not compile: not today"
    });
}

#[test]
fn what_was_refused_for_its_cost_is_not_compiled_again_within_the_same_limits() {
    let folder = Folder::new();
    folder.write("one.wasm", &component(&["a"]));
    let program = folder.dir.path().join("compiler");
    let script = format!(
        "#!/bin/sh\necho x >> {}\nkill -SEGV $$\n",
        folder.dir.path().join("runs").display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let options = |folder: &Folder, seconds| RegistryOptions {
        compiler: Compiler::Child {
            program: program.clone(),
            limits: CompileLimits {
                timeout: Duration::from_secs(seconds),
                ..CompileLimits::default()
            },
        },
        ..folder.options()
    };
    let runs = |folder: &Folder| {
        let runs = fs::read_to_string(folder.dir.path().join("runs"));
        runs.unwrap().lines().count()
    };
    let first = options(&folder, 60);
    let folder = folder.start_with(first.clone());
    let problem = folder.catalog().problems[0].clone();
    assert!(
        problem
            .cause
            .contains("the compiler broke on it: signal 11"),
        "{problem:?}"
    );
    assert_eq!(runs(&folder), 1);
    let folder = folder.start_with(first);
    assert_eq!(
        (folder.catalog().problems[0].clone(), runs(&folder)),
        (problem, 1)
    );
    let second = options(&folder, 61);
    let folder = folder.start_with(second);
    assert_eq!(runs(&folder), 2);
}

#[test]
fn what_a_start_does_not_wait_for_is_not_begun_again() {
    let folder = Folder::new();
    folder.write("one.wasm", &component(&["a"]));
    let place = |name: &str| folder.dir.path().join(name);
    let (program, runs, go) = (place("compiler"), place("runs"), place("go"));
    let script = format!(
        "#!/bin/sh\necho x >> {}\nexec setpriv --pdeathsig KILL sh -c 'while ! [ -e {} ]; do sleep 0.01; done; echo not today >&2; exit 10'\n",
        runs.display(),
        go.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let options = RegistryOptions {
        compiler: Compiler::Child {
            program,
            limits: CompileLimits::default(),
        },
        first_scan: Some(Duration::from_millis(500)),
        ..folder.options()
    };
    // A compiler goes with the thread that started it, which must not be the one that waited for the start.
    let start = std::thread::spawn(move || folder.start_with(options));
    let folder = start.join().unwrap();
    assert_eq!(folder.catalog().problems, [], "it is not known yet");
    fs::write(go, "").unwrap();
    folder.once("refused by the compiler", |catalog| {
        let problem = catalog.problems.first();
        problem.is_some_and(|problem| problem.cause == "it does not compile: not today")
    });
    assert_eq!(fs::read_to_string(runs).unwrap().lines().count(), 1);
}

#[test]
fn t37_the_sandbox_is_not_older_than_the_fixes_it_needs() {
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock")).unwrap();
    for name in ["wasmtime", "wasmtime-wasi", "wasmtime-environ"] {
        let (_, after) = lock
            .split_once(&format!("name = \"{name}\"\nversion = \""))
            .unwrap();
        let (version, _) = after.split_once('"').unwrap();
        let parts: Vec<u32> = version
            .split('.')
            .map(|part| part.parse().unwrap())
            .collect();
        assert!(parts.as_slice() >= &[48, 0, 4][..], "{name} {version}");
    }
}
