//! The toolchain that builds guests: finds or prepares one with `wasm-toolchain.sh`.

use std::path::Path;
use std::process::{Command, Stdio};

/// Environment variables under which plain `cargo` builds for the guests' target. Empty when the
/// active toolchain does so already.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Env(Vec<(String, String)>);

impl Env {
    /// What tells one prepared toolchain from another, and from itself made anew; empty for the
    /// active toolchain, whose changes cargo notices.
    pub(crate) fn identity(&self) -> String {
        let rustc = self
            .0
            .iter()
            .find(|(key, _)| key == "RUSTC")
            .map(|(_, path)| Path::new(path));
        let stamp = rustc
            .and_then(|path| path.parent()?.parent())
            .map(|sysroot| sysroot.join("stamp"));
        let made = stamp.and_then(|file| std::fs::metadata(file).ok()?.modified().ok());
        made.map_or_else(String::new, |time| format!("{:?} {time:?}", self.0))
    }

    /// A command that runs the right cargo. What the cargo that runs this program set for its own
    /// children is removed: it would name the wrong compiler.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new("cargo");
        for (key, _) in std::env::vars_os() {
            let key_text = key.to_string_lossy();
            let inherited = key_text.starts_with("CARGO_PKG_")
                || key_text.starts_with("CARGO_MANIFEST")
                || matches!(
                    &*key_text,
                    "CARGO" | "RUSTC" | "RUSTUP_TOOLCHAIN" | "LD_LIBRARY_PATH"
                );
            if inherited && !self.0.is_empty() {
                command.env_remove(&key);
            }
        }
        command.envs(self.0.iter().map(|(key, value)| (key, value)));
        command
    }
}

/// Prepares the toolchain, which takes a minute or two the first time, and gives back what selects
/// it. The script's own lines, which say what it does, go to stderr.
pub(crate) fn prepare() -> Result<Env, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("wasm-toolchain.sh");
    let output = Command::new("bash")
        .arg(&script)
        .arg("--env")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run `bash {}`: {error}", script.display()))?;
    if !output.status.success() {
        return Err(format!(
            "no toolchain for wasm32-wasip2: `{} --env` ended with {}; its lines above say why",
            script.display(),
            output.status
        ));
    }
    let lines = String::from_utf8(output.stdout)
        .map_err(|_| format!("{} printed something that is no text", script.display()))?;
    if lines.trim().is_empty() {
        return Ok(Env::default());
    }
    exported(&lines)
}

/// Lets the shell itself read the lines it would be given: quoting is its own matter.
fn exported(lines: &str) -> Result<Env, String> {
    let program = r#"eval "$1"; printf '%s\0%s\0' "$PATH" "$RUSTC""#;
    let output = Command::new("bash")
        .args(["-c", program, "bash", lines])
        .output()
        .map_err(|error| format!("cannot run `bash`: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.split('\0').collect::<Vec<_>>()[..] {
        [path, rustc, ""] if !path.is_empty() && !rustc.is_empty() => Ok(Env(vec![
            ("PATH".to_owned(), path.to_owned()),
            ("RUSTC".to_owned(), rustc.to_owned()),
        ])),
        _ => Err(format!(
            "the toolchain script printed lines that set no PATH and RUSTC: {lines}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::exported;

    #[test]
    fn reads_what_the_script_prints() {
        let env = exported("export PATH='/a b/bin':\"/usr/bin\" RUSTC=/a\\ b/bin/rustc\n").unwrap();
        let pairs: Vec<_> = env
            .0
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        assert_eq!(
            pairs,
            [("PATH", "/a b/bin:/usr/bin"), ("RUSTC", "/a b/bin/rustc")]
        );
    }

    #[test]
    fn refuses_lines_that_select_nothing() {
        let error = exported("unset RUSTC").unwrap_err();
        assert!(error.contains("set no PATH and RUSTC"), "{error}");
    }
}
