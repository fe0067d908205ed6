//! What the host keeps for one attempt, and hands to the guest's calls.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use sandhog_model::{Job, JobId, LogSource, Token};
use wasmtime_wasi::filesystem::WasiFilesystemCtxView;
use wasmtime_wasi::{ResourceTable, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::{journal::Journal, meter::Meter, streams::Stream};
use crate::plugin::{
    Grants, Limits, Live, Outside, Services,
    capabilities::{
        files::{self, Files, Full, Scratch},
        http::Http,
    },
};

/// Handles to host resources (streams, pollables, directories) a guest may hold at a time.
pub(super) const HANDLES: usize = 4_096;
/// Random bytes a guest may ask for in one call.
pub(crate) const RANDOM_BYTES: u64 = 1 << 20;
/// Bytes of checkpoints that one attempt may keep in all: each is written to the log and synced,
/// though only the last one counts.
pub(crate) const CHECKPOINTS_BYTES: u64 = 64 << 20;
/// What a checkpoint counts for at least, in bytes, so that empty ones are not free.
pub(crate) const CHECKPOINT_COST: u64 = 1 << 10;
/// Bytes of one set of header fields, the host's own bookkeeping included.
const FIELD_BYTES: usize = 64 << 10;
/// Longest time before its deadline in which an attempt is told to end.
const GRACE: Duration = Duration::from_secs(2);

/// The data of an attempt's store.
pub(crate) struct State {
    /// Made when it is first asked for, as most attempts of short jobs never do; or at once, with
    /// directories.
    wasi: Option<WasiCtx>,
    scratch: Option<Scratch>,
    http: Http,
    http_bounds: WasiHttpCtx,
    table: ResourceTable,
    pub(crate) meter: Meter,
    pub(crate) stop: Stop,
    pub(crate) grant: Grant,
    pub(crate) journal: Arc<Journal>,
    /// Bytes of checkpoints kept so far.
    pub(crate) checkpointed: u64,
}

/// When and whether the guest is to stop.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) live: Arc<Live>,
    pub(crate) started: Instant,
    pub(crate) deadline: Instant,
    /// Why it was stopped inside guest code.
    pub(crate) stopped: Option<Stopped>,
}

/// Why the host stopped a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// Its wall time was over.
    Deadline,
    /// Someone asked for it.
    Interrupted,
}

/// Whose attempt it is, and what it may do.
pub(crate) struct Grant {
    pub(crate) job: JobId,
    /// The batch that it is in.
    pub(crate) batch: Option<JobId>,
    pub(crate) token: Token,
    pub(crate) limits: Limits,
    pub(crate) config: Arc<BTreeMap<String, String>>,
    pub(crate) services: Arc<dyn Services>,
    pub(crate) children: Vec<Job>,
    pub(crate) children_bytes: u64,
    /// Name of the plugin, for what is said of its grants.
    pub(crate) plugin: String,
    pub(crate) grants: Arc<Grants>,
    pub(crate) outside: Arc<Outside>,
    /// How many jobs lie between this one and one from outside.
    pub(crate) depth: u32,
}

impl Stop {
    /// An attempt that starts now.
    pub(crate) fn new(live: Arc<Live>, timeout_ms: u64) -> Self {
        let started = Instant::now();
        // A year is for ever: instants do not reach as far as u64 milliseconds.
        let timeout = Duration::from_millis(timeout_ms.min(366 * 86_400_000));
        Self {
            live,
            started,
            deadline: started + timeout,
            stopped: None,
        }
    }

    /// Whether the guest is to stop now, and why.
    pub(crate) fn due(&self) -> Option<Stopped> {
        if self.live.is_interrupted() {
            Some(Stopped::Interrupted)
        } else if Instant::now() >= self.deadline {
            Some(Stopped::Deadline)
        } else {
            None
        }
    }

    /// Whether the guest should come to an end: called off, or within the last fifth of its wall time, two
    /// seconds at most. One that is interrupted is not told: it is stopped, and what it made of the news
    /// would use its attempt.
    pub(crate) fn is_near(&self) -> bool {
        self.live.is_called_off() || self.until_near().is_zero()
    }

    /// Time until the guest should come to an end although nobody called it off.
    pub(crate) fn until_near(&self) -> Duration {
        let grace = ((self.deadline - self.started) / 5).min(GRACE);
        self.remaining().saturating_sub(grace)
    }

    /// Time until the guest is stopped.
    pub(crate) fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

impl State {
    /// A state whose guest has closed input, captured output, and of the machine what it is granted.
    /// The error is for a person.
    pub(crate) fn new(stop: Stop, grant: Grant) -> Result<Self, String> {
        let journal = Journal::new(Arc::clone(&stop.live), stop.started, grant.limits.log);
        let (mut wasi, mut scratch) = (None, None);
        if grant.grants.scratch.is_some() || !grant.grants.mounts.is_empty() {
            let mut builder = wasi_of(&grant, &journal);
            let root = grant.outside.scratch.as_deref();
            let full = Full {
                journal: Arc::clone(&journal),
                plugin: grant.plugin.clone(),
            };
            scratch = files::prepare(&grant.grants, root, full, &mut builder)?;
            wasi = Some(builder.build());
        }
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES);
        let mut http_bounds = WasiHttpCtx::new();
        http_bounds.set_field_size_limit(FIELD_BYTES);
        Ok(Self {
            wasi,
            scratch,
            http: Http::new(
                grant.plugin.clone(),
                Arc::clone(&grant.grants),
                Arc::clone(&grant.outside),
                Arc::clone(&journal),
                Arc::clone(&stop.live),
                stop.deadline,
            ),
            http_bounds,
            table,
            meter: Meter::new(grant.limits.memory, grant.limits.table_elements),
            stop,
            grant,
            journal,
            checkpointed: 0,
        })
    }

    /// Its files, within its quota.
    pub(crate) fn files(&mut self) -> Files<'_> {
        let Self {
            wasi,
            grant,
            journal,
            ..
        } = self;
        let wasi = wasi.get_or_insert_with(|| wasi_of(grant, journal).build());
        Files {
            view: WasiFilesystemCtxView {
                ctx: wasi.filesystem(),
                table: &mut self.table,
            },
            scratch: self.scratch.as_mut(),
        }
    }
}

/// WASI for a guest: closed input, captured output, the environment it is granted, no sockets.
fn wasi_of(grant: &Grant, journal: &Arc<Journal>) -> WasiCtxBuilder {
    let stream = |source| Stream {
        journal: Arc::clone(journal),
        source,
    };
    let mut builder = WasiCtxBuilder::new();
    for (key, value) in &grant.grants.env {
        builder.env(key, value);
    }
    builder
        .stdout(stream(LogSource::Stdout))
        .stderr(stream(LogSource::Stderr))
        .max_random_size(RANDOM_BYTES)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    builder
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let Self {
            wasi,
            grant,
            journal,
            table,
            ..
        } = self;
        WasiCtxView {
            ctx: wasi.get_or_insert_with(|| wasi_of(grant, journal).build()),
            table,
        }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            hooks: &mut self.http,
            table: &mut self.table,
            ctx: &mut self.http_bounds,
        }
    }
}
