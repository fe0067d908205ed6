//! The one program the tests need besides Rust: `strace`, which makes system calls fail.

use std::process::Command;

/// See that `strace` is there; install Debian's package when it is not.
pub(crate) fn prepare() -> Result<(), String> {
    if runs("strace", &["-V"]) {
        return Ok(());
    }
    eprintln!("strace is not here: installing Debian's package");
    // Going on with the lists that are here when there is no way to newer ones.
    let _ = apt(&["update"]);
    let installed = apt(&[
        "-o",
        "DPkg::Lock::Timeout=300",
        "install",
        "--yes",
        "--no-install-recommends",
        "strace",
    ]);
    if installed && runs("strace", &["-V"]) {
        return Ok(());
    }
    Err(
        "strace is not here and apt-get cannot install it: install it yourself, the tests in \
         tests/blackbox/syscalls need it"
            .to_owned(),
    )
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
