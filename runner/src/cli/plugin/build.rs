//! `sandhog plugin build`: plain cargo with a toolchain that has the guests' target.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::toolchain::{self, TARGET};
use crate::cli::{
    exit::{Exit, Fault, Outcome},
    file,
    session::Session,
};

pub(super) fn run(
    session: &mut Session<'_, '_>,
    dir: Option<PathBuf>,
    into: Option<PathBuf>,
) -> Outcome<Exit> {
    let dir = dir.unwrap_or_else(|| PathBuf::from("."));
    if !dir.join("Cargo.toml").is_file() {
        let shown = dir.display();
        return Err(Fault::usage(format!(
            "{shown} holds no Cargo.toml: name a handler's crate, or make one with `sandhog plugin new`"
        )));
    }
    let built = cargo(&dir)?;
    if built.is_empty() {
        return Err(Fault::failed(
            "cargo built no component: the crate needs `crate-type = [\"cdylib\"]` under [lib]",
        ));
    }
    let into = into.unwrap_or(dir);
    fs::create_dir_all(&into).with_context(|| format!("cannot make {}", into.display()))?;
    let mut components = Vec::new();
    for (name, path) in built {
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let target = into.join(format!("{name}.wasm"));
        file::replace(&target, &bytes)?;
        components.push((name, target, bytes.len()));
    }
    if session.is_json() {
        let rows = components
            .iter()
            .map(|(name, file, size)| json!({ "name": name, "file": file, "size": size }));
        session.json(&rows.collect())?;
    } else {
        for (_, file, _) in &components {
            session.say(&file.display().to_string())?;
        }
    }
    Ok(Exit::Done)
}

/// Build, and give the components with their packages' names. What cargo and the compiler say goes
/// to standard error as it comes.
fn cargo(dir: &Path) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let toolchain = toolchain::prepare()?;
    let mut command = toolchain.cargo();
    command
        .args(["build", "--release", "--target", TARGET])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(dir)
        .stderr(Stdio::inherit());
    if let Some(name) = toolchain.target_folder() {
        command
            .arg("--target-dir")
            .arg(Path::new("target").join(name));
    }
    let output = command.output().context("cannot run `cargo`")?;
    if !output.status.success() {
        bail!("cargo could not build {}: {}", dir.display(), output.status);
    }
    let said =
        String::from_utf8(output.stdout).context("cargo printed something that is no text")?;
    said.lines().filter_map(component).collect()
}

/// The component that a line of cargo's tells of.
fn component(line: &str) -> Option<anyhow::Result<(String, PathBuf)>> {
    let said: Value = serde_json::from_str(line).ok()?;
    let kinds = said["target"]["kind"].as_array()?;
    if said["reason"] != "compiler-artifact" || !kinds.iter().any(|kind| kind == "cdylib") {
        return None;
    }
    let mut files = said["filenames"]
        .as_array()?
        .iter()
        .filter_map(Value::as_str);
    let file = PathBuf::from(files.find(|file| file.ends_with(".wasm"))?);
    let manifest = said["manifest_path"].as_str()?;
    Some(package(Path::new(manifest)).map(|name| (name, file)))
}

fn package(manifest: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(manifest)
        .with_context(|| format!("cannot read {}", manifest.display()))?;
    let table: toml::Table = text
        .parse()
        .with_context(|| format!("cannot read {}", manifest.display()))?;
    let name = table.get("package").and_then(|package| package.get("name"));
    name.and_then(toml::Value::as_str)
        .map(String::from)
        .with_context(|| format!("{} names no package", manifest.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_component_is_found_among_what_cargo_says() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("Cargo.toml");
        fs::write(&manifest, "[package]\nname = \"my-plugin\"").unwrap();
        let line = |kind: &str, file: &str| {
            json!({
                "reason": "compiler-artifact",
                "manifest_path": manifest,
                "target": { "kind": [kind] },
                "filenames": ["/t/libmy_plugin.rlib", file],
            })
            .to_string()
        };
        let found = component(&line("cdylib", "/t/my_plugin.wasm"))
            .unwrap()
            .unwrap();
        assert_eq!(
            found,
            ("my-plugin".into(), PathBuf::from("/t/my_plugin.wasm"))
        );
        assert!(component(&line("lib", "/t/my_plugin.wasm")).is_none());
        assert!(component(&line("cdylib", "/t/my_plugin.so")).is_none());
        assert!(component("{\"reason\":\"build-finished\",\"success\":true}").is_none());
        assert!(component("warning: text").is_none());
    }
}
