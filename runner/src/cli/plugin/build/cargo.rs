//! Building with plain cargo and a toolchain that has the guests' target.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{Built, tool};
use crate::cli::{
    exit::{Fault, Outcome},
    plugin::toolchain::{self, TARGET},
    session::Session,
};

/// Builds a handler's crate, and prepares the toolchain when needed.
pub(super) fn build(session: &mut Session<'_, '_>, dir: &Path) -> Outcome<Vec<Built>> {
    inspect(dir).map_err(Fault::usage)?;
    let built = cargo(session, dir)?;
    if built.is_empty() {
        return Err(Fault::failed(
            "cargo built no component: the crate needs `crate-type = [\"cdylib\"]` under [lib]",
        ));
    }
    Ok(built)
}

/// Runs the crate's tests for this machine.
pub(super) fn test(dir: &Path) -> anyhow::Result<()> {
    if tool::find("cargo").is_none() {
        return Err(tool::missing(Path::new("."), "cargo", tool::GET_RUST));
    }
    tool::run(Command::new("cargo").args(["test", "--quiet"]), dir)
}

/// Refuse what is no handler's crate: cargo would build whatever is there.
fn inspect(dir: &Path) -> Result<(), String> {
    let shown = fs::canonicalize(dir).unwrap_or_else(|_| dir.into());
    let shown = shown.display();
    let manifest = dir.join("Cargo.toml");
    let table = table(&manifest).map_err(|error| format!("{error:#}"))?;
    let lacks = if !depends(&table) {
        "does not depend on sandhog-sdk"
    } else if !makes_component(&table) {
        "has no `crate-type = [\"cdylib\"]` under [lib]"
    } else {
        return Ok(());
    };
    Err(format!(
        "{shown} is no handler's crate (its Cargo.toml {lacks}): go into one, or name it: \
         `sandhog plugin build greet`"
    ))
}

fn depends(manifest: &toml::Table) -> bool {
    const SDK: &str = "sandhog-sdk";
    let named = |(key, value): (&String, &toml::Value)| {
        let package = value.get("package").and_then(toml::Value::as_str);
        package.unwrap_or(key) == SDK
    };
    let dependencies = manifest.get("dependencies");
    dependencies
        .and_then(toml::Value::as_table)
        .is_some_and(|table| table.iter().any(named))
}

fn makes_component(manifest: &toml::Table) -> bool {
    let lib = manifest.get("lib");
    // Cargo takes the second spelling too.
    let types = lib.and_then(|lib| lib.get("crate-type").or_else(|| lib.get("crate_type")));
    types
        .and_then(toml::Value::as_array)
        .is_some_and(|types| types.iter().any(|one| one.as_str() == Some("cdylib")))
}

/// Build, and give the components with their packages' names. What cargo and the compiler say goes
/// to standard error as it comes.
fn cargo(session: &mut Session<'_, '_>, dir: &Path) -> anyhow::Result<Vec<Built>> {
    let toolchain = toolchain::prepare(&mut |line| session.note(line))?;
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
fn component(line: &str) -> Option<anyhow::Result<Built>> {
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
    Some(package(Path::new(manifest)).map(|name| Built { name, file }))
}

fn package(manifest: &Path) -> anyhow::Result<String> {
    let table = table(manifest)?;
    let name = table.get("package").and_then(|package| package.get("name"));
    name.and_then(toml::Value::as_str)
        .map(String::from)
        .with_context(|| format!("{} names no package", manifest.display()))
}

fn table(manifest: &Path) -> anyhow::Result<toml::Table> {
    let text = fs::read_to_string(manifest)
        .with_context(|| format!("cannot read {}", manifest.display()))?;
    text.parse()
        .with_context(|| format!("cannot read {}", manifest.display()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_handlers_crate_is_built() {
        let folder = tempfile::tempdir().unwrap();
        let inspected = |manifest: &str| {
            fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
            inspect(folder.path())
        };
        let lib = "[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n";
        let sdk = "[dependencies]\nsandhog-sdk = { path = \"sdk\" }\n";
        assert_eq!(inspected(&format!("{lib}{sdk}")), Ok(()));
        let renamed = "[dependencies]\nsdk = { package = \"sandhog-sdk\", path = \"sdk\" }\n";
        assert_eq!(inspected(&format!("{lib}{renamed}")), Ok(()));
        let refused = inspected("[workspace]\nmembers = []\n").unwrap_err();
        assert!(refused.contains("does not depend on sandhog-sdk"));
        assert!(refused.contains("`sandhog plugin build greet`"));
        assert!(inspected(lib).is_err());
        assert!(inspected(sdk).unwrap_err().contains("cdylib"));
        assert!(inspected("[lib").unwrap_err().contains("Cargo.toml"));
    }

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
            (found.name.as_str(), found.file),
            ("my-plugin", PathBuf::from("/t/my_plugin.wasm"))
        );
        assert!(component(&line("lib", "/t/my_plugin.wasm")).is_none());
        assert!(component(&line("cdylib", "/t/my_plugin.so")).is_none());
        assert!(component("{\"reason\":\"build-finished\",\"success\":true}").is_none());
        assert!(component("warning: text").is_none());
    }
}
