//! `cargo xtask api`: tools that know nothing of the runner but its OpenAPI document, against a runner.

mod python;
mod schemathesis;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    languages::{NotBuilt, get, install},
    process::{self, Held, Sandhog},
};

/// Runs both; `examples` requests are made of each operation by chance, beside those at the edges of every
/// schema. A machine that cannot have the tools is told so, which is no failure.
pub(crate) fn run(root: &Path, examples: u32) -> Result<(), String> {
    let out = process::target(root)?.join("api");
    let done = [
        ("api, Python", python::run(root, &out)),
        ("api", schemathesis::run(root, &out, examples)),
    ];
    let mut failed = Vec::new();
    for (what, done) in done {
        match done {
            Ok(()) => {}
            Err(NotBuilt::NotRun(why)) => eprintln!("NOT RUN: {what}: {why}"),
            Err(NotBuilt::Failed(why)) => failed.push(format!("{what}: {why}")),
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.join("\n")),
    }
}

/// A runner in folders of its own, with the misbehaving guest.
struct Stage {
    sandhog: Sandhog,
    home: PathBuf,
    address: String,
    held: Held,
}

impl Stage {
    fn start(root: &Path, home: &Path) -> Result<Self, String> {
        let _ = fs::remove_dir_all(home);
        fs::create_dir_all(home.join("plugins"))
            .map_err(|e| format!("cannot make {}: {e}", home.display()))?;
        let guest = root.join("tests/guests/misbehave.wasm");
        fs::copy(&guest, home.join("plugins/misbehave.wasm")).map_err(|e| {
            let guest = guest.display();
            format!("cannot copy {guest}: {e}: run `cargo xtask plugins` first")
        })?;
        let sandhog = Sandhog {
            program: process::build_runner(root)?,
            data: home.join("data"),
            plugins: home.join("plugins"),
            log: home.join("runner.log"),
        };
        let held = sandhog.start_at("127.0.0.1:0")?;
        Ok(Self {
            address: address(&sandhog.log)?,
            home: home.to_path_buf(),
            sandhog,
            held,
        })
    }

    /// It is still up: nothing that was sent ended it.
    fn end(self) -> Result<(), String> {
        let stats = self.sandhog.tell(&["stats"]);
        drop(self.held);
        stats.map(drop)
    }
}

/// Packages of PyPI in a virtual environment of their own.
fn venv(folder: &Path, packages: &[&str]) -> Result<(), NotBuilt> {
    install(folder, &packages.join(" "), || {
        let mut venv = Command::new("python3");
        get("python3 -m venv", venv.args(["-m", "venv"]).arg(folder))?;
        let mut pip = Command::new(folder.join("bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check"]);
        get("pip install", pip.args(packages))
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
