//! What the parts of this bench drain: a runner on one component, with settings that suit short jobs.

use std::path::{Path, PathBuf};

use sandhog::{app::Stand, config, config::Config, plugin::Plugins as _};
use sandhog_model::NewJob;

use crate::{
    sandbox::{
        guests::Guest,
        product::{self, PAYLOAD},
    },
    stage,
};

/// The settings of a file, as an operator would write them.
pub(crate) fn settings(text: &str) -> Result<Config, String> {
    config::parse(Path::new("bench.toml"), text).map_err(|error| error.to_string())
}

/// A runner that serves a guest, in `dir`.
pub(crate) fn of(dir: &Path, guest: &Guest, config: &Config) -> Result<Stand, String> {
    product::lay(dir, "guest", &guest.bytes)?;
    let file: PathBuf = dir.join("plugins/guest.wasm");
    let stand = Stand::set_up(config, &[file], dir).map_err(told)?;
    let catalog = stand.registry().catalog();
    match catalog.serving(guest.kind) {
        Some(_) => Ok(stand),
        None => Err(format!(
            "{} is not served: {:?}",
            guest.kind, catalog.problems
        )),
    }
}

/// A job of a kind, as all benches have it.
pub(crate) fn job(kind: &str) -> NewJob {
    NewJob {
        kind: kind.to_owned(),
        payload: PAYLOAD.to_vec(),
        content_type: Some("text/plain".to_owned()),
        ..NewJob::default()
    }
}

/// An error with its causes.
pub(crate) fn told(error: impl std::fmt::Display) -> String {
    format!("{error:#}")
}

/// Threads that run attempts at a time.
pub(crate) fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Remove a stand with what lies beside it.
pub(crate) fn clear(stand: Stand, dir: &Path) -> Result<(), String> {
    drop(stand);
    stage::clear(dir)
}
