//! Plugins: the components in the plugin folder, and the sandbox one attempt runs in.
//!
//! Knows nothing of stores, queues or sockets.

mod bytes;
mod capabilities;
mod catalog;
mod code;
mod registry;
mod sandbox;
mod twice;

use std::{
    collections::BTreeMap,
    future::Future,
    path::PathBuf,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use sandhog_model::{
    Asked, Attempt, Cancellation, Job, JobId, LogLine, Outcome, RetryPolicy, Token, UnixMs,
};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

pub use bytes::{exact_bytes, parse_size};
pub(crate) use capabilities::client_tls;
pub use capabilities::{
    Ceiling, Ceilings, Grants, HttpGrant, Network, OriginPattern, Outside, SecretRule,
    SecretSource, grants_as_toml, parse_grants,
};
pub use catalog::{Catalog, Held};
pub use code::NativeCode;
pub use registry::{
    ActRefused, COMPILE_VERB, CacheBounds, CheckRefused, Checked, CompileLimits, Compiler,
    DirError, Halt, MissingImport, NoVersion, OneJob, PluginAct, PluginView, Quarantine, Registry,
    RegistryError, RegistryOptions, Stamp, Trial, Tried, Tryout, Version, VersionView, check,
    compile_as_child,
};
pub use sandbox::{BareAttempt, SandboxOptions, WasmHost, WasmHostFactory};
pub(crate) use twice::fault as toml_fault;

/// One attempt to run.
#[derive(Debug, Clone)]
pub struct AttemptRequest {
    /// The job.
    pub job: Job,
    /// Its lease.
    pub token: Token,
    /// This attempt's number, from 1.
    pub number: u32,
    /// Attempts the job may use.
    pub max_attempts: u32,
    /// What the last durable checkpoint of an earlier attempt holds.
    pub checkpoint: Option<Vec<u8>>,
    /// When the lease was given.
    pub started_at: UnixMs,
    /// The plugin that serves the job's kind.
    pub plugin: Arc<Plugin>,
    /// What the attempt may use.
    pub limits: Limits,
    /// The operator's settings for the kind. They come before those of the plugin's file.
    pub config: Arc<BTreeMap<String, String>>,
    /// What others may see and do while it runs.
    pub live: Arc<Live>,
}

/// What an attempt may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall time, instantiation included, in milliseconds.
    pub timeout_ms: u64,
    /// Total linear memory over all memories, in bytes.
    pub memory: u64,
    /// Total elements over all tables.
    pub table_elements: u64,
    /// Largest result, in bytes.
    pub result: u64,
    /// Log lines kept, in bytes of text.
    pub log: u64,
    /// Largest checkpoint, in bytes.
    pub checkpoint: u64,
    /// Jobs one attempt may enqueue.
    pub children: u64,
    /// Total payload bytes of the jobs one attempt may enqueue.
    pub children_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout_ms: 30_000,
            memory: 128 << 20,
            table_elements: 100_000,
            result: 1 << 20,
            log: 256 << 10,
            checkpoint: 256 << 10,
            children: 1_000,
            children_bytes: 4 << 20,
        }
    }
}

/// What others may see of a running attempt, and how they interrupt it.
#[derive(Debug, Default)]
pub struct Live {
    interrupted: AtomicBool,
    wake: Notify,
    /// Wakes what waits for the guest in the host.
    ends: Notify,
    is_called_off: AtomicBool,
    called_off: Mutex<Option<Cancellation>>,
    view: Mutex<LiveView>,
}

/// A running attempt as others see it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LiveView {
    /// The latest progress report.
    pub progress: Option<Progress>,
    /// Log lines so far, within the log limit.
    pub logs: Vec<LogLine>,
}

/// How far an attempt has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Steps done.
    pub done: u64,
    /// Of how many, when known.
    pub total: Option<u64>,
    /// A short note.
    pub note: Option<String>,
}

impl Live {
    /// Stop the guest now: it ends as put back, no attempt used.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Resolves once the guest is to stop. One waiter at a time: the attempt's host.
    pub(crate) async fn interrupt_asked(&self) {
        while !self.is_interrupted() {
            self.wake.notified().await;
        }
    }

    /// The guest's job was called off. It sees that and may end by itself; a kill stops it now.
    pub fn call_off(&self, cancel: Cancellation) {
        let how = cancel.how;
        let mut called_off = self.called_off();
        if called_off.as_ref().is_none_or(|before| before.how < how) {
            *called_off = Some(cancel);
        }
        drop(called_off);
        self.is_called_off.store(true, Ordering::Release);
        self.ends.notify_waiters();
        if how == Asked::Kill {
            self.interrupt();
        }
    }

    /// Resolves once the guest's job is called off. Any number may wait.
    pub(crate) async fn call_off_asked(&self) {
        loop {
            // Armed before the look, so that what is told after it is not missed.
            let mut told = pin!(self.ends.notified());
            told.as_mut().enable();
            if self.is_called_off() {
                return;
            }
            told.await;
        }
    }

    /// Whether its job was called off.
    pub fn is_called_off(&self) -> bool {
        self.is_called_off.load(Ordering::Acquire)
    }

    /// Who called its job off, and why.
    pub fn cancellation(&self) -> Option<Cancellation> {
        self.called_off().clone()
    }

    fn called_off(&self) -> MutexGuard<'_, Option<Cancellation>> {
        // Nothing that holds the lock can leave the value half changed.
        self.called_off
            .lock()
            .unwrap_or_else(|held| held.into_inner())
    }

    /// Whether the guest is to stop.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    /// Read or change the view. Never held while waiting.
    pub fn with<T>(&self, with: impl FnOnce(&mut LiveView) -> T) -> T {
        // A panic while the lock was held leaves at worst a line out.
        let mut view = self.view.lock().unwrap_or_else(|held| held.into_inner());
        with(&mut view)
    }
}

/// What came of an attempt.
#[derive(Debug, Clone)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// What the history keeps.
    pub attempt: Attempt,
    /// The jobs it enqueued, with ids; empty unless it completed.
    pub children: Vec<Job>,
}

/// What a guest's calls need from the rest of the runner.
pub trait Services: Send + Sync + 'static {
    /// Keep bytes for the job's next attempt; durable when it resolves. The error is for a person.
    fn checkpoint(
        &self,
        id: JobId,
        token: Token,
        bytes: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>>;
    /// A new job id.
    fn mint(&self) -> JobId;
    /// The wall clock.
    fn wall(&self) -> UnixMs;
    /// Complete a new job's fields with what the operator and its handler say of its kind.
    fn complete(&self, job: Job) -> Job;
}

/// Runs attempts on one worker thread. Each attempt gets a sandbox of its own.
pub trait Host {
    /// Run one attempt to its end. Never panics and always resolves, at the latest a grace after
    /// the attempt's wall time.
    fn run<'a>(
        &'a self,
        request: AttemptRequest,
        services: Arc<dyn Services>,
    ) -> Pin<Box<dyn Future<Output = Report> + 'a>>;
}

/// Makes the host of a worker thread, on that thread.
pub trait HostFactory: Send + Sync + 'static {
    /// A host. The error is for a person.
    fn host(&self) -> Result<Box<dyn Host>, String>;
}

/// A component that was checked, compiled and asked what it serves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plugin {
    /// File name without its ending.
    pub name: String,
    /// The file it was read from.
    pub file: PathBuf,
    /// SHA-256 of the file, in hex.
    pub digest: String,
    /// Size of the file in bytes.
    pub size: u64,
    /// What built it, such as `sandhog-sdk 0.1.0`.
    pub sdk: String,
    /// The kinds it serves.
    pub kinds: Vec<KindInfo>,
    /// The native code made from it.
    pub code: NativeCode,
    /// Whether the native code came from the cache.
    pub cached: bool,
    /// What its handlers wish to be granted, as they state it.
    pub asks: Option<Arc<Grants>>,
    /// What it is granted: its `NAME.toml`, within the operator's ceiling.
    pub grants: Arc<Grants>,
}

/// What a handler says of a kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KindInfo {
    /// The kind.
    pub kind: String,
    /// One line for a person.
    pub summary: String,
    /// Proposed wall time in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Proposed retries.
    pub retry: RetryPolicy,
    /// Proposed queue.
    pub queue: Option<String>,
    /// Media type it expects.
    pub content_type: Option<String>,
}

/// A file in the plugin folder that cannot be used as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub cause: String,
    /// What to do about it.
    pub hint: String,
    /// Whether an earlier version of the file is still served.
    pub earlier_served: bool,
}

/// The plugin folder, watched.
pub trait Plugins: Send + Sync + 'static {
    /// What it offers now.
    fn catalog(&self) -> Arc<Catalog>;
    /// Counts up each time the catalog changes.
    fn changed(&self) -> tokio::sync::watch::Receiver<u64>;
    /// An attempt by a plugin ended: a version that breaks again and again is held back.
    fn ended(&self, plugin: &Plugin, kind: &str, job: JobId, outcome: &Outcome);
}

/// The versions of plugins, looked at and chosen by a person. What it does may wait for a disk.
pub trait PluginDesk: Send + Sync + 'static {
    /// A plugin with its past.
    fn view(&self, name: &str) -> Option<PluginView>;
    /// Look at a plugin's file anew, as someone would who is about to drop it in. Compiles it.
    fn check(&self, name: &str) -> Result<Result<Checked, Problem>, CheckRefused>;
    /// Choose what is served of a plugin; the plugin as it is then.
    fn act(&self, name: &str, act: PluginAct) -> Result<PluginView, ActRefused>;
}
