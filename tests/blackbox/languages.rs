//! Handlers in other languages keep what their SDKs promise, in a real runner. The components are what
//! `cargo xtask languages` builds; `SANDHOG_LANGUAGES=1` or the long form asks for these tests.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use sandhog_kit::{Home, Runner, long, wait};
use serde_json::{Value, json};

use crate::SANDHOG;

/// Compiling a whole interpreter, on a busy machine.
const COMPILED: Duration = Duration::from_secs(300);

/// Attempts whose time is taken once the first is over.
const STEADY: usize = 101;

/// What differs between languages.
struct Language {
    /// How `cargo xtask languages` names it.
    name: &'static str,
    component: &'static str,
    sdk: &'static str,
    /// What a failure of kind `fail` says, and of kind `fatal` where it was made.
    says: &'static str,
    place: &'static str,
    /// How a checkpointed exception of kind `steps` reads.
    half_way: &'static str,
    /// The failure kind and part of the cause when it recurses without end.
    deep: (&'static str, &'static str),
}

#[test]
fn python_handlers_keep_their_promises() {
    let python = Language {
        name: "python",
        component: "trials-python",
        sdk: "sandhog-python 0.1.0",
        says: "ValueError: cannot read {'a': 1}",
        place: "trials.py:",
        half_way: "RuntimeError: half way is not the end",
        deep: ("trap:stack-overflow", "ran out of stack"),
    };
    let Some((home, _runner)) = tried(&python) else {
        return;
    };
    let left = home.job_in(&home.enqueue(&["leave", "1"]), "dead");
    assert_eq!(left["failure"]["code"], "exit", "{left}");
    let world = ended(&home, "world", "completed")["result"].clone();
    assert_eq!(world["environment"], json!({"GREETING": "hello"}));
    assert_eq!(world["scratch"], "kept", "{world}");
    assert_eq!(world["charset"], "\u{20ac}", "{world}");
    assert_ne!(world["network"], "open", "sockets are refused: {world}");
    not_the_same_twice(&home, &world);
}

#[test]
fn javascript_handlers_keep_their_promises_on_quickjs() {
    let quick_js = Language {
        name: "js",
        component: "trials-quickjs",
        sdk: "sandhog-js 0.1.0",
        says: r#"TypeError: cannot read {"a":1}"#,
        place: "trials.js:",
        half_way: "Error: half way is not the end",
        deep: ("trap:stack-overflow", "ran out of stack"),
    };
    let Some((home, _runner)) = tried(&quick_js) else {
        return;
    };
    let later = ended(&home, "later", "dead");
    assert_eq!(later["failure"]["code"], "no-promises", "{later}");
    let world = ended(&home, "world", "completed")["result"].clone();
    not_the_same_twice(&home, &world);
}

#[test]
fn javascript_handlers_keep_their_promises_on_spidermonkey() {
    let spider_monkey = Language {
        name: "js",
        component: "trials-spidermonkey",
        sdk: "sandhog-js 0.1.0",
        says: r#"TypeError: cannot read {"a":1}"#,
        place: "trials.js:",
        half_way: "Error: half way is not the end",
        deep: ("error", "too much recursion"),
    };
    let Some((home, _runner)) = tried(&spider_monkey) else {
        return;
    };
    let later = ended(&home, "later", "completed");
    assert_eq!(later["result"], json!({"payload": {"a": 1}}));
    let not_in_time = home.job_in(&home.enqueue(&["later", "null"]), "dead");
    let cause = not_in_time["failure"]["cause"].as_str().unwrap();
    assert_eq!(cause, "RangeError: not in time", "{not_in_time}");
    let asked = ended(&home, "ask", "dead");
    let cause = asked["failure"]["cause"].as_str().unwrap();
    assert!(
        cause.contains("NetworkError"),
        "a denial is an error: {asked}"
    );
    let said = asked["attempts"][0]["logs"].to_string();
    assert!(
        said.contains("denied: GET to https://example.org"),
        "{said}"
    );
    let world = ended(&home, "world", "completed")["result"].clone();
    not_the_same_twice(&home, &world);
}

#[test]
fn c_handlers_keep_their_promises() {
    let c = Language {
        name: "c",
        component: "trials-c",
        sdk: "sandhog-c 0.1.0",
        says: r#"cannot read {"a":1}"#,
        place: "trials.c:",
        half_way: "half way is not the end",
        deep: ("trap:out-of-bounds", "outside its memory"),
    };
    let Some((home, _runner)) = tried(&c) else {
        return;
    };
    let crash = ended(&home, "crash", "dead");
    assert_eq!(crash["failure"]["kind"], "trap:unreachable", "{crash}");
    let frames = crash["failure"]["backtrace"].to_string();
    assert!(frames.contains("crash at trials.c:"), "{frames}");
    let said = crash["attempts"][0]["logs"].to_string();
    assert!(said.contains("Assertion failed"), "{said}");
}

/// Tries all that the languages have in common. `None` when it is not asked for, or its tools cannot be had.
fn tried(language: &Language) -> Option<(Home, Runner)> {
    let file = component(language)?;
    described(language, &file);
    let home = Home::new(SANDHOG);
    fs::copy(&file, home.plugins().join("t.wasm")).unwrap();
    home.grant(
        "t",
        "[grants]\nscratch = \"1MiB\"\nenv = { GREETING = \"hello\" }\n",
    );
    home.write_config("[plugins]\nquarantine_after = 0\n[kind.steps.config]\ncolour = \"blue\"\n");
    let runner = home.start();
    served(&home);
    figures(&home, &runner, language);
    results(&home);
    failures(&home, language);
    called_off(&home);
    limits(&home, language);
    children(&home);
    Some((home, runner))
}

/// The built component. Without tools its language's note says why there is none.
fn component(language: &Language) -> Option<PathBuf> {
    let asked = std::env::var_os("SANDHOG_LANGUAGES").is_some_and(|value| value == "1");
    if !asked && !long() {
        return None;
    }
    let target = Path::new(SANDHOG).ancestors().nth(2).unwrap();
    let folder = target.join("languages");
    if let Ok(why) = fs::read_to_string(folder.join(format!("{}.not-run", language.name))) {
        eprintln!("NOT RUN: {}: {}", language.component, why.trim_end());
        return None;
    }
    let file = folder.join(format!("{}.wasm", language.component));
    assert!(
        file.is_file(),
        "{} is not there: run `cargo xtask languages` first",
        file.display()
    );
    Some(file)
}

/// `plugin check` shows what it is, within the limits of `describe`.
fn described(language: &Language, file: &Path) {
    let home = Home::new(SANDHOG);
    let shown = home.json(&["plugin", "check", file.to_str().unwrap()]);
    let shown = &shown[0];
    assert_eq!(
        (&shown["sdk"], &shown["status"]),
        (&language.sdk.into(), &"ok".into()),
        "{shown}"
    );
    let kind = |name: &str| {
        let kinds = shown["kinds"].as_array().unwrap();
        let found = kinds.iter().find(|kind| kind["kind"] == name);
        found
            .unwrap_or_else(|| panic!("no kind {name}: {shown}"))
            .clone()
    };
    let echo = kind("echo");
    assert_eq!(
        echo["summary"],
        "Gives back what it got, and what it knows of itself."
    );
    assert_eq!(
        (&echo["retry"]["max_attempts"], &kind("spin")["timeout_ms"]),
        (&3.into(), &500.into())
    );
    assert_eq!(
        kind("fail")["retry"]["backoff"],
        "fixed 1ms jitter 0",
        "{shown}"
    );
    // What it needs of the host is linked, sockets included.
    let imports = shown["imports"].to_string();
    assert!(imports.contains("sandhog:job/log@0.1.0"), "{imports}");
}

fn served(home: &Home) {
    wait::until("the component to be served", COMPILED, || {
        let rows = home.run(&["plugin", "ls", "-o", "json"]).exits(0).rows();
        rows.iter()
            .any(|row| row["name"] == "t" && row["status"] == "ok")
            .then_some(())
    });
}

/// Prints how long it takes: to compile, the first attempt, and the ones after it.
fn figures(home: &Home, runner: &Runner, language: &Language) {
    let said = runner.said();
    let compiled = said
        .lines()
        .find_map(|line| line.split_once("plugin ready in ")?.1.split_once(" ms"))
        .map_or("?", |(ms, _)| ms);
    let used = |attempt: &Value| {
        let micros = |key: &str| attempt[key].as_u64().unwrap();
        (micros("duration_us"), micros("cpu_us"))
    };
    let (first, first_cpu) = used(&ended(home, "echo", "completed")["attempts"][0]);
    let mut later: Vec<(u64, u64)> = (0..STEADY)
        .map(|_| used(&ended(home, "echo", "completed")["attempts"][0]))
        .collect();
    later.sort_unstable();
    let (least, median, most) = (later[0].0, later[STEADY / 2].0, later[STEADY - 1].0);
    later.sort_unstable_by_key(|(_, cpu)| *cpu);
    println!(
        "{}: compiled in {compiled} ms; first attempt {first} us ({first_cpu} us of them at work); \
         {STEADY} more: median {median} us, {least} to {most} us, at work median {} us",
        language.component,
        later[STEADY / 2].1
    );
}

/// A job of this kind at its end.
fn ended(home: &Home, kind: &str, state: &str) -> Value {
    let id = home.enqueue(&[kind, r#"{"a":1}"#, "--header", "trial=yes"]);
    home.job_in(&id, state)
}

fn results(home: &Home) {
    let echo = ended(home, "echo", "completed");
    assert_eq!(
        echo["result"],
        json!({"payload": {"a": 1}, "attempt": 1, "kind": "echo", "header": "yes"})
    );
    assert_eq!(echo["result_content_type"], "application/json");
    let raw = ended(home, "raw", "completed");
    assert_eq!(raw["result_content_type"], "text/plain");
    let text = home
        .run(&["enqueue", "raw", "gr\u{fc}n", "--wait"])
        .exits(0);
    assert!(text.stdout.starts_with(b"GR"), "{:?}", text.text());
    let nap = ended(home, "nap", "completed");
    assert_eq!(
        nap["result"],
        json!({"attempt": 1}),
        "a snooze is no attempt"
    );
    let dropped = ended(home, "drop", "discarded");
    assert_eq!(dropped["reason"], "the order was withdrawn");
}

fn failures(home: &Home, language: &Language) {
    let detail = |failure: &Value, key: &str| -> String {
        let details = failure["details"].as_array().unwrap();
        let found = details.iter().find(|pair| pair[0] == key);
        found.unwrap_or_else(|| panic!("no {key} in {failure}"))[1]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let fail = ended(home, "fail", "dead");
    let failure = &fail["failure"];
    assert_eq!(fail["attempt"], 2, "it is tried again: {fail}");
    assert_eq!(
        (&failure["kind"], &failure["code"]),
        (&"error".into(), &"error".into())
    );
    assert_eq!(failure["cause"], language.says);
    let place = detail(failure, "at");
    assert!(place.contains(language.place), "{place}");
    let said = fail["attempts"][1]["logs"].to_string();
    assert!(said.contains("on standard output"), "{said}");

    let id = ended(home, "fatal", "dead")["id"].clone();
    let letter = home.json(&["dead", "show", id.as_str().unwrap()]);
    let failure = &letter["failure"];
    assert_eq!(letter["attempt"], 1, "it is not tried again: {letter}");
    assert_eq!(
        (&failure["code"], &failure["cause"]),
        (&"no-account".into(), &"no such account".into())
    );
    assert_eq!(detail(failure, "account"), "17");
    let place = detail(failure, "at");
    assert!(
        place.contains(language.place) && place.contains("fatal"),
        "{place}"
    );

    let again = ended(home, "again", "completed");
    assert_eq!(again["attempts"][0]["failure"]["code"], "busy", "{again}");
    assert_eq!(
        (&again["attempt"], &again["result"]),
        (&2.into(), &"done".into())
    );

    let steps = ended(home, "steps", "completed");
    assert_eq!(steps["result"], json!({"resumed": 1, "setting": "blue"}));
    assert_eq!(steps["attempts"][0]["failure"]["cause"], language.half_way);
    let line = &steps["attempts"][1]["logs"][0];
    assert_eq!(
        (&line["level"], &line["text"], &line["fields"]),
        (&"info".into(), &"beginning".into(), &json!([["step", "1"]]))
    );
}

/// Progress is seen while it runs, and it learns that it is called off.
fn called_off(home: &Home) {
    let id = home.enqueue(&["linger", "1"]);
    wait::until("its progress to be seen", Duration::from_secs(60), || {
        let progress = home.job(&id)["progress"].clone();
        (progress == json!({"done": 1, "total": 2, "note": "half way"})).then_some(())
    });
    let _ = home.run(&["job", "cancel", &id]).exits(0);
    // It ends by itself, within the grace, with a result.
    let _ = home.job_in(&id, "completed");
}

fn limits(home: &Home, language: &Language) {
    let spin = ended(home, "spin", "dead");
    let took = spin["attempts"][0]["duration_us"].as_u64().unwrap();
    assert_eq!(spin["failure"]["kind"], "timeout", "{spin}");
    assert!(took >= 500_000, "ended after {took} us");
    let greedy = ended(home, "greedy", "dead");
    let peak = greedy["attempts"][0]["peak_memory"].as_u64().unwrap();
    assert!(
        (96 << 20..=128 << 20).contains(&peak),
        "it had {peak} bytes: {greedy}"
    );
    assert!(
        greedy["failure"]
            .to_string()
            .to_lowercase()
            .contains("memory"),
        "{greedy}"
    );
    let deep = ended(home, "deep", "dead");
    let cause = deep["failure"]["cause"].as_str().unwrap();
    assert_eq!(deep["failure"]["kind"], language.deep.0, "{deep}");
    assert!(cause.contains(language.deep.1), "{cause}");
}

/// Denied until it is granted.
fn children(home: &Home) {
    let denied = ended(home, "parent", "completed")["result"].clone();
    assert_eq!(denied["reason"], "denied", "{denied}");
    assert!(
        denied["text"].as_str().unwrap().contains("not granted"),
        "{denied}"
    );
    home.grant(
        "t",
        "[grants]\nscratch = \"1MiB\"\nenv = { GREETING = \"hello\" }\nenqueue = { queues = [\"default\"] }\n",
    );
    let child = wait::until("the grant to count", Duration::from_secs(60), || {
        let result = ended(home, "parent", "completed")["result"].clone();
        result["child"].as_str().map(str::to_owned)
    });
    let child = home.job_in(&child, "completed");
    assert_eq!(child["result"]["header"], "child", "{child}");
    assert_eq!(
        child["parent"], child["result"]["payload"]["from"],
        "{child}"
    );
}

/// Chance and time are those of the attempt, not of the build.
fn not_the_same_twice(home: &Home, world: &Value) {
    let other = ended(home, "world", "completed")["result"].clone();
    assert_ne!(world["random"], other["random"]);
    assert!(world["now"].as_f64() < other["now"].as_f64());
}
