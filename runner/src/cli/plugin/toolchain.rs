//! A Rust toolchain that builds for the guests' target, prepared by the script this program carries.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::UNIX_EPOCH,
};

use anyhow::{Context as _, bail};

/// The guests' target.
pub(super) const TARGET: &str = "wasm32-wasip2";

const SCRIPT: &str = include_str!("../../../../xtask/wasm-toolchain.sh");

/// A toolchain.
pub(super) enum Toolchain {
    /// The active one has the target.
    Active,
    /// One of its own, with what selects it.
    Own {
        /// `PATH` with its cargo first.
        path: String,
        /// Its compiler.
        rustc: PathBuf,
    },
}

/// Find a toolchain or make one, which takes a minute or two the first time. The script says on
/// standard error what it does.
pub(super) fn prepare() -> anyhow::Result<Toolchain> {
    let mut script = tempfile::NamedTempFile::new().context("cannot write the toolchain script")?;
    script
        .write_all(SCRIPT.as_bytes())
        .context("cannot write the toolchain script")?;
    let output = Command::new("bash")
        .arg(script.path())
        .arg("--env")
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run `bash`, which prepares the toolchain")?;
    if !output.status.success() {
        bail!(
            "no toolchain for {TARGET}: the lines above say why, or run `rustup target add {TARGET}`"
        );
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    if lines.trim().is_empty() {
        return Ok(Toolchain::Active);
    }
    selected(&lines)
}

/// Let the shell read the lines it would be given: quoting is its own matter.
fn selected(lines: &str) -> anyhow::Result<Toolchain> {
    let output = Command::new("bash")
        .args([
            "-c",
            r#"eval "$1"; printf '%s\0%s\0' "$PATH" "$RUSTC""#,
            "bash",
            lines,
        ])
        .env_remove("RUSTC")
        .output()
        .context("cannot run `bash`")?;
    let said = String::from_utf8_lossy(&output.stdout);
    match said.split('\0').collect::<Vec<_>>()[..] {
        [path, rustc, ""] if !path.is_empty() && !rustc.is_empty() => Ok(Toolchain::Own {
            path: path.into(),
            rustc: rustc.into(),
        }),
        _ => bail!("the toolchain script selects no compiler: {}", lines.trim()),
    }
}

impl Toolchain {
    /// A command that runs its cargo.
    pub(super) fn cargo(&self) -> Command {
        let mut command = Command::new("cargo");
        if let Self::Own { path, rustc } = self {
            // When cargo runs us, what it set for its children names its own compiler.
            for (key, _) in env::vars_os() {
                let name = key.to_string_lossy();
                let cargos = name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST");
                if cargos || ["CARGO", "RUSTUP_TOOLCHAIN", "LD_LIBRARY_PATH"].contains(&&*name) {
                    command.env_remove(&key);
                }
            }
            command.env("PATH", path).env("RUSTC", rustc);
        }
        command
    }

    /// The folder below `target` to build in; `None` for cargo's own. A toolchain that was made anew
    /// gets a fresh one: cargo does not notice, and the compiler would not find its crates.
    pub(super) fn target_folder(&self) -> Option<String> {
        let Self::Own { rustc, .. } = self else {
            return None;
        };
        let stamp = rustc.parent().and_then(Path::parent)?.join("stamp");
        let made = fs::metadata(stamp).and_then(|data| data.modified()).ok();
        let since = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok());
        Some(format!(
            "guest-{:x}",
            since.map_or(0, |since| since.as_secs())
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_script_select_a_compiler() {
        let chosen = selected("export PATH='/a b':\"/usr/bin\" RUSTC=/a\\ b/bin/rustc\n").unwrap();
        let Toolchain::Own { path, rustc } = chosen else {
            panic!()
        };
        assert_eq!(
            (path.as_str(), rustc),
            ("/a b:/usr/bin", "/a b/bin/rustc".into())
        );
        assert!(selected("true").is_err());
    }

    #[test]
    fn a_toolchain_made_anew_builds_in_another_folder() {
        let folder = tempfile::tempdir().unwrap();
        let own = Toolchain::Own {
            path: "/bin".into(),
            rustc: folder.path().join("bin/rustc"),
        };
        let first = own.target_folder().unwrap();
        fs::write(folder.path().join("stamp"), "x").unwrap();
        assert_ne!(own.target_folder().unwrap(), first);
        assert_eq!(Toolchain::Active.target_folder(), None);
    }
}
