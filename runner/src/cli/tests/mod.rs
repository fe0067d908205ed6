//! Commands from their words to their answer, on a directory alone and beside a runner.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    time::Duration,
};

use sandhog_model::{JobId, Outcome as Ended, Output};
use serde_json::Value;

use super::*;
use crate::{
    api::{Ctx, Handle, Options, SOCKET_NAME, Server, double},
    plugin::{Catalog, Checked, Limits, Plugin, Problem, Report, Tried, parse_grants},
};

mod bench;
mod cron;
mod dead;
mod jobs;
mod many;
mod plugins;
mod rest;

/// The rest of the program, as far as the tests need one.
pub(super) struct Desk {
    double: Arc<double::Double>,
    folder: tempfile::TempDir,
    held: bool,
    opened: AtomicU32,
}

struct Answer {
    code: String,
    out: String,
    err: String,
}

impl Rooms for Desk {
    fn start(&self, config: Config, _: ReadSettings) -> anyhow::Result<ExitCode> {
        // As a runner's threads do.
        let (done, ended) = mpsc::channel();
        std::thread::spawn(move || {
            drop(io::stderr().lock());
            drop(io::stdout().lock());
            drop(io::stdin().lock());
            done.send(())
        });
        ended.recv_timeout(Duration::from_secs(10))?;
        anyhow::ensure!(
            config.runner.workers == 3,
            "{} workers",
            config.runner.workers
        );
        Ok(ExitCode::from(42))
    }

    fn usable(&self, _: &Config) -> Result<(), config::ConfigError> {
        Ok(())
    }

    fn open(&self, config: &Config) -> Result<Ctx, OpenError> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        if self.held {
            return Err(OpenError::Held {
                data: config.runner.data.clone(),
                holder: "pid 77".into(),
            });
        }
        Ok(self.double.ctx(false))
    }

    fn holder(&self, _: &Config) -> Option<String> {
        self.held.then(|| "pid 77".to_owned())
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(1500)
    }

    fn catalog(&self, _: &Config) -> anyhow::Result<Catalog> {
        Ok(Catalog {
            problems: vec![problem()],
            ..Catalog::default()
        })
    }

    fn check_plugins(
        &self,
        _: &Config,
        files: &[PathBuf],
    ) -> anyhow::Result<Vec<Result<Checked, Problem>>> {
        let is_python = files[0].ends_with("python.wasm");
        assert!(
            files.len() == 1 && (is_python || files[0].ends_with("a.wasm")),
            "{files:?}"
        );
        let running: &dyn crate::engine::Running = &double::Engine;
        let mut plugin = (*running.catalog().plugins["page"]).clone();
        let toml = "[[grants.http]]\norigin = \"https://a.b\"\nmethods = [\"GET\"]\n";
        if is_python {
            plugin.sdk = "sandhog-python 0.1.0".into();
        }
        plugin.asks = parse_grants(toml).ok().map(Arc::new);
        Ok(vec![Ok(Checked {
            plugin,
            imports: vec!["sandhog:job/enqueue@0.1.0".into()],
        })])
    }

    fn tryout(&self, _: &Config, file: &Path) -> Result<Box<dyn Tryout>, Problem> {
        if file.ends_with("cut.wasm") {
            return Err(problem());
        }
        let running: &dyn crate::engine::Running = &double::Engine;
        let mut plugin = (*running.catalog().plugins["page"]).clone();
        let later = crate::plugin::KindInfo {
            kind: "later".into(),
            ..plugin.kinds[0].clone()
        };
        if file.ends_with("two.wasm") {
            plugin.kinds.push(later);
        }
        Ok(Box::new(Tries(plugin)))
    }

    fn measure(&self, config: &Config, file: &Path) -> Result<Box<dyn Measure>, Problem> {
        let durable = config.store.durability == config::Durability::Commit;
        // One that has more kinds than one is tried with `two.wasm`.
        let tryout = self.tryout(config, file)?;
        Ok(Box::new(bench::Measures {
            plugin: tryout.plugin().clone(),
            durable,
        }))
    }

    fn check_log(&self, config: &Config) -> anyhow::Result<LogCheck> {
        Ok(LogCheck {
            segments: 1,
            records: 2,
            bytes: 300,
            dead_letters: 0,
            findings: vec![Finding {
                file: config.runner.data.join("1.seg"),
                offset: 77,
                what: "bad checksum".into(),
                damage: true,
            }],
        })
    }

    fn repair_log(&self, config: &Config, dry_run: bool) -> anyhow::Result<LogRepair> {
        if self.held {
            anyhow::bail!("a runner is up");
        }
        let data = &config.runner.data;
        let hole = Finding {
            file: data.join("1.seg"),
            offset: 77,
            what: format!("bad checksum, dry run {dry_run}"),
            damage: true,
        };
        let affected = (1..=25).map(|id| (JobId(id), "it cannot be run"));
        Ok(LogRepair {
            logs: vec![RepairedLog {
                log: data.join("logs"),
                kept: data.join("damaged-1"),
                list: data.join("damaged-1.ndjson"),
                records: 9,
                unused: 1,
                jobs: 3,
                removed: vec![(hole.clone(), Some(2)), (hole.clone(), None)],
                affected: affected.collect(),
            }],
            letters: Some((vec![hole], data.join("damaged-letters-1.bin"))),
        })
    }

    fn dump_log(
        &self,
        _: &Config,
        wanted: &Dumped,
        each: &mut dyn FnMut(LogRecord) -> bool,
    ) -> anyhow::Result<()> {
        let first = wanted.from.map_or(1, |(_, offset)| offset / 10);
        for sequence in first..=1_000 {
            let more = each(LogRecord {
                file: "logs/1.seg".into(),
                offset: sequence * 10,
                sequence,
                id: Some(JobId(u128::from(sequence % 2))),
                ids: vec![JobId(u128::from(sequence % 2)), JobId(99)],
                event: Value::from("\u{1b}x"),
            });
            if !more {
                return Ok(());
            }
        }
        panic!("asked for more than the limit")
    }
}

/// Gives back what it is given, or is snoozed.
struct Tries(Plugin);

impl Tryout for Tries {
    fn plugin(&self) -> &Plugin {
        &self.0
    }

    fn run(&self, trial: Trial) -> Result<Tried, Problem> {
        let mut attempt = double::trapped();
        attempt.failure = None;
        let outcome = if trial.kind == "later" {
            attempt.duration_us = 500;
            Ended::Snoozed { delay_ms: 2_000 }
        } else {
            Ended::Completed(Output {
                content_type: trial.content_type.unwrap_or_default(),
                payload: trial.payload,
            })
        };
        let report = Report {
            outcome,
            attempt,
            children: Vec::new(),
        };
        let limits = Limits::default();
        Ok(Tried { report, limits })
    }
}

fn problem() -> Problem {
    Problem {
        file: "plugins/cut.wasm".into(),
        cause: "it is cut off\u{1b}[0m".into(),
        hint: "build it again".into(),
        earlier_served: true,
    }
}

impl Desk {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        Self {
            double: double::Double::new(),
            folder,
            held: false,
            opened: AtomicU32::new(0),
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().into()
    }

    fn run_with(&self, words: &[&str], input: &str, terminal: bool) -> Answer {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut io = Io {
            out: &mut out,
            err: &mut err,
            input: &mut input.as_bytes(),
            out_is_terminal: terminal,
            err_is_terminal: false,
        };
        let data = self.data();
        let environment =
            |name: &str| (name == "SANDHOG_DATA").then(|| data.clone().into_os_string());
        let args = ["sandhog"].iter().chain(words).map(OsString::from);
        let code = run(self, &mut io, environment, args);
        Answer {
            code: format!("{code:?}"),
            out: String::from_utf8(out).unwrap(),
            err: String::from_utf8(err).unwrap(),
        }
    }

    /// Answer and remarks in the order in which someone with one terminal for both sees them.
    fn seen(&self, words: &[&str]) -> String {
        struct Both(Arc<Mutex<Vec<u8>>>);
        impl Write for Both {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let both = Arc::new(Mutex::default());
        let mut io = Io {
            out: &mut BufWriter::new(Both(Arc::clone(&both))),
            err: &mut Both(Arc::clone(&both)),
            input: &mut io::empty(),
            out_is_terminal: true,
            err_is_terminal: false,
        };
        let data = self.data();
        let environment =
            |name: &str| (name == "SANDHOG_DATA").then(|| data.clone().into_os_string());
        run(
            self,
            &mut io,
            environment,
            ["sandhog"].iter().chain(words).map(OsString::from),
        );
        let seen = both.lock().unwrap().clone();
        String::from_utf8(seen).unwrap()
    }

    /// Something done in a session, and what was said in it beside the answer.
    pub(super) fn within<T>(&self, act: impl FnOnce(&mut Session<'_, '_>) -> T) -> (T, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut io = Io {
            out: &mut out,
            err: &mut err,
            input: &mut io::empty(),
            out_is_terminal: false,
            err_is_terminal: false,
        };
        let mut session = Session::new(Config::default(), self, &mut io, Format::default());
        let done = act(&mut session);
        (done, String::from_utf8(err).unwrap())
    }

    fn run(&self, words: &[&str]) -> Answer {
        self.run_with(words, "", false)
    }

    /// A runner on the directory, until the answer is dropped.
    fn runner(&self) -> (tokio::runtime::Runtime, Handle) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let entered = runtime.enter();
        let (server, handle) = Server::bind(Options::new(&self.data())).unwrap();
        drop(entered);
        runtime.spawn(server.run(self.double.ctx(true)));
        (runtime, handle)
    }
}

impl Answer {
    #[track_caller]
    fn ends(&self, code: u8) -> &Self {
        let expected = format!("{:?}", ExitCode::from(code));
        assert_eq!(self.code, expected, "out: {}\nerr: {}", self.out, self.err);
        self
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    #[track_caller]
    fn id(&self) -> JobId {
        self.ends(0).out.trim().parse().unwrap()
    }
}
