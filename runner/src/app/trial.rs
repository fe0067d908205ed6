//! Plugins looked at and tried without a store.

use std::path::{Path, PathBuf};

use super::registry_options;
use crate::{
    cli,
    config::Config,
    metrics::Metrics,
    plugin::{self, Checked, Plugin, Problem, Trial, Tried},
};

/// Check files one by one, wherever they are. Two that serve one kind are both shown here: which of
/// them a runner would take depends on its folder.
pub(super) fn check(config: &Config, files: &[PathBuf]) -> Vec<Result<Checked, Problem>> {
    let options = registry_options(config);
    let each = |file: &PathBuf| plugin::check(file, &options);
    files.iter().map(each).collect()
}

/// A component, compiled and ready to be tried with the limits and settings the operator gives its
/// kinds.
pub(super) fn open(config: &Config, file: &Path) -> Result<Box<dyn cli::Tryout>, Problem> {
    let tryout = plugin::Tryout::open(file, &registry_options(config))?;
    let config = config.clone();
    Ok(Box::new(OnFile { config, tryout }))
}

struct OnFile {
    config: Config,
    tryout: plugin::Tryout,
}

impl cli::Tryout for OnFile {
    fn plugin(&self) -> &Plugin {
        self.tryout.plugin()
    }

    fn run(&self, trial: cli::Trial) -> Result<Tried, Problem> {
        let config = &self.config;
        self.tryout.run(Trial {
            limits: config.limits_for(&trial.kind),
            timeout_ms: config.defaults_for(&trial.kind).timeout_ms,
            config: (*config.handler_config(&trial.kind)).clone(),
            outside: super::outside(config, None, &Metrics::default()),
            live: trial.live,
            kind: trial.kind,
            payload: trial.payload,
            content_type: trial.content_type,
            headers: trial.headers,
        })
    }
}
