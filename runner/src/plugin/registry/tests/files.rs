//! Single files: what is wrong with each, in words that help.

use std::{fs, path::Path, sync::Arc};

use sandhog_model::Outcome;
use tempfile::TempDir;

use super::{component, hand_made};
use crate::plugin::{
    Checked, Compiler, Limits, Live, Problem, RegistryOptions, Trial, Tryout, check,
    registry::{workshop::NotMade, workshop_for_tests},
    sandbox::{
        engines::Engines,
        tests::kit::{HandMade, guest, shared_cache},
    },
};

/// Of its directories none is used.
fn options() -> RegistryOptions {
    RegistryOptions {
        compiler: Compiler::Here,
        ..RegistryOptions::new("plugins", "code", "versions")
    }
}

fn problem(bytes: &[u8]) -> Problem {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("some.wasm");
    fs::write(&file, bytes).unwrap();
    check(&file, &options()).unwrap_err()
}

#[test]
fn a_wrong_world_says_what_is_missing() {
    let nothing = problem(&wat::parse_str("(component)").unwrap());
    assert!(
        nothing
            .cause
            .contains("does not export sandhog:job/handler"),
        "{nothing:?}"
    );
    // What a crate without `export!` comes to.
    assert!(
        nothing.hint.contains("`sandhog_sdk::export!`"),
        "{nothing:?}"
    );
    let module = problem(&wat::parse_str("(module)").unwrap());
    assert!(module.cause.contains("core module"));
    assert!(module.hint.contains("wasm32-wasip2"));
    let import = |name: &str| {
        let text = format!(r#"(component (import "{name}" (instance (export "get" (func)))))"#);
        problem(&wat::parse_str(text).unwrap())
    };
    let missing = import("wasi:http/outgoing-handler@0.2.0");
    assert!(
        missing.cause.contains("wasi:http/outgoing-handler@0.2.0"),
        "{missing:?}"
    );
    let later = import("sandhog:job/log@2.0.0");
    assert!(
        later.cause.contains("this host has sandhog:job@0.1"),
        "{later:?}"
    );
    let other = import("sandhog:job/config@0.1.0");
    assert!(other.cause.contains("do not fit"), "{other:?}");
}

#[test]
fn a_describe_that_misbehaves_is_refused_with_its_reason() {
    for (what, text, says) in [
        (
            "loops",
            HandMade {
                fields: "(func $s (loop $l (br $l))) (start $s)",
                ..HandMade::default()
            },
            "longer than 1 s",
        ),
        (
            "takes memory",
            HandMade {
                pages: 600,
                ..HandMade::default()
            },
            "limit is 32 MiB",
        ),
        (
            "says nothing",
            HandMade {
                describe: "",
                ..HandMade::default()
            },
            "cannot be read",
        ),
        (
            "serves nothing",
            HandMade {
                describe: r#"{"schema":1,"kinds":[]}"#,
                ..HandMade::default()
            },
            "no kind",
        ),
        (
            "proposes nonsense",
            HandMade {
                describe: r#"{"schema":1,"kinds":[{"kind":"a","backoff":"sometimes"}]}"#,
                ..HandMade::default()
            },
            "\"sometimes\"",
        ),
    ] {
        let problem = problem(&hand_made(&text));
        assert!(problem.cause.contains(says), "{what}: {problem:?}");
    }
}

#[test]
fn a_memory_over_the_ceiling_is_refused_at_load() {
    let problem = problem(&hand_made(&HandMade {
        pages: 8_000,
        ..HandMade::default()
    }));
    assert!(
        problem.cause.contains("does not fit in a sandbox"),
        "{problem:?}"
    );
}

#[test]
fn every_cut_of_a_component_is_refused_and_nothing_breaks() {
    let whole = component(&["a"]);
    let engines = Engines::start().unwrap();
    let workshop = workshop_for_tests(&shared_cache(), &engines);
    for cut in (0..whole.len()).step_by(whole.len() / 64) {
        let made = workshop.make("cut", Path::new("cut.wasm"), &whole[..cut]);
        assert!(made.is_err(), "cut at {cut}");
    }
}

fn checked(path: &str) -> Checked {
    check(&guest(path), &options()).unwrap()
}

#[test]
fn t29_no_flipped_bit_breaks_anything() {
    let whole = component(&["a"]);
    let engines = Engines::start().unwrap();
    let dir = TempDir::new().unwrap();
    let workshop = workshop_for_tests(&dir.path().join("code"), &engines);
    let flips = if sandhog_kit::long() { 2_000 } else { 250 };
    let (mut state, mut refused) = (0x2545_f491_4f6c_dd1d_u64, 0);
    for _ in 0..flips {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (at, bit) = (state as usize / 8 % whole.len(), state % 8);
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << bit;
        match workshop.make("flip", Path::new("flip.wasm"), &bytes) {
            // Names and summaries may differ by a letter.
            Ok(plugin) => assert_eq!(plugin.kinds.len(), 1, "byte {at}, bit {bit}"),
            Err(NotMade::Fault(fault)) => {
                refused += 1;
                assert!(
                    !fault.cause.is_empty() && !fault.passing,
                    "byte {at}, bit {bit}: {fault:?}"
                );
            }
            Err(NotMade::Halted) => panic!("nobody asked for it: byte {at}, bit {bit}"),
        }
    }
    assert!(
        refused > flips / 4,
        "only {refused} of {flips} were refused"
    );
}

#[test]
fn the_real_guest_says_what_it_serves() {
    let plugin = checked("tests/guests/misbehave.wasm").plugin;
    assert!(plugin.sdk.starts_with("sandhog-sdk "));
    assert_eq!(plugin.name, "misbehave");
    assert!(plugin.kinds.iter().any(|info| info.kind == "retry-after"));
}

#[test]
fn the_sample_plugins_load() {
    for name in ["thumbnail", "table", "page", "webhook"] {
        let Checked { plugin, imports } = checked(&format!("plugins/{name}.wasm"));
        assert_eq!(plugin.kinds[0].kind, name);
        let reaches = |name: &str| imports.iter().any(|import| import.starts_with(name));
        // A component imports what it calls, and no more.
        assert_eq!(reaches("wasi:http/outgoing-handler@"), name == "webhook");
        assert_eq!(reaches("sandhog:job/signing@"), name == "webhook");
        assert_eq!(plugin.asks.is_some(), name == "webhook");
    }
}

#[test]
fn one_attempt_runs_without_folder_or_store() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("misbehave.wasm");
    fs::copy(guest("tests/guests/misbehave.wasm"), &file).unwrap();
    let grants = "[grants]\nenqueue = { queues = [\"default\"] }\n";
    fs::write(dir.path().join("misbehave.toml"), grants).unwrap();
    let tryout = Tryout::open(&file, &options()).unwrap();
    let trial = |kind: &str| Trial {
        kind: kind.into(),
        payload: b"hello".to_vec(),
        content_type: Some("text/plain".into()),
        headers: vec![("children".into(), "2".into())],
        limits: Limits::default(),
        timeout_ms: None,
        config: std::collections::BTreeMap::new(),
        live: Arc::new(Live::default()),
        outside: Arc::default(),
    };
    let report = tryout.run(trial("echo")).unwrap().report;
    let Outcome::Completed(output) = report.outcome else {
        panic!("{:?}", report.outcome);
    };
    assert_eq!(
        (output.content_type.as_str(), &output.payload[..]),
        ("text/plain", &b"hello"[..])
    );
    assert!(report.attempt.peak_memory > 0);
    let report = tryout.run(trial("spawn")).unwrap().report;
    assert_eq!(report.children.len(), 2);
    assert_eq!(report.children[0].queue, "default");
    let refused = tryout.run(trial("nonsense")).unwrap_err();
    assert!(refused.cause.contains("\"nonsense\"") && refused.hint.contains("echo"));
}
