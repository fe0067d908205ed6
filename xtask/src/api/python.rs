//! A client for Python, made of the OpenAPI document alone by openapi-python-client, enqueues jobs and waits for
//! them. What the generator warns of is a fault of the document.

use std::{env, fs, path::Path, process::Command};

use super::{Stage, venv};
use crate::{languages::NotBuilt, process};

/// The generator, what it formats with, and what its clients need, from PyPI.
const TOOLS: [&str; 4] = [
    "openapi-python-client==0.29.1",
    "ruff==0.17.6",
    "httpx==0.28.1",
    "attrs==26.1.0",
];
/// Media types that the generator is told to be text: they are the right ones and it knows neither.
const SETTINGS: &str = "\
content_type_overrides:
  application/x-ndjson: text/plain
  \"application/openmetrics-text; version=1.0.0; charset=utf-8\": text/plain
";

pub(super) fn run(root: &Path, out: &Path) -> Result<(), NotBuilt> {
    let tools = out.join("python-tools");
    venv(&tools, &TOOLS)?;
    produce(root, out, &tools).map_err(NotBuilt::Failed)
}

fn produce(root: &Path, out: &Path, tools: &Path) -> Result<(), String> {
    let stage = Stage::start(root, &out.join("python-run"))?;
    let settings = stage.home.join("generator.yaml");
    fs::write(&settings, SETTINGS)
        .map_err(|e| format!("cannot write {}: {e}", settings.display()))?;
    // The generator calls its formatter by name.
    let mut places = vec![tools.join("bin")];
    places.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let path = env::join_paths(places).map_err(|e| e.to_string())?;
    let mut generate = Command::new(tools.join("bin/openapi-python-client"));
    generate
        .current_dir(&stage.home)
        .env("PATH", path)
        .args(["generate", "--fail-on-warning", "--meta", "none"])
        .args(["--output-path", "sandhog_api", "--config"])
        .arg(&settings)
        .args([
            "--url",
            &format!("http://{}/api/v1/openapi.json", stage.address),
        ]);
    let made = process::run("openapi-python-client", &mut generate);
    let mut producer = Command::new(tools.join("bin/python"));
    producer
        .arg(root.join("tests/python/producer.py"))
        .arg(format!("http://{}", stage.address))
        .env("PYTHONPATH", &stage.home);
    let done = made.and_then(|()| process::run("tests/python/producer.py", &mut producer));
    stage.end().and(done)
}
