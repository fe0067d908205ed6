//! Requests made of the OpenAPI document, by schemathesis: none may be answered with a status, a media type or a
//! body of which the document says nothing, nor with a fault of ours.

use std::{path::Path, process::Command};

use super::{Stage, venv};
use crate::{languages::NotBuilt, process};

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

pub(super) fn run(root: &Path, out: &Path, examples: u32) -> Result<(), NotBuilt> {
    let tools = out.join("tools");
    venv(&tools, &[TOOL])?;
    let stage = Stage::start(root, &out.join("run")).map_err(NotBuilt::Failed)?;
    let mut check = Command::new(tools.join("bin/schemathesis"));
    check
        .current_dir(&stage.home)
        .args([
            "run",
            &format!("http://{}/api/v1/openapi.json", stage.address),
        ])
        .args(["--checks", CHECKS, "--max-examples", &examples.to_string()])
        .args(["--phases", "coverage,fuzzing", "--request-timeout", "30"])
        .args(["--suppress-health-check", "all", "--no-color"]);
    for path in LEFT_OUT {
        check.args(["--exclude-path", path]);
    }
    let done = process::run("schemathesis", &mut check);
    stage.end().and(done).map_err(NotBuilt::Failed)
}
