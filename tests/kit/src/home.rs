//! A runner's folders for one test: data directory, plugin folder, config file.

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{Answer, Runner, inputs::workspace, wait};

/// Retries without a wait worth waiting for: what most tests want.
const QUICK: &str = "[kind.flaky]\nbackoff = \"fixed 20ms\"\n";

/// The folders and the program.
#[derive(Debug)]
pub struct Home {
    program: PathBuf,
    folder: TempDir,
    listen: &'static str,
}

/// A built sample plugin.
///
/// # Panics
///
/// When it was not built.
#[must_use]
pub fn plugin(name: &str) -> PathBuf {
    built(&format!("plugins/{name}.wasm"))
}

/// A built component that only tests use.
///
/// # Panics
///
/// When it was not built.
#[must_use]
pub fn guest(name: &str) -> PathBuf {
    built(&format!("tests/guests/{name}.wasm"))
}

fn built(path: &str) -> PathBuf {
    let file = workspace().join(path);
    assert!(
        file.is_file(),
        "{} is not there: run `cargo xtask plugins` first",
        file.display()
    );
    file
}

impl Home {
    /// Empty folders, a config whose retries are quick, and the program at this path, or the one
    /// that `SANDHOG_BIN` names: a release build, an older one.
    ///
    /// # Panics
    ///
    /// When the temporary folder cannot be made.
    #[must_use]
    pub fn new(program: &str) -> Self {
        let folder = TempDir::with_prefix("sandhog-").expect("a temporary folder can be made");
        let home = Self {
            program: std::env::var_os("SANDHOG_BIN").map_or_else(|| program.into(), PathBuf::from),
            folder,
            // Many runners are up at a time.
            listen: "off",
        };
        fs::create_dir(home.plugins()).expect("the plugin folder can be made");
        home.write_config(QUICK);
        home
    }

    /// The same with components laid into the plugin folder: sample plugins by name, and the
    /// misbehaving one.
    #[must_use]
    pub fn with(program: &str, names: &[&str]) -> Self {
        let home = Self::new(program);
        for name in names {
            home.install(name);
        }
        home
    }

    /// The same, with runners that are reached over HTTP at an address of their own.
    #[must_use]
    pub fn over_http(mut self) -> Self {
        self.listen = "127.0.0.1:0";
        self
    }

    /// Lays a component into the plugin folder, by a temporary name and a rename.
    ///
    /// # Panics
    ///
    /// When it was not built or cannot be copied.
    pub fn install(&self, name: &str) {
        let file = match name {
            "misbehave" => guest(name),
            _ => plugin(name),
        };
        let place = self.plugins().join(format!("{name}.wasm"));
        let passing = self.folder.path().join(format!("{name}.passing"));
        fs::copy(file, &passing).expect("a component can be copied");
        fs::rename(passing, place).expect("a component can be renamed");
    }

    /// Lays the file beside a component that says what it is granted.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    pub fn grant(&self, name: &str, toml: &str) {
        let place = self.plugins().join(format!("{name}.toml"));
        let passing = self.folder.path().join(format!("{name}.grants"));
        fs::write(&passing, toml).expect("the grants can be written");
        fs::rename(passing, place).expect("the grants can be renamed");
    }

    /// Everything below this folder is the test's own.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The data directory.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The plugin folder.
    #[must_use]
    pub fn plugins(&self) -> PathBuf {
        self.folder.path().join("plugins")
    }

    /// The config file.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.folder.path().join("sandhog.toml")
    }

    /// Replaces the config file; data directory and plugin folder stay the test's.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    pub fn write_config(&self, kinds: &str) {
        fs::write(self.config(), kinds).expect("the config can be written");
    }

    /// A command of the program on these folders, its output not yet asked for.
    #[must_use]
    pub fn command<S: AsRef<OsStr>>(&self, words: &[S]) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SANDHOG_") {
                command.env_remove(name);
            }
        }
        command
            .args(words)
            .env("SANDHOG_DATA", self.data())
            .env("SANDHOG_PLUGINS", self.plugins())
            .env("SANDHOG_CONFIG", self.config())
            .env("SANDHOG_LISTEN", self.listen)
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    ///
    /// # Panics
    ///
    /// When the program cannot be started.
    #[must_use]
    pub fn run<S: AsRef<OsStr>>(&self, words: &[S]) -> Answer {
        let out = self.command(words).output().expect("the program starts");
        Answer {
            words: spoken(words),
            code: out.status.code().unwrap_or(-1),
            stdout: out.stdout,
            stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
        }
    }

    /// The same with bytes on its stdin.
    ///
    /// # Panics
    ///
    /// When the program cannot be started.
    #[must_use]
    pub fn run_with<S: AsRef<OsStr>>(&self, words: &[S], input: &[u8]) -> Answer {
        let mut command = self.command(words);
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("stdin was asked for");
        let input = input.to_vec();
        // The program may stop reading early; that is for its exit code to say.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let out = child.wait_with_output().expect("the program ends");
        writer.join().expect("writing does not panic");
        Answer {
            words: spoken(words),
            code: out.status.code().unwrap_or(-1),
            stdout: out.stdout,
            stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
        }
    }

    /// The JSON value of a command that succeeds.
    ///
    /// # Panics
    ///
    /// When it fails or gives no JSON.
    #[track_caller]
    #[must_use]
    pub fn json<S: AsRef<OsStr>>(&self, words: &[S]) -> Value {
        let mut all: Vec<&OsStr> = words.iter().map(AsRef::as_ref).collect();
        all.extend([OsStr::new("-o"), OsStr::new("json")]);
        self.run(&all).exits(0).json()
    }

    /// Enqueues one job and gives its id.
    ///
    /// # Panics
    ///
    /// When it is refused.
    #[track_caller]
    #[must_use]
    pub fn enqueue(&self, words: &[&str]) -> String {
        let mut all = vec!["enqueue"];
        all.extend(words);
        let id = self.run(&all).exits(0).text();
        assert_eq!(id.len(), 26, "enqueue printed no job id but {id:?}");
        id
    }

    /// Every row of a list, this many a page, and the number of pages.
    ///
    /// # Panics
    ///
    /// When a page is no list.
    #[track_caller]
    #[must_use]
    pub fn walk(&self, words: &[&str], limit: &str) -> (Vec<Value>, usize) {
        let (mut rows, mut pages) = (Vec::new(), 0);
        let mut cursor: Option<String> = None;
        loop {
            let mut all = words.to_vec();
            all.extend(["--limit", limit, "-o", "json"]);
            if let Some(cursor) = &cursor {
                all.extend(["--cursor", cursor]);
            }
            let page = self.run(&all).exits(0);
            rows.extend(page.rows());
            pages += 1;
            cursor = page.cursor();
            if cursor.is_none() {
                return (rows, pages);
            }
        }
    }

    /// A job as `job show` tells it.
    #[track_caller]
    #[must_use]
    pub fn job(&self, id: &str) -> Value {
        self.json(&["job", "show", id])
    }

    /// Waits until the job is in this state, and gives it.
    ///
    /// # Panics
    ///
    /// When it is not within 60 s.
    #[track_caller]
    #[must_use]
    pub fn job_in(&self, id: &str, state: &str) -> Value {
        let mut last = Value::Null;
        let what = format!("job {id} to be {state}");
        wait::until(&what, Duration::from_secs(60), || {
            last = self.job(id);
            (last["state"] == state).then(|| last.clone())
        })
    }

    /// Starts a runner on these folders and waits until it answers.
    #[track_caller]
    #[must_use]
    pub fn start(&self) -> Runner {
        Runner::start(self)
    }
}

fn spoken<S: AsRef<OsStr>>(words: &[S]) -> String {
    let words: Vec<_> = words
        .iter()
        .map(|word| word.as_ref().to_string_lossy())
        .collect();
    words.join(" ")
}
