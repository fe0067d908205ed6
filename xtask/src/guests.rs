//! Builds the guests of this repository as components.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::toolchain::{self, Env};

const TARGET: &str = "wasm32-wasip2";
const PROFILE: &str = "guest";
const PLUGINS: [&str; 4] = ["thumbnail", "table", "page", "webhook"];
const MISBEHAVE: &str = "misbehave";

/// Builds the sample plugins and lays them into `plugins/NAME.wasm`. A file that would not change
/// is left alone, so that a runner watching the folder does not load it again.
pub(crate) fn build_plugins(root: &Path) -> Result<Vec<PathBuf>, String> {
    let built = build(root, &PLUGINS)?;
    let mut laid = Vec::new();
    for (name, component) in PLUGINS.iter().zip(built) {
        let place = root.join("plugins").join(format!("{name}.wasm"));
        replace_if_changed(&component, &place)
            .map_err(|error| format!("cannot write {}: {error}", place.display()))?;
        laid.push(place);
    }
    Ok(laid)
}

/// Builds the component that misbehaves, for tests. It stays where cargo puts it:
/// `guests/wasm32-wasip2/guest/misbehave.wasm` in the target directory.
pub(crate) fn build_misbehave(root: &Path) -> Result<PathBuf, String> {
    let built = build(root, &[MISBEHAVE])?;
    built
        .into_iter()
        .next()
        .ok_or_else(|| "nothing was built".to_owned())
}

/// Runs cargo once for all packages, into a target directory of their own: the guests' compiler may
/// be another one than the host's, and each would throw away what the other built.
fn build(root: &Path, packages: &[&str]) -> Result<Vec<PathBuf>, String> {
    let env: Env = toolchain::prepare()?;
    let target = target_dir(root);
    forget_other_toolchain(&target, &env.identity())
        .map_err(|error| format!("cannot clear {}: {error}", target.display()))?;
    let mut command = env.cargo();
    command.current_dir(root).env("CARGO_TARGET_DIR", &target);
    command.args([
        "build",
        "--quiet",
        "--locked",
        "--target",
        TARGET,
        "--profile",
        PROFILE,
    ]);
    for package in packages {
        command.args(["--package", package]);
    }
    let status = command
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err(format!(
            "cargo could not build {}: {status}",
            packages.join(", ")
        ));
    }
    let folder = target.join(TARGET).join(PROFILE);
    let file = |package: &&str| folder.join(format!("{}.wasm", package.replace('-', "_")));
    Ok(packages.iter().map(file).collect())
}

/// A sysroot made anew keeps its path and its compiler's version, so cargo would go on with what was
/// built against the old one, and rustc would not find its crates (E0463).
fn forget_other_toolchain(target: &Path, identity: &str) -> io::Result<()> {
    let note = target.join("toolchain");
    if fs::read_to_string(&note).is_ok_and(|known| known == identity) {
        return Ok(());
    }
    match fs::remove_dir_all(target.join(TARGET)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(target)?,
    }
    fs::write(note, identity)
}

/// `guests` in the target directory that cargo itself would use.
fn target_dir(root: &Path) -> PathBuf {
    let chosen = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root.join(chosen.unwrap_or_else(|| "target".into()))
        .join("guests")
}

/// Copies by a temporary name and a rename: whoever watches the folder sees the old file or the new.
fn replace_if_changed(from: &Path, to: &Path) -> io::Result<()> {
    let new = fs::read(from)?;
    if fs::read(to).is_ok_and(|old| old == new) {
        return Ok(());
    }
    let mut name = to.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = to.with_file_name(name);
    fs::write(&temporary, &new)
        .and_then(|()| fs::rename(&temporary, to))
        .inspect_err(|_| drop(fs::remove_file(&temporary)))
}

#[cfg(test)]
mod tests {
    use super::{TARGET, forget_other_toolchain, replace_if_changed};
    use std::fs;

    #[test]
    fn another_toolchain_starts_over() {
        let target = std::env::temp_dir().join(format!("xtask-target-{}", std::process::id()));
        let built = target.join(TARGET).join("built");
        forget_other_toolchain(&target, "a").unwrap();
        fs::create_dir_all(&built).unwrap();
        forget_other_toolchain(&target, "a").unwrap();
        assert!(built.exists());
        forget_other_toolchain(&target, "b").unwrap();
        assert!(!built.exists());
        fs::remove_dir_all(&target).unwrap();
    }

    #[test]
    fn a_file_is_replaced_only_when_it_differs() {
        let folder = std::env::temp_dir().join(format!("xtask-guests-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::write(&from, "one").unwrap();
        replace_if_changed(&from, &to).unwrap();
        let first = fs::metadata(&to).unwrap().modified().unwrap();
        replace_if_changed(&from, &to).unwrap();
        assert_eq!(fs::metadata(&to).unwrap().modified().unwrap(), first);
        fs::write(&from, "two").unwrap();
        replace_if_changed(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"two");
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            2,
            "a temporary file stayed"
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}
