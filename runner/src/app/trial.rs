//! Plugins looked at and tried without a store.

use std::{path::PathBuf, sync::Arc};

use super::compiler;
use crate::{
    cli,
    config::Config,
    plugin::{self, Checked, Live, Problem, Trial, Tried},
};

/// Check files one by one, wherever they are. Two that serve one kind are both shown here: which of
/// them a runner would take depends on its folder.
pub(super) fn check(config: &Config, files: &[PathBuf]) -> Vec<Result<Checked, Problem>> {
    let ceilings = config.ceilings();
    let each = |file: &PathBuf| plugin::check(file, compiler(config), &ceilings);
    files.iter().map(each).collect()
}

/// Run one attempt with the limits and settings the operator gives its kind.
pub(super) fn run(config: &Config, trial: cli::Trial) -> Result<Tried, Problem> {
    let tried = Trial {
        limits: config.limits_for(&trial.kind),
        timeout_ms: config.defaults_for(&trial.kind).timeout_ms,
        config: (*config.handler_config(&trial.kind)).clone(),
        live: Arc::new(Live::default()),
        ceilings: Arc::new(config.ceilings()),
        outside: super::outside(config, None),
        file: trial.file,
        kind: trial.kind,
        payload: trial.payload,
        content_type: trial.content_type,
        headers: trial.headers,
    };
    plugin::run_once(tried, compiler(config))
}
