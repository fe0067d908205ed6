//! Building with the scripts of a `package.json`.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{
    Built,
    tool::{self, find, missing},
};

/// Runs the script `build`, which writes `NAME.wasm` beside `package.json`.
pub(super) fn build(dir: &Path) -> anyhow::Result<Built> {
    let name = script(dir, "build")?;
    npm()?;
    if !dir.join("node_modules").is_dir() {
        return Err(missing(dir, "what package.json names", "npm install"));
    }
    let file = dir.join(format!("{name}.wasm"));
    let before = fs::metadata(&file).and_then(|data| data.modified()).ok();
    tool::run(Command::new("npm").args(["run", "--silent", "build"]), dir)?;
    let after = fs::metadata(&file).and_then(|data| data.modified()).ok();
    if after.is_none() || after == before {
        bail!(
            "the script `build` of package.json wrote no {}: let it write there",
            file.display()
        );
    }
    Ok(Built { name, file })
}

/// Runs the script `test`.
pub(super) fn test(dir: &Path) -> anyhow::Result<()> {
    script(dir, "test")?;
    npm()?;
    tool::run(Command::new("npm").args(["--silent", "test"]), dir)
}

fn npm() -> anyhow::Result<()> {
    match find("npm") {
        Some(_) => Ok(()),
        None => Err(missing(
            Path::new("."),
            "npm (of Node 20 or newer)",
            "sudo apt install nodejs npm",
        )),
    }
}

/// The package's name, once it is known to have such a script.
fn script(dir: &Path, script: &str) -> anyhow::Result<String> {
    let path = dir.join("package.json");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let package: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))?;
    if !package["scripts"][script].is_string() {
        bail!(
            "{} has no script `{script}`: `sandhog plugin new --lang js` shows one",
            path.display()
        );
    }
    let name = package["name"].as_str().map(str::to_owned);
    name.with_context(|| format!("{} has no `name`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_says_its_name_and_its_scripts() {
        let folder = tempfile::tempdir().unwrap();
        let of = |text: &str| {
            fs::write(folder.path().join("package.json"), text).unwrap();
            script(folder.path(), "build").map_err(|error| error.to_string())
        };
        let whole = r#"{"name": "greet", "scripts": {"build": "make"}}"#;
        assert_eq!(of(whole), Ok("greet".to_owned()));
        for (text, part) in [
            ("{", "is no JSON"),
            (r#"{"name": "greet"}"#, "has no script `build`"),
            (r#"{"scripts": {"build": "make"}}"#, "has no `name`"),
        ] {
            assert!(of(text).unwrap_err().contains(part), "{text}");
        }
    }
}
