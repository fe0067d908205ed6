//! `cargo xtask languages`: handlers in Python, JavaScript and C. Installs the tools of each, runs the tests of
//! its SDK, its sample and its template natively, and builds them and the handlers that a test tries.
//!
//! All of it lies in `languages` in the target directory: the tools in folders of their own, the components, and
//! for a language whose tools cannot be had a note why.

mod c;
mod js;
mod python;
pub(crate) mod stage;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::process;

/// The languages, as they are named on the command line.
pub(crate) const NAMES: [&str; 3] = ["python", "js", "c"];

/// Why a language's components are not there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotBuilt {
    /// Its tools cannot be had on this machine.
    NotRun(String),
    /// They were there, and it failed.
    Failed(String),
}

/// Where things lie.
pub(crate) struct Place {
    /// The workspace.
    root: PathBuf,
    /// Where tools, components and notes go.
    out: PathBuf,
}

/// A component that was built.
struct Built {
    file: PathBuf,
    took: Duration,
}

impl Place {
    fn tools(&self, language: &str) -> PathBuf {
        self.out.join("tools").join(language)
    }

    /// The folder that something is built in, as a user's would be.
    fn stage(&self, name: &str) -> PathBuf {
        self.out.join("stage").join(name)
    }

    fn component(&self, name: &str) -> PathBuf {
        self.out.join(format!("{name}.wasm"))
    }

    fn note(&self, language: &str) -> PathBuf {
        self.out.join(format!("{language}.not-run"))
    }
}

/// Does all of it for one language, or for each. A language whose tools cannot be had is no failure; it is said on
/// stderr, and the tests that would run its components say it too.
pub(crate) fn run(root: &Path, only: Option<&str>) -> Result<(), String> {
    let out = process::target(root)?.join("languages");
    fs::create_dir_all(&out).map_err(|e| format!("cannot make {}: {e}", out.display()))?;
    let place = Place {
        root: root.to_path_buf(),
        out,
    };
    let mut failed = Vec::new();
    for language in NAMES {
        if only.is_some_and(|only| only != language) {
            continue;
        }
        // What an earlier run said or built says nothing about this one.
        let _ = fs::remove_file(place.note(language));
        let built = match language {
            "python" => python::build(&place),
            "js" => js::build(&place),
            _ => c::build(&place),
        };
        match built {
            Ok(built) => built.iter().for_each(show),
            Err(NotBuilt::NotRun(why)) => {
                eprintln!("NOT RUN: {language}: {why}");
                let note = place.note(language);
                fs::write(&note, why)
                    .map_err(|e| format!("cannot write {}: {e}", note.display()))?;
            }
            Err(NotBuilt::Failed(why)) => failed.push(format!("{language}: {why}")),
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.join("\n")),
    }
}

fn show(built: &Built) {
    let size = fs::metadata(&built.file).map_or(0, |meta| meta.len());
    println!(
        "{:>6} KiB  {:>5.1} s  {}",
        size.div_ceil(1024),
        built.took.as_secs_f64(),
        built.file.display()
    );
}

/// Runs a command that must succeed; what it said is told when it does not.
fn succeed(what: &str, command: &mut Command) -> Result<(), String> {
    let out = command
        .output()
        .map_err(|e| format!("cannot start {what}: {e}"))?;
    if out.status.success() {
        return Ok(());
    }
    Err(format!(
        "{what} failed: {}\n{}{}",
        out.status,
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    ))
}

/// The same for tests and builds, whose failure is ours.
fn pass(what: &str, command: &mut Command) -> Result<(), NotBuilt> {
    succeed(what, command).map_err(NotBuilt::Failed)
}

/// The same for getting tools, whose failure is the machine's.
pub(crate) fn get(what: &str, command: &mut Command) -> Result<(), NotBuilt> {
    succeed(what, command).map_err(NotBuilt::NotRun)
}

/// Builds a component and looks how long that takes.
fn built(file: PathBuf, what: &str, command: &mut Command) -> Result<Built, NotBuilt> {
    // A component of an earlier run must not pass for this one's.
    let _ = fs::remove_file(&file);
    let start = Instant::now();
    pass(what, command)?;
    if !file.is_file() {
        return Err(NotBuilt::Failed(format!(
            "{what} left no {}",
            file.display()
        )));
    }
    let took = start.elapsed();
    Ok(Built { file, took })
}

/// Installs something into a folder that is only its own, unless this version of it is there already.
pub(crate) fn install(
    folder: &Path,
    version: &str,
    how: impl FnOnce() -> Result<(), NotBuilt>,
) -> Result<(), NotBuilt> {
    let note = folder.join("installed");
    if fs::read_to_string(&note).is_ok_and(|known| known == version) {
        return Ok(());
    }
    let broken =
        |e: std::io::Error| NotBuilt::NotRun(format!("cannot prepare {}: {e}", folder.display()));
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(broken)?;
    }
    fs::create_dir_all(folder).map_err(broken)?;
    how()?;
    fs::write(&note, version).map_err(broken)
}

#[cfg(test)]
mod tests {
    use super::{NotBuilt, install, succeed};
    use std::{cell::Cell, fs, process::Command};

    #[test]
    fn what_is_installed_is_not_installed_again() {
        let folder = std::env::temp_dir().join(format!("xtask-install-{}", std::process::id()));
        let times = Cell::new(0);
        let one = |version: &str| {
            install(&folder, version, || {
                times.set(times.get() + 1);
                Ok(())
            })
        };
        assert_eq!((one("1"), one("1"), times.get()), (Ok(()), Ok(()), 1));
        fs::write(folder.join("of-1"), "").unwrap();
        assert_eq!((one("2"), times.get()), (Ok(()), 2));
        assert!(
            !folder.join("of-1").exists(),
            "another version's files stay"
        );
        let broken = install(&folder, "3", || Err(NotBuilt::NotRun("no way".into())));
        assert_eq!(broken, Err(NotBuilt::NotRun("no way".into())));
        assert_eq!((one("3"), times.get()), (Ok(()), 3));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_failure_says_what_was_said() {
        let told = succeed(
            "it",
            Command::new("sh").args(["-c", "echo why >&2; exit 3"]),
        );
        let told = told.unwrap_err();
        assert!(told.contains("it failed") && told.contains("why"), "{told}");
        assert!(succeed("it", &mut Command::new("no-such-program")).is_err());
    }
}
