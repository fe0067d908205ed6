//! Other programs: cargo, the runner, and waiting for them within a bound.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{fs::FileTypeExt, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// How often an outside process is looked at while it is waited for.
const POLL: Duration = Duration::from_millis(10);

/// Cargo, in the workspace.
pub(crate) fn cargo(root: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root);
    command
}

/// Runs a command with its output shown, and says which one failed.
pub(crate) fn run(what: &str, command: &mut Command) -> Result<(), String> {
    let status = command
        .status()
        .map_err(|e| format!("cannot start {what}: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{what} failed: {status}"))
    }
}

/// Cargo's target folder, wherever the user keeps it.
pub(crate) fn target(root: &Path) -> Result<PathBuf, String> {
    let out = cargo(root)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .map_err(|e| format!("cannot start cargo metadata: {e}"))?;
    let metadata: Value = serde_json::from_slice(&out.stdout)
        .map_err(|e| format!("cargo metadata gave no JSON: {e}"))?;
    match metadata["target_directory"].as_str() {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => Err("cargo metadata names no target_directory".to_owned()),
    }
}

/// Builds the runner and gives the program.
pub(crate) fn build_runner(root: &Path) -> Result<PathBuf, String> {
    let mut build = cargo(root);
    build.args(["build", "--package", "sandhog", "--bin", "sandhog"]);
    run("cargo build --package sandhog", &mut build)?;
    Ok(target(root)?.join("debug/sandhog"))
}

/// The runner's program with the folders it works on.
pub(crate) struct Sandhog {
    /// The program.
    pub(crate) program: PathBuf,
    /// The data directory.
    pub(crate) data: PathBuf,
    /// The plugin folder.
    pub(crate) plugins: PathBuf,
    /// Where a started runner's own log goes.
    pub(crate) log: PathBuf,
}

/// What a command of the runner gave.
pub(crate) struct Answer {
    /// Its exit code.
    pub(crate) code: i32,
    /// Its one JSON value, `Null` when there is none.
    pub(crate) json: Value,
    /// What it said on stderr.
    pub(crate) said: String,
}

impl Answer {
    /// The cursor that a list ends with when there is more: it is named on stderr.
    pub(crate) fn cursor(&self) -> Option<String> {
        let after = self.said.split_once("--cursor ")?.1;
        let word = after.split_whitespace().next()?;
        Some(word.trim_matches(['`', '\'', '"', ',', '.']).to_owned())
    }
}

impl Sandhog {
    /// Starts a runner and waits, 60 s at most, until it answers.
    pub(crate) fn start(&self) -> Result<Held, String> {
        self.start_at("off")
    }

    /// The same with one that is reached over HTTP.
    pub(crate) fn start_at(&self, listen: &str) -> Result<Held, String> {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)
            .map_err(|e| format!("cannot open {}: {e}", self.log.display()))?;
        let child = Command::new(&self.program)
            .arg("start")
            .arg("--data")
            .arg(&self.data)
            .arg("--plugins")
            .arg(&self.plugins)
            .args(["--listen", listen])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|e| format!("cannot start {}: {e}", self.program.display()))?;
        let mut held = Held(child);
        until("the runner to answer", Duration::from_secs(60), || {
            if let Ok(Some(status)) = held.0.try_wait() {
                let said = fs::read_to_string(&self.log).unwrap_or_default();
                return Err(format!("the runner ended at once: {status}\n{said}"));
            }
            Ok(answers(&self.data).then_some(()))
        })?;
        Ok(held)
    }

    /// Runs a command of the runner, JSON asked for, and gives whatever came of it.
    pub(crate) fn ask<S: AsRef<OsStr>>(&self, words: &[S]) -> Result<Answer, String> {
        let out = Command::new(&self.program)
            .args(words)
            .args(["-o", "json", "--data"])
            .arg(&self.data)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("cannot start {}: {e}", self.program.display()))?;
        Ok(Answer {
            code: out.status.code().unwrap_or(-1),
            json: serde_json::from_slice(&out.stdout).unwrap_or(Value::Null),
            said: String::from_utf8_lossy(&out.stderr).into_owned(),
        })
    }

    /// The same for a command that has to succeed.
    pub(crate) fn tell<S: AsRef<OsStr>>(&self, words: &[S]) -> Result<Answer, String> {
        let answer = self.ask(words)?;
        if answer.code == 0 {
            return Ok(answer);
        }
        let words: Vec<_> = words.iter().map(|w| w.as_ref().to_string_lossy()).collect();
        let (words, code) = (words.join(" "), answer.code);
        Err(format!(
            "sandhog {words} ended with {code}: {}",
            answer.said.trim()
        ))
    }
}

/// A runner of ours. It is killed when it is let go.
pub(crate) struct Held(Child);

impl Held {
    /// `kill -9`.
    pub(crate) fn kill(mut self) -> Result<(), String> {
        self.0
            .kill()
            .map_err(|e| format!("cannot kill the runner: {e}"))
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether a runner listens on a socket in the data directory.
fn answers(data: &Path) -> bool {
    let Ok(entries) = fs::read_dir(data) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let socket = entry.file_type().is_ok_and(|kind| kind.is_socket());
        socket && UnixStream::connect(entry.path()).is_ok()
    })
}

/// Looks again and again until there is something, for at most `bound`.
pub(crate) fn until<T>(
    what: &str,
    bound: Duration,
    mut look: impl FnMut() -> Result<Option<T>, String>,
) -> Result<T, String> {
    let start = Instant::now();
    loop {
        if let Some(seen) = look()? {
            return Ok(seen);
        }
        if start.elapsed() > bound {
            return Err(format!("waited {} s in vain for {what}", bound.as_secs()));
        }
        thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::{answers, until};
    use std::{fs, os::unix::net::UnixListener, time::Duration};

    #[test]
    fn waiting_has_an_end() {
        let mut looks = 0;
        let seen = until("a third look", Duration::from_secs(60), || {
            looks += 1;
            Ok((looks == 3).then_some(looks))
        });
        assert_eq!(seen, Ok(3));
        let never = until("nothing", Duration::ZERO, || Ok(None::<()>));
        assert_eq!(never, Err("waited 0 s in vain for nothing".to_owned()));
    }

    #[test]
    fn a_socket_counts_only_while_someone_listens() {
        let folder = std::env::temp_dir().join(format!("xtask-socket-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert!(!answers(&folder));
        let listener = UnixListener::bind(folder.join("s")).unwrap();
        assert!(answers(&folder));
        drop(listener);
        assert!(folder.join("s").exists() && !answers(&folder));
        fs::remove_dir_all(&folder).unwrap();
    }
}
