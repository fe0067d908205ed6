//! `cargo xtask api`: requests made of the OpenAPI document, by schemathesis, against a runner: none may be
//! answered with a status, a media type or a body of which the document says nothing, nor with a fault of ours.

use std::{fs, path::Path, process::Command, time::Duration};

use crate::{
    languages::{NotBuilt, get, install},
    process::{self, Sandhog},
};

/// The tool, from PyPI.
const TOOL: &str = "schemathesis==4.32.5";
/// What every answer is held to.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance";
/// What is not asked: what never ends, what waits, and what stops the runner.
const LEFT_OUT: [&str; 3] = [
    "/api/v1/events",
    "/api/v1/jobs/{id}/wait",
    "/api/v1/workers/stop",
];

/// Runs it; `examples` requests are made of each operation by chance, beside those at the edges of every
/// schema. A machine that cannot have the tool is told so, which is no failure.
pub(crate) fn run(root: &Path, examples: u32) -> Result<(), String> {
    let out = process::target(root)?.join("api");
    let tools = out.join("tools");
    match tool(&tools) {
        Ok(()) => {}
        Err(NotBuilt::NotRun(why)) => {
            eprintln!("NOT RUN: api: {why}");
            return Ok(());
        }
        Err(NotBuilt::Failed(why)) => return Err(why),
    }
    let home = out.join("run");
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(home.join("plugins"))
        .map_err(|e| format!("cannot make {}: {e}", home.display()))?;
    let guest = root.join("tests/guests/misbehave.wasm");
    if guest.is_file() {
        let place = home.join("plugins/misbehave.wasm");
        fs::copy(&guest, &place).map_err(|e| format!("cannot copy {}: {e}", guest.display()))?;
    }
    let sandhog = Sandhog {
        program: process::build_runner(root)?,
        data: home.join("data"),
        plugins: home.join("plugins"),
        log: home.join("runner.log"),
    };
    let held = sandhog.start_at("127.0.0.1:0")?;
    let address = address(&sandhog.log)?;
    let mut check = Command::new(tools.join("bin/schemathesis"));
    check
        .current_dir(&home)
        .args(["run", &format!("http://{address}/api/v1/openapi.json")])
        .args(["--checks", CHECKS, "--max-examples", &examples.to_string()])
        .args(["--phases", "coverage,fuzzing", "--request-timeout", "30"])
        .args(["--suppress-health-check", "all", "--no-color"]);
    for path in LEFT_OUT {
        check.args(["--exclude-path", path]);
    }
    let done = process::run("schemathesis", &mut check);
    // It is still up: nothing that was sent ended it.
    let stats = sandhog.tell(&["stats"]);
    drop(held);
    done?;
    stats.map(drop)
}

fn tool(folder: &Path) -> Result<(), NotBuilt> {
    install(folder, TOOL, || {
        let mut venv = Command::new("python3");
        get("python3 -m venv", venv.args(["-m", "venv"]).arg(folder))?;
        let mut pip = Command::new(folder.join("bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check", TOOL]);
        get("pip install", &mut pip)
    })
}

/// Where the runner listens, as its log says.
fn address(log: &Path) -> Result<String, String> {
    process::until("the runner to be ready", Duration::from_secs(60), || {
        let said = fs::read_to_string(log).unwrap_or_default();
        let after = said.rsplit_once(" http=").map(|(_, after)| after);
        let word = after.and_then(|after| after.split_whitespace().next());
        Ok(word.map(str::to_owned))
    })
}
