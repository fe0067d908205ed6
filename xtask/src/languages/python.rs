//! Python, with componentize-py of PyPI in a virtual environment.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Built, NotBuilt, Place, built, get, install, pass, stage};

/// The versions that a new handler's folder names are those that are tried.
const REQUIREMENTS: &str = "sdk/python/template/requirements.txt";

/// What is built, each from which folder and which module of it.
const SAMPLE: &str = "python-mail";
const TEMPLATE: &str = "hello-python";
const TRIALS: &str = "trials-python";

pub(super) fn build(place: &Place) -> Result<Vec<Built>, NotBuilt> {
    let root = &place.root;
    let sdk = [("sdk/python/sandhog", "sandhog"), ("wit", "wit")];
    let mut laid = Vec::new();
    for (name, source) in [
        ("sdk-python", "sdk/python"),
        (SAMPLE, "plugins/python-mail"),
        (TEMPLATE, "sdk/python/template"),
        (TRIALS, "tests/guests/python"),
    ] {
        let folder = place.stage(name);
        stage::lay(&folder, root, &[(source, ""), sdk[0], sdk[1]])?;
        laid.push(folder);
    }
    stage::fill(&laid[2], TEMPLATE)?;
    get("python3 --version", python("python3").arg("--version"))?;
    for folder in &laid[..3] {
        unit_tests(folder)?;
    }
    let tool = tools(place)?;
    let modules = [
        (SAMPLE, "handler"),
        (TEMPLATE, "handler"),
        (TRIALS, "trials"),
    ];
    let build = |(folder, (name, module)): (&PathBuf, (&str, &str))| {
        component(&tool, folder, module, place.component(name))
    };
    laid[1..].iter().zip(modules).map(build).collect()
}

fn python(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn unit_tests(folder: &Path) -> Result<(), NotBuilt> {
    let mut tests = python("python3");
    tests.current_dir(folder).args(["-m", "unittest"]);
    pass(
        &format!("python3 -m unittest in {}", folder.display()),
        &mut tests,
    )
}

/// The tool, installed if it is not.
fn tools(place: &Place) -> Result<PathBuf, NotBuilt> {
    let wanted = place.root.join(REQUIREMENTS);
    let version = fs::read_to_string(&wanted)
        .map_err(|e| NotBuilt::Failed(format!("cannot read {}: {e}", wanted.display())))?;
    let folder = place.tools("python");
    install(&folder, &version, || {
        let mut venv = python("python3");
        venv.args(["-m", "venv"]).arg(&folder);
        get("python3 -m venv", &mut venv)?;
        let mut pip = python(&folder.join("bin/pip").to_string_lossy());
        pip.args(["install", "--quiet", "--disable-pip-version-check", "-r"])
            .arg(&wanted);
        get("pip install", &mut pip)
    })?;
    Ok(folder.join("bin/componentize-py"))
}

fn component(tool: &Path, folder: &Path, module: &str, to: PathBuf) -> Result<Built, NotBuilt> {
    let mut build = Command::new(tool);
    build
        .current_dir(folder)
        .args(["--quiet", "-d", "wit", "-w", "handler-plugin"])
        .args(["componentize", module, "-o"])
        .arg(&to);
    let what = format!("componentize-py in {}", folder.display());
    built(to, &what, &mut build)
}
