//! What the tests need of Debian besides Rust: `strace`, which makes system calls fail, `libfaketime`, which sets
//! a process's clock, and `chromium`, which looks at the dashboard.

use std::{fs, path::PathBuf, process::Command};

/// Where Debian puts its browser.
const CHROMIUM: &str = "/usr/bin/chromium";

/// A package, how it shows that it is there, and the tests that need it.
type Package = (&'static str, fn() -> bool, &'static str);

const PACKAGES: [Package; 2] = [
    ("strace", || runs("strace", &["-V"]), "blackbox/syscalls"),
    ("libfaketime", has_faketime, "blackbox/clock.rs"),
];

/// See that all is there; install Debian's packages when it is not.
pub(crate) fn prepare() -> Result<(), String> {
    see_to(&PACKAGES)
}

/// Debian's browser, installed when it is not here.
pub(crate) fn chromium() -> Result<PathBuf, String> {
    let place = PathBuf::from(CHROMIUM);
    see_to(&[("chromium", || PathBuf::from(CHROMIUM).exists(), "browser")])?;
    Ok(place)
}

fn see_to(packages: &[Package]) -> Result<(), String> {
    let missing: Vec<&Package> = packages
        .iter()
        .filter(|(_, is_there, _)| !is_there())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    // Going on with the lists that are here when there is no way to newer ones.
    let _ = apt(&["update"]);
    for (name, is_there, tests) in missing {
        eprintln!("{name} is not here: installing Debian's package");
        let installed = apt(&[
            "-o",
            "DPkg::Lock::Timeout=300",
            "install",
            "--yes",
            "--no-install-recommends",
            name,
        ]);
        if !(installed && is_there()) {
            return Err(format!(
                "{name} is not here and apt-get cannot install it: install it yourself, tests/{tests} \
                 needs it"
            ));
        }
    }
    Ok(())
}

fn has_faketime() -> bool {
    let places = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    places
        .map(|place| place.path().join("faketime/libfaketime.so.1"))
        .any(|library| library.exists())
}

fn apt(words: &[&str]) -> bool {
    // As root there may be no sudo, and as another user there is no way without it.
    let direct = runs("apt-get", &[&["--quiet=2"], words].concat());
    direct || runs("sudo", &[&["-n", "apt-get", "--quiet=2"], words].concat())
}

fn runs(program: &str, words: &[&str]) -> bool {
    let mut command = Command::new(program);
    command
        .args(words)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdout(std::process::Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn a_program_that_is_not_there_or_fails_does_not_run() {
        assert!(runs("true", &[]));
        assert!(!runs("false", &[]));
        assert!(!runs("no-such-program-anywhere", &[]));
    }
}
