//! The product's own path for one attempt: the host of a worker thread, as the engine calls it.

use std::{collections::BTreeMap, fs, path::Path, process::ExitCode, sync::Arc};

use sandhog::plugin::{
    AttemptRequest, COMPILE_VERB, Halt, Host, HostFactory, Limits, Live, OneJob, Plugin, Plugins,
    Registry, RegistryOptions, SandboxOptions, Services, WasmHostFactory, compile_as_child,
};
use sandhog_model::{Job, JobId, KindDefaults, NewJob, Outcome, Token, UnixMs};

use crate::stage;

/// What every job carries.
pub(crate) const PAYLOAD: &[u8] = &[7; stage::PAYLOAD];

/// Be the compiler, when that is asked for.
pub(crate) fn compiler(words: &[String]) -> Option<ExitCode> {
    let [verb, memory, seconds, parent, rest @ ..] = words else {
        return None;
    };
    if verb != COMPILE_VERB {
        return None;
    }
    let memory = memory.parse().ok()?;
    let (seconds, parent) = (seconds.parse().ok()?, parent.parse().ok()?);
    Some(compile_as_child(memory, seconds, parent, !rest.is_empty()))
}

/// The registry of a folder; its first scan is done.
pub(crate) fn registry(dir: &Path) -> Result<Registry, String> {
    let [plugins, code, versions] = ["plugins", "code", "versions"].map(|name| dir.join(name));
    let options = RegistryOptions::new(plugins, code, versions);
    Registry::start(options, Halt::default()).map_err(|error| error.to_string())
}

/// Lay a component into a folder.
pub(crate) fn lay(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), String> {
    let plugins = dir.join("plugins");
    fs::create_dir_all(&plugins)
        .and_then(|()| fs::write(plugins.join(format!("{name}.wasm")), bytes))
        .map_err(|error| format!("cannot write into {}: {error}", plugins.display()))
}

/// A worker's host with one plugin.
pub(crate) struct Product {
    host: Box<dyn Host>,
    plugin: Arc<Plugin>,
    services: Arc<dyn Services>,
    job: Job,
    runtime: tokio::runtime::Runtime,
    // Its code is held as long as this is.
    _registry: Registry,
}

impl Product {
    pub(crate) fn new(dir: &Path, component: &[u8], kind: &str) -> Result<Self, String> {
        lay(dir, "guest", component)?;
        let registry = registry(dir)?;
        let catalog = registry.catalog();
        let (plugin, _) = catalog
            .serving(kind)
            .ok_or_else(|| format!("{kind} is not served: {:?}", catalog.problems))?;
        let new = NewJob {
            kind: kind.to_owned(),
            payload: PAYLOAD.to_vec(),
            content_type: Some("text/plain".to_owned()),
            ..NewJob::default()
        };
        let job = new
            .accept(JobId(1 << 80), stage::now(), &KindDefaults::default())
            .map_err(|refused| refused.to_string())?;
        Ok(Self {
            host: WasmHostFactory::new(SandboxOptions::default())?.host()?,
            plugin: Arc::clone(plugin),
            services: Arc::<OneJob>::default(),
            job,
            runtime: stage::runtime(),
            _registry: registry,
        })
    }

    /// So many attempts, one after the other.
    pub(crate) fn attempts(&self, count: usize) -> Result<(), String> {
        self.runtime.block_on(async {
            for _ in 0..count {
                let report = self
                    .host
                    .run(self.request(), Arc::clone(&self.services))
                    .await;
                if !matches!(report.outcome, Outcome::Completed(_)) {
                    return Err(format!("the product's attempt: {:?}", report.outcome));
                }
            }
            Ok(())
        })
    }

    fn request(&self) -> AttemptRequest {
        AttemptRequest {
            job: self.job.clone(),
            token: Token(1),
            number: 1,
            max_attempts: 25,
            checkpoint: None,
            started_at: UnixMs(1),
            plugin: Arc::clone(&self.plugin),
            limits: Limits::default(),
            config: Arc::new(BTreeMap::new()),
            live: Arc::new(Live::default()),
        }
    }
}
