//! `cargo xtask browser`: the dashboard in Debian's chromium, driven by Playwright of npm: every page and button,
//! the keys alone, a phone, hostile text, and pictures of each page to look at in `browser/pages` in the target
//! directory.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    debian,
    languages::{NotBuilt, get, install, stage},
    process,
};

const SUITE: &str = "tests/browser";

/// Runs it; the long form adds page times at a million jobs and 200,000 dead letters. A machine that cannot
/// have the browser or its driver is told so, which is no failure.
pub(crate) fn run(root: &Path, long: bool) -> Result<(), String> {
    let out = process::target(root)?.join("browser");
    let chromium = match tools(root, &out) {
        Ok(chromium) => chromium,
        Err(NotBuilt::NotRun(why)) => {
            eprintln!("NOT RUN: browser: {why}");
            return Ok(());
        }
        Err(NotBuilt::Failed(why)) => return Err(why),
    };
    // Below its driver, where node finds it.
    let suite = out.join("suite");
    match stage::lay(&suite, root, &[(SUITE, "")]) {
        Ok(()) => {}
        Err(NotBuilt::Failed(why) | NotBuilt::NotRun(why)) => return Err(why),
    }
    let program = match std::env::var_os("SANDHOG_BIN") {
        // As the caller sees it, who may stand elsewhere.
        Some(program) => PathBuf::from(&program)
            .canonicalize()
            .map_err(|e| format!("SANDHOG_BIN={}: {e}", program.display()))?,
        None => process::build_runner(root)?,
    };
    let mut tests = Command::new("node");
    tests
        .current_dir(&suite)
        .args(["--test", "--test-reporter=spec", "--test-concurrency=2"])
        .env("SANDHOG_BIN", program)
        .env("SANDHOG_GUEST", root.join("tests/guests/misbehave.wasm"))
        .env("SANDHOG_CHROMIUM", chromium)
        .env("SANDHOG_PICTURES", out.join("pages"));
    if long {
        tests.env("SANDHOG_LONG", "1");
    }
    process::run("node --test of tests/browser", &mut tests)
}

/// Ends well with a Node.js that Playwright runs on.
const IS_NEW_ENOUGH: &str =
    "process.exit(Number(process.versions.node.split('.')[0]) >= 20 ? 0 : 1)";

/// Debian's chromium, and Playwright beside the suite in the version that its lock names.
fn tools(root: &Path, out: &Path) -> Result<PathBuf, NotBuilt> {
    let mut node = Command::new("node");
    get(
        "looking for Node.js 20 or later",
        node.args(["-e", IS_NEW_ENOUGH]),
    )?;
    let chromium = debian::chromium().map_err(NotBuilt::NotRun)?;
    let read = |name: &str| {
        let file = root.join(SUITE).join(name);
        let text = fs::read_to_string(&file);
        text.map_err(|e| NotBuilt::Failed(format!("cannot read {}: {e}", file.display())))
    };
    let (manifest, lock) = (read("package.json")?, read("package-lock.json")?);
    install(out, &lock, || {
        let put = |name: &str, text: &str| {
            let file = out.join(name);
            fs::write(&file, text)
                .map_err(|e| NotBuilt::Failed(format!("cannot write {}: {e}", file.display())))
        };
        put("package.json", &manifest)?;
        put("package-lock.json", &lock)?;
        let mut npm = Command::new("npm");
        npm.current_dir(out)
            .args(["ci", "--silent", "--no-audit", "--no-fund"]);
        get("npm ci", &mut npm)
    })?;
    Ok(chromium)
}
