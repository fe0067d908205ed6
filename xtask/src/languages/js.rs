//! JavaScript, with componentize-qjs (QuickJS) and componentize-js (SpiderMonkey) of npm.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{Built, NotBuilt, Place, built, get, install, pass, stage};

/// A new handler's folder names QuickJS; SpiderMonkey is in its README, in the same version as here.
const MANIFEST: &str = "sdk/js/template/package.json";
const SPIDERMONKEY: [&str; 2] = [
    "@bytecodealliance/componentize-js@0.23.0",
    // It imports this one without naming it among what it needs.
    "@bytecodealliance/preview2-shim@0.25.0",
];

const SAMPLE: &str = "js-notify";
const TEMPLATE: &str = "hello-js";
const TRIALS: &str = "trials-js";

pub(super) fn build(place: &Place) -> Result<Vec<Built>, NotBuilt> {
    let root = &place.root;
    let mut laid = Vec::new();
    for (name, source) in [
        ("sdk-js", "sdk/js"),
        (SAMPLE, "plugins/js-notify"),
        (TEMPLATE, "sdk/js/template"),
        (TRIALS, "tests/guests/js"),
    ] {
        let folder = place.stage(name);
        let sdk = ("sdk/js/sandhog", "sandhog");
        stage::lay(&folder, root, &[(source, ""), sdk, ("wit", "wit")])?;
        laid.push(folder);
    }
    stage::fill(&laid[2], TEMPLATE)?;
    get("node --version", Command::new("node").arg("--version"))?;
    for folder in &laid[..3] {
        let mut tests = Command::new("node");
        tests.current_dir(folder).arg("--test");
        pass(&format!("node --test in {}", folder.display()), &mut tests)?;
    }
    let bin = tools(place)?;
    let [_, sample, template, trials] = &laid[..] else {
        return Err(NotBuilt::Failed("a folder is missing".to_owned()));
    };
    Ok(vec![
        quick_js(&bin, sample, "component.js", place.component(SAMPLE))?,
        quick_js(&bin, template, "component.js", place.component(TEMPLATE))?,
        quick_js(&bin, trials, "trials.js", place.component("trials-quickjs"))?,
        spider_monkey(&bin, trials, place.component("trials-spidermonkey"))?,
    ])
}

/// Where the tools are, installed if they are not.
fn tools(place: &Place) -> Result<PathBuf, NotBuilt> {
    let quick_js = quick_js_version(&place.root).map_err(NotBuilt::Failed)?;
    let folder = place.tools("js");
    let version = format!("{quick_js} {}", SPIDERMONKEY.join(" "));
    install(&folder, &version, || {
        let mut npm = Command::new("npm");
        npm.args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--save-exact",
        ])
        .arg("--prefix")
        .arg(&folder)
        .arg(&quick_js)
        .args(SPIDERMONKEY);
        get("npm install", &mut npm)
    })?;
    Ok(folder.join("node_modules/.bin"))
}

/// `componentize-qjs@VERSION`, as a new handler's folder has it.
fn quick_js_version(root: &Path) -> Result<String, String> {
    let file = root.join(MANIFEST);
    let text =
        fs::read_to_string(&file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
    let manifest: Value =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))?;
    match manifest["devDependencies"]["componentize-qjs"].as_str() {
        Some(version) => Ok(format!("componentize-qjs@{version}")),
        None => Err(format!("{} names no componentize-qjs", file.display())),
    }
}

fn quick_js(bin: &Path, folder: &Path, source: &str, to: PathBuf) -> Result<Built, NotBuilt> {
    let mut build = Command::new(bin.join("componentize-qjs"));
    build
        .current_dir(folder)
        .args(["--wit", "wit", "--js", source, "--module-root", "."])
        .args(["--world", "handler-plugin", "--sync", "--output"])
        .arg(&to);
    let what = format!("componentize-qjs in {}", folder.display());
    built(to, &what, &mut build)
}

fn spider_monkey(bin: &Path, folder: &Path, to: PathBuf) -> Result<Built, NotBuilt> {
    let mut build = Command::new(bin.join("componentize-js"));
    build
        .current_dir(folder)
        .args([
            "trials.js",
            "--wit",
            "wit",
            "--world-name",
            "handler-plugin",
        ])
        .args(["--disable", "fetch-event", "--out"])
        .arg(&to);
    let what = format!("componentize-js in {}", folder.display());
    built(to, &what, &mut build)
}

#[cfg(test)]
mod tests {
    use super::{SPIDERMONKEY, quick_js_version};
    use std::{fs, path::Path};

    #[test]
    fn the_versions_tried_are_those_that_are_told() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let version = quick_js_version(&root).unwrap();
        let digit = version.rsplit('@').next().unwrap_or_default();
        assert!(digit.starts_with(|c: char| c.is_ascii_digit()), "{version}");
        for page in ["sdk/js/template/README.md", "docs/handlers-javascript.md"] {
            let text = fs::read_to_string(root.join(page)).unwrap();
            for package in SPIDERMONKEY {
                assert!(text.contains(package), "{page} has no {package}");
            }
        }
    }
}
