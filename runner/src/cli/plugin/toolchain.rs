//! A Rust toolchain that builds for the guests' target, prepared by the script this program carries.

use std::{
    env, fs,
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::UNIX_EPOCH,
};

use anyhow::{Context as _, bail};

use super::tool::{self, GET_RUST};

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

/// Lines of the script for someone who runs it by hand, or that nothing had to be done.
const ASIDES: [&str; 3] = [
    "already there",
    "build a guest with",
    "or put it in this shell",
];

/// Find a toolchain or make one, which takes a minute or two the first time. `tell` hears what is
/// done for it, and everything when it fails.
pub(super) fn prepare(tell: &mut dyn FnMut(&str)) -> anyhow::Result<Toolchain> {
    let mut script = tempfile::NamedTempFile::new().context("cannot write the toolchain script")?;
    script
        .write_all(SCRIPT.as_bytes())
        .context("cannot write the toolchain script")?;
    let output = said(Command::new("bash").arg(script.path()).arg("--env"), tell)
        .context("cannot run `bash`, which prepares the toolchain")?;
    if !output.status.success() {
        let get = match tool::find("rustup") {
            Some(_) => format!("rustup target add {TARGET}"),
            None => format!("{GET_RUST} && rustup target add {TARGET}"),
        };
        bail!("no toolchain for {TARGET}: the lines above say why; get one by: {get}");
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    if lines.trim().is_empty() {
        return Ok(Toolchain::Active);
    }
    selected(&lines)
}

/// Run the script, and pass on what it says as it comes, asides only when it fails.
fn said(script: &mut Command, tell: &mut dyn FnMut(&str)) -> io::Result<Output> {
    // Its standard output is a line that fits a pipe, so it can be read after the other stream.
    let mut running = script
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut asides = Vec::new();
    for line in running
        .stderr
        .take()
        .map(BufReader::new)
        .into_iter()
        .flat_map(|lines| lines.split(b'\n'))
    {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        match ASIDES.iter().any(|aside| line.contains(aside)) {
            true => asides.push(line.into_owned()),
            false => tell(&line),
        }
    }
    let output = running.wait_with_output()?;
    if !output.status.success() {
        asides.iter().for_each(|line| tell(line));
    }
    Ok(output)
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
    fn asides_of_the_script_are_for_failures() {
        let told = |end: &str| {
            let mut told = Vec::new();
            let lines = "echo env; { echo std is here, already there; echo compiling std; \
                         echo build a guest with: x; echo or put it in this shell with: y; } >&2";
            let mut script = Command::new("bash");
            let script = script.args(["-c", &format!("{lines}; {end}")]);
            let output = said(script, &mut |line| told.push(line.to_owned())).unwrap();
            assert_eq!(output.stdout, b"env\n");
            told
        };
        assert_eq!(told("exit 0"), ["compiling std"]);
        assert_eq!(told("exit 1").len(), 4);
    }

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
