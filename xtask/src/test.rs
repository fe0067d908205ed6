//! `cargo xtask test`: the guests, the lints and every test, with a summary at the end.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{api, browser, debian, languages, lay_guests, process};

/// What came of a step.
struct Step {
    name: &'static str,
    took: Duration,
    passed: u64,
    failed: u64,
    why: Option<String>,
}

/// Runs everything. A step that fails does not keep the later ones from running, except that
/// nothing can be tried without the guests. With `SANDHOG_TABLE=1` the lines of the table of faults
/// are gathered at the end.
pub(crate) fn run(root: &Path, long: bool) -> Result<(), String> {
    let mut table = Vec::new();
    let mut steps = vec![timed("guests", || lay_guests(root).map(|()| (0, 0)))];
    if steps[0].why.is_none() {
        steps.push(timed("format", || {
            let mut fmt = process::cargo(root);
            fmt.args(["fmt", "--all", "--", "--check"]);
            process::run("cargo fmt", &mut fmt).map(|()| (0, 0))
        }));
        steps.push(timed("features", || one_build(root).map(|()| (0, 0))));
        steps.push(timed("lints", || {
            let mut clippy = process::cargo(root);
            clippy.args([
                "clippy",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ]);
            process::run("cargo clippy", &mut clippy).map(|()| (0, 0))
        }));
        steps.push(timed("docs", || {
            let mut doc = process::cargo(root);
            doc.args(["doc", "--no-deps", "--package", "sandhog-sdk"]);
            doc.args([
                "--package",
                "sandhog-sdk-macros",
                "--package",
                "sandhog-client",
            ]);
            doc.env("RUSTDOCFLAGS", "-D warnings");
            process::run("cargo doc of the SDK and the client", &mut doc).map(|()| (0, 0))
        }));
        steps.push(timed("runner", || {
            process::build_runner(root).map(|_| (0, 0))
        }));
        steps.push(timed("Debian packages", || {
            debian::prepare().map(|()| (0, 0))
        }));
        steps.extend(asked_for(root, long));
        let wants_table = std::env::var_os("SANDHOG_TABLE").is_some();
        steps.push(timed("tests", || {
            let mut test = process::cargo(root);
            test.args(["test", "--workspace", "--no-fail-fast"]);
            if long {
                test.env("SANDHOG_LONG", "1");
            }
            if wants_table {
                test.args(["--", "--show-output"]);
            }
            counted(&mut test, &mut table, &|line| println!("{line}"))
        }));
    }
    table.sort_by_key(|line| row_number(line));
    for line in &table {
        println!("{line}");
    }
    summary(&steps)
}

/// The steps that are slow, or fetch much: run in the long form, or when a variable asks for them.
fn asked_for(root: &Path, long: bool) -> Vec<Step> {
    type Act<'a> = Box<dyn Fn() -> Result<(), String> + 'a>;
    let examples = if long { 200 } else { 10 };
    let slow: [(&str, &str, Act<'_>); 3] = [
        (
            "languages",
            "SANDHOG_LANGUAGES",
            Box::new(|| languages::run(root, None)),
        ),
        ("api", "SANDHOG_API", Box::new(|| api::run(root, examples))),
        (
            "browser",
            "SANDHOG_BROWSER",
            Box::new(|| browser::run(root, long)),
        ),
    ];
    let is_asked = |name| long || std::env::var_os(name).is_some_and(|value| value == "1");
    let asked = slow.iter().filter(|(_, variable, _)| is_asked(*variable));
    asked
        .map(|(name, _, act)| timed(name, || act().map(|()| (0, 0))))
        .collect()
}

/// The program and the tests are to be built from the same dependencies with the same features;
/// otherwise the sandbox's compiler, most of the build, is built twice.
fn one_build(root: &Path) -> Result<(), String> {
    let program = features(root, &["--package", "sandhog", "--edges", "normal,build"])?;
    let tests = features(root, &["--workspace", "--edges", "normal,build,dev"])?;
    let apart: Vec<&str> = program.difference(&tests).map(String::as_str).collect();
    if apart.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the program is built with other features than the tests: hold them equal in runner/Cargo.toml: {}",
        apart.join("; ")
    ))
}

/// Every package of a selection with its version and features.
fn features(root: &Path, selection: &[&str]) -> Result<BTreeSet<String>, String> {
    let mut tree = process::cargo(root);
    tree.args(["tree", "--prefix", "none", "--format", "{p} {f}"]);
    let out = tree.args(selection).output();
    let out = out.map_err(|e| format!("cannot start cargo tree: {e}"))?;
    if !out.status.success() {
        let why = String::from_utf8_lossy(&out.stderr);
        return Err(format!("cargo tree failed: {why}"));
    }
    let lines = String::from_utf8_lossy(&out.stdout);
    let plain = |line: &str| line.replace(" (*)", "").replace(" (proc-macro)", "");
    Ok(lines.lines().map(plain).collect())
}

/// The house rules alone.
pub(crate) fn tidy(root: &Path) -> Result<(), String> {
    let mut test = process::cargo(root);
    test.args([
        "test",
        "--quiet",
        "--package",
        "sandhog-kit",
        "--test",
        "tidy",
    ]);
    process::run("the house rules", &mut test)
}

fn timed(name: &'static str, step: impl FnOnce() -> Result<(u64, u64), String>) -> Step {
    eprintln!("== {name}");
    let start = Instant::now();
    let result = step();
    let took = start.elapsed();
    let ((passed, failed), why) = match result {
        Ok(counts) => (counts, None),
        Err(why) => ((0, 0), Some(why)),
    };
    Step {
        name,
        took,
        passed,
        failed,
        why,
    }
}

/// Runs tests and counts them off the `test result:` lines; `tell` hears each line of their output.
fn counted(
    command: &mut Command,
    table: &mut Vec<String>,
    tell: &dyn Fn(&str),
) -> Result<(u64, u64), String> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start cargo test: {e}"))?;
    let out = child.stdout.take().ok_or("cargo test has no output")?;
    let (mut passed, mut failed) = (0, 0);
    for line in BufReader::new(out).split(b'\n') {
        let line = line.map_err(|e| format!("cannot read what cargo test says: {e}"))?;
        let line = String::from_utf8_lossy(&line);
        tell(&line);
        if row_number(&line).is_some() {
            table.push(line.to_string());
        }
        if let Some((good, bad)) = result_line(&line) {
            passed += good;
            failed += bad;
        }
    }
    let status = child
        .wait()
        .map_err(|e| format!("cannot wait for cargo test: {e}"))?;
    // A test program that does not build or dies has no result line.
    if !status.success() && failed == 0 {
        return Err(format!(
            "cargo test failed: {status}, {passed} tests passed before"
        ));
    }
    Ok((passed, failed))
}

/// The number of a line of the table: 7 of `T7: 8 kills …`.
fn row_number(line: &str) -> Option<u32> {
    let row = line.strip_prefix('T')?.split_once(": ")?.0;
    row.trim_end_matches('b').parse().ok()
}

/// `test result: ok. 12 passed; 0 failed; …` as (12, 0).
fn result_line(line: &str) -> Option<(u64, u64)> {
    let rest = line.trim().strip_prefix("test result: ")?;
    let count = |word: &str| {
        let before = rest.split_once(word)?.0;
        before.trim_end().rsplit([' ', '.']).next()?.parse().ok()
    };
    Some((count(" passed")?, count(" failed")?))
}

fn summary(steps: &[Step]) -> Result<(), String> {
    println!();
    for step in steps {
        let said = match &step.why {
            Some(why) => why.lines().next().unwrap_or("failed").to_owned(),
            None if step.failed > 0 => format!("{} failed", step.failed),
            None if step.passed > 0 => format!("{} passed", step.passed),
            None => "ok".to_owned(),
        };
        println!(
            "{:<9} {:>7.1} s  {said}",
            step.name,
            step.took.as_secs_f64()
        );
    }
    let total: Duration = steps.iter().map(|step| step.took).sum();
    println!("{:<9} {:>7.1} s", "total", total.as_secs_f64());
    let passed: u64 = steps.iter().map(|step| step.passed).sum();
    let broken = steps.iter().filter(|step| step.why.is_some()).count() as u64;
    let failed = broken + steps.iter().map(|step| step.failed).sum::<u64>();
    println!("{passed} passed, {failed} failed");
    if failed == 0 {
        Ok(())
    } else {
        Err("not everything passed".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::{counted, result_line, row_number};
    use std::process::Command;

    #[test]
    fn reads_result_lines() {
        let line =
            "test result: FAILED. 15 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(result_line(line), Some((15, 1)));
        assert_eq!(
            result_line("test result: ok. 3 passed; 0 failed;"),
            Some((3, 0))
        );
        assert_eq!(result_line("test tests::reads ... ok"), None);
    }

    #[test]
    fn lines_of_the_table_are_gathered() {
        assert_eq!(row_number("T2b: 41 acknowledgements"), Some(2));
        assert_eq!(row_number("T14: 3 MiB"), Some(14));
        assert_eq!(row_number("Testing: no"), None);
        let (mut table, script) = (Vec::new(), "echo 'T7: x'; echo other");
        // Told to nobody: whoever counts these tests would count what they make up.
        let counts = counted(Command::new("sh").args(["-c", script]), &mut table, &|_| ());
        assert_eq!((counts, table), (Ok((0, 0)), vec!["T7: x".to_owned()]));
    }

    #[test]
    fn a_program_that_dies_is_a_failure_though_no_line_says_so() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            counted(command.args(["-c", script]), &mut Vec::new(), &|_| ())
        };
        let two = "echo 'test result: ok. 2 passed; 0 failed;'";
        assert_eq!(shell(two), Ok((2, 0)));
        assert!(shell(&format!("{two}; exit 101")).is_err());
        let one_bad = "echo 'test result: FAILED. 2 passed; 1 failed;'; exit 101";
        assert_eq!(shell(one_bad), Ok((2, 1)));
    }
}
