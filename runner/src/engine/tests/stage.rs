//! A store in a temporary directory, one plugin that serves every kind a test needs, and a host
//! whose attempts do what the kind's script says.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use sandhog_model::{
    Attempt, Backoff, Failure, FailureKind, JobId, KindDefaults, Letter, Link, NewJob, Now,
    Outcome, Output, RetryPolicy, State, Waiting,
};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::{
    clock::{Clock, SystemClock},
    engine::{
        CronBook, CronEntry, Engine, EngineOptions, EngineParts, KindRule, Running, Settings,
    },
    plugin::{
        AttemptRequest, Catalog, Host, HostFactory, KindInfo, Limits, Live, Plugin, Plugins,
        Report, Services,
    },
    store::{
        Inspect, JobView, Store,
        wal::{self, Wal, WalOptions},
    },
};

/// Longest wait for something that must happen.
const BOUND: Duration = Duration::from_secs(20);

pub(super) type Ending = Pin<Box<dyn Future<Output = Outcome>>>;
pub(super) type Script = fn(AttemptRequest, Arc<dyn Services>) -> Ending;

/// The machine's clocks, with a leap forward of either when a test says so.
#[derive(Default)]
pub(super) struct Leaping {
    clock: SystemClock,
    leap_ms: AtomicU64,
    wall_leap_ms: AtomicU64,
}

impl Leaping {
    pub(super) fn leap(&self, ms: u64) {
        self.leap_ms.fetch_add(ms, Ordering::SeqCst);
    }

    pub(super) fn leap_wall(&self, ms: u64) {
        self.wall_leap_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for Leaping {
    fn now(&self) -> Now {
        let now = self.clock.now();
        let mono = now.mono + self.leap_ms.load(Ordering::SeqCst);
        let wall = now.wall.plus(self.wall_leap_ms.load(Ordering::SeqCst));
        Now { wall, mono }
    }
}

/// The plugin folder: what it offers is set by the test.
pub(super) struct Folder {
    catalog: Mutex<Arc<Catalog>>,
    /// The ends that were told to it.
    pub(super) ended: Mutex<Vec<(JobId, Outcome)>>,
    broken: AtomicBool,
    changed: watch::Sender<u64>,
}

impl Folder {
    pub(super) fn serving(kinds: &[&str]) -> Arc<Self> {
        let folder = Self {
            catalog: Mutex::default(),
            ended: Mutex::default(),
            broken: AtomicBool::default(),
            changed: watch::Sender::new(0),
        };
        folder.serve(kinds);
        Arc::new(folder)
    }

    /// The next one who looks at the folder panics.
    pub(super) fn break_it(&self) {
        self.broken.store(true, Ordering::SeqCst);
    }

    pub(super) fn serve(&self, kinds: &[&str]) {
        let kinds = kinds.iter().map(|kind| KindInfo {
            kind: (*kind).to_owned(),
            ..KindInfo::default()
        });
        let plugin = Plugin {
            name: "scripted".into(),
            file: "scripted.wasm".into(),
            digest: "d1".into(),
            size: 0,
            sdk: String::new(),
            kinds: kinds.collect(),
            code: "scripted.cwasm".into(),
            cached: true,
            asks: None,
            grants: Arc::default(),
        };
        let plugins = BTreeMap::from([(plugin.name.clone(), Arc::new(plugin))]);
        *self.catalog.lock().expect("no test panics here") = Arc::new(Catalog {
            plugins,
            ..Catalog::default()
        });
        self.changed.send_modify(|count| *count += 1);
    }
}

impl Plugins for Folder {
    fn catalog(&self) -> Arc<Catalog> {
        assert!(!self.broken.swap(false, Ordering::SeqCst), "scripted");
        self.catalog.lock().expect("no test panics here").clone()
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn ended(&self, plugin: &Plugin, _: &str, job: JobId, outcome: &Outcome) {
        assert_eq!(plugin.name, "scripted");
        let mut ended = self.ended.lock().expect("no test panics here");
        ended.push((job, outcome.clone()));
    }
}

struct ScriptedHost(Script);

impl Host for ScriptedHost {
    fn run<'a>(
        &'a self,
        request: AttemptRequest,
        services: Arc<dyn Services>,
    ) -> Pin<Box<dyn Future<Output = Report> + 'a>> {
        Box::pin(async move {
            let attempt = Attempt {
                digest: request.plugin.digest.clone(),
                plugin: request.plugin.name.clone(),
                ..Attempt::without_run(request.number, request.token, request.started_at)
            };
            let outcome = (self.0)(request, services).await;
            Report {
                outcome,
                attempt,
                children: Vec::new(),
            }
        })
    }
}

struct Scripted(Script);

impl HostFactory for Scripted {
    fn host(&self) -> Result<Box<dyn Host>, String> {
        Ok(Box::new(ScriptedHost(self.0)))
    }
}

/// Memory limit of kind `large`, in bytes: twice that of any other.
const LARGE: u64 = 256 << 20;

/// Retries at once.
struct Quick;

impl Settings for Quick {
    fn rule(&self, kind: &str) -> KindRule {
        let mut limits = Limits::default();
        if kind == "large" {
            limits.memory = LARGE;
        }
        KindRule {
            limits,
            retry: RetryPolicy {
                max_attempts: Some(3),
                backoff: Some("fixed 1ms".parse::<Backoff>().expect("a backoff")),
                ..RetryPolicy::default()
            },
            ..KindRule::default()
        }
    }
}

pub(super) struct Stage {
    pub(super) store: Arc<Wal>,
    pub(super) folder: Arc<Folder>,
    pub(super) engine: Arc<Engine>,
    pub(super) clock: Arc<Leaping>,
    pub(super) crons: Arc<CronBook>,
    _data: TempDir,
}

/// What most tests leave as it is.
pub(super) struct Setup {
    pub(super) lease_ms: u64,
    /// Of each of the two workers.
    pub(super) slots: usize,
    /// The memory budget, in bytes.
    pub(super) budget: u64,
    pub(super) crons: BTreeMap<String, CronEntry>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            lease_ms: 30_000,
            slots: 2,
            budget: 1 << 40,
            crons: BTreeMap::new(),
        }
    }
}

impl Stage {
    pub(super) async fn start(kinds: &[&str], script: Script) -> Self {
        Self::start_with(kinds, script, Setup::default()).await
    }

    pub(super) async fn start_with(kinds: &[&str], script: Script, setup: Setup) -> Self {
        let Setup {
            lease_ms,
            slots,
            budget,
            crons,
        } = setup;
        let crons = CronBook::new(crons, Box::new(|_, _| Err("scripted".into())));
        let crons = Arc::new(crons);
        let data = TempDir::new().expect("a temporary directory");
        let clock = Arc::new(Leaping::default());
        let store = wal::open(WalOptions {
            lease_ms,
            clock: clock.clone(),
            ..WalOptions::new(data.path(), "a test")
        });
        let store = store.expect("an empty directory opens");
        let folder = Folder::serving(kinds);
        let engine = Engine::start(
            EngineOptions {
                workers: 2,
                slots,
                memory_budget: budget,
                memory_ceiling: LARGE,
                cancel_grace: Duration::from_millis(200),
                lease_ms,
            },
            EngineParts {
                store: store.clone(),
                plugins: folder.clone(),
                hosts: Arc::new(Scripted(script)),
                settings: Arc::new(Quick),
                crons: crons.clone(),
                clock: clock.clone(),
            },
        );
        Self {
            engine: engine.await.expect("the engine starts"),
            store,
            folder,
            clock,
            crons,
            _data: data,
        }
    }

    pub(super) async fn enqueue(&self, kind: &str) -> JobId {
        self.enqueue_chain(kind, Vec::new()).await
    }

    pub(super) async fn enqueue_chain(&self, kind: &str, then: Vec<Link>) -> JobId {
        let job = NewJob {
            kind: kind.to_owned(),
            then,
            ..NewJob::default()
        };
        self.enqueue_all(&job, 1).await[0]
    }

    /// So many jobs, at once.
    pub(super) async fn enqueue_many(&self, kind: &str, count: usize) -> Vec<JobId> {
        let job = NewJob {
            kind: kind.to_owned(),
            ..NewJob::default()
        };
        self.enqueue_all(&job, count).await
    }

    async fn enqueue_all(&self, new: &NewJob, count: usize) -> Vec<JobId> {
        let jobs = (0..count).map(|_| {
            let id = self.store.mint();
            let job = new
                .clone()
                .accept(id, id.minted_at(), &KindDefaults::default());
            job.expect("a plain job is accepted")
        });
        let answers = self.store.enqueue(jobs.collect()).await;
        let answers = answers.expect("the store works").into_iter();
        answers.map(|id| id.expect("enqueued")).collect()
    }

    pub(super) async fn view(&self, id: JobId) -> JobView {
        let view = self.store.job(id).await.expect("the store works");
        view.expect("the job is there")
    }

    pub(super) async fn letter(&self, id: JobId) -> Letter {
        let letter = self.store.letter(id).await.expect("the store works");
        letter.expect("the job has a letter")
    }

    /// Wait until the job is in a state; its view then.
    pub(super) async fn until(&self, id: JobId, state: State) -> JobView {
        let mut changes = self.store.changes();
        let seen = async {
            loop {
                let view = self.view(id).await;
                if view.row.state == state {
                    return view;
                }
                // A lagging receiver only means that there is more to look at.
                let _ = changes.recv().await;
            }
        };
        let seen = tokio::time::timeout(BOUND, seen).await;
        match seen {
            Ok(view) => view,
            Err(_) => panic!("job {id} is not {state} but {:?}", self.view(id).await.row),
        }
    }

    /// Wait until an attempt at the job has begun: that is a moment after it was leased.
    pub(super) async fn until_begun(&self, id: JobId) {
        until(|| self.engine.live(id).is_some()).await;
    }

    pub(super) async fn stop(&self, grace: Duration) {
        let stop = self.engine.stop(grace, std::future::pending());
        tokio::time::timeout(BOUND, stop)
            .await
            .expect("the engine stops");
    }
}

/// Wait until something is so that nobody tells of.
#[track_caller]
pub(super) fn until(so: impl Fn() -> bool) -> impl Future<Output = ()> {
    let place = std::panic::Location::caller();
    async move {
        let looked = async {
            while !so() {
                tokio::task::yield_now().await;
            }
        };
        let in_time = tokio::time::timeout(BOUND, looked).await;
        assert!(in_time.is_ok(), "never came to be: {place}");
    }
}

pub(super) fn done(text: &str) -> Outcome {
    Outcome::Completed(Output {
        content_type: "text/plain".into(),
        payload: text.as_bytes().to_vec(),
    })
}

pub(super) fn failed(text: &str) -> Outcome {
    Outcome::Failed {
        failure: Failure::new(FailureKind::Error, "scripted", text),
        retry_after_ms: None,
    }
}

/// Run until interrupted, as a guest in a loop does.
pub(super) async fn until_interrupted(live: Arc<Live>) -> Outcome {
    while !live.is_interrupted() {
        tokio::task::yield_now().await;
    }
    Outcome::NotRun(Waiting::Shutdown)
}
