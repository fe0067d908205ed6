//! Programs that build and test handlers: where they are, or how to get them.

use std::{
    env,
    ffi::OsStr,
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail};

/// How to get Rust where nothing of it is there.
pub(super) const GET_RUST: &str = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh";

/// A program in one of the folders of `PATH`.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    within(&env::var_os("PATH")?, program)
}

fn within(path: &OsStr, program: &str) -> Option<PathBuf> {
    env::split_paths(path)
        .map(|folder| folder.join(program))
        .find(|file| is_program(file))
}

/// A program that a project brought into its own folder.
pub(super) fn own(dir: &Path, file: &str) -> Option<PathBuf> {
    // The command may run in another folder than this one.
    let file = std::path::absolute(dir.join(file)).ok()?;
    is_program(&file).then_some(file)
}

fn is_program(file: &Path) -> bool {
    let metadata = file.metadata();
    metadata.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// What is missing and the command that gets it, to be given in the handler's folder.
pub(super) fn missing(dir: &Path, what: &str, command: &str) -> anyhow::Error {
    let dir = match dir == Path::new(".") {
        true => String::new(),
        false => format!("cd {} && ", dir.display()),
    };
    anyhow::anyhow!("{what} is not here, get it by: {dir}{command}")
}

/// Run a program to its end in a folder. What it says is no answer of ours, so all of it goes to
/// standard error.
pub(super) fn run(command: &mut Command, dir: &Path) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .with_context(|| format!("cannot run `{name}`"))?;
    if !status.success() {
        let words: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
        bail!(
            "`{name} {}` in {}: {status}",
            words.join(" "),
            dir.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_program_is_a_file_that_can_be_run() {
        let folder = tempfile::tempdir().unwrap();
        let (empty, full) = (folder.path().join("a"), folder.path().join("b"));
        fs::create_dir_all(empty.join("tool")).unwrap();
        fs::create_dir(&full).unwrap();
        fs::write(full.join("tool"), "#!/bin/sh\n").unwrap();
        let path = env::join_paths([&empty, &full]).unwrap();
        assert_eq!(within(&path, "tool"), None);
        fs::set_permissions(full.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(within(&path, "tool"), Some(full.join("tool")));
        assert_eq!(own(folder.path(), "b/tool"), Some(full.join("tool")));
        assert_eq!(own(folder.path(), "a/tool"), None);
    }

    #[test]
    fn what_is_missing_comes_with_the_command_that_gets_it() {
        let told = |dir: &str| missing(Path::new(dir), "x", "get x").to_string();
        assert_eq!(told("."), "x is not here, get it by: get x");
        assert_eq!(told("a/b"), "x is not here, get it by: cd a/b && get x");
    }

    #[test]
    fn a_program_that_fails_is_named_with_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        let why = run(command.args(["-c", "exit 3"]), folder.path()).unwrap_err();
        assert!(why.to_string().contains("`sh -c exit 3` in "), "{why}");
        assert!(why.to_string().contains("exit status: 3"), "{why}");
        run(
            Command::new("sh").args(["-c", "test -e x || touch x"]),
            folder.path(),
        )
        .unwrap();
        assert!(folder.path().join("x").is_file());
    }
}
