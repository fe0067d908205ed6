//! `sandhog plugin build`: a handler's folder made into a component, by the tool of its language.

mod cargo;
mod npm;
mod python;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde_json::json;

use super::{language::Language, tool};
use crate::cli::{
    exit::{Exit, Fault, Outcome},
    file,
    session::Session,
};
use crate::plugin::{Checked, Problem};

/// A component where its tool put it.
struct Built {
    /// The plugin's name.
    name: String,
    /// Where it is.
    file: PathBuf,
}

/// A component where it was asked for.
pub(super) struct Component {
    /// The plugin's name.
    pub(super) name: String,
    /// Where it is.
    pub(super) file: PathBuf,
    /// Its size in bytes.
    pub(super) size: u64,
}

pub(super) fn run(
    session: &mut Session<'_, '_>,
    dir: Option<PathBuf>,
    into: Option<PathBuf>,
) -> Outcome<Exit> {
    let dir = dir.unwrap_or_else(|| PathBuf::from("."));
    let components = build(session, &dir, into.as_deref())?;
    if session.is_json() {
        let rows = components
            .iter()
            .map(|one| json!({ "name": one.name, "file": one.file, "size": one.size }));
        session.json(&rows.collect())?;
    } else {
        for one in &components {
            session.say(&one.file.display().to_string())?;
        }
    }
    Ok(Exit::Done)
}

/// Build what is in a folder, see that it can be served, and put it where it is wanted: into the same
/// folder unless said otherwise.
pub(super) fn build(
    session: &mut Session<'_, '_>,
    dir: &Path,
    into: Option<&Path>,
) -> Outcome<Vec<Component>> {
    let language = Language::of(dir).map_err(Fault::usage)?;
    // What tools write before anyone looked at it stays out of folders that a runner may watch.
    let bench = tempfile::Builder::new()
        .prefix("sandhog-build-")
        .tempdir()
        .context("cannot make a folder to build in")?;
    let built = match language {
        Language::Rust => cargo::build(session, dir)?,
        Language::Python => vec![python::build(dir, bench.path())?],
        Language::Js => vec![npm::build(dir)?],
    };
    let files: Vec<PathBuf> = built.iter().map(|one| one.file.clone()).collect();
    verdict(&session.rooms.check_plugins(&session.config, &files)?)?;
    let into = into.unwrap_or(dir);
    fs::create_dir_all(into).with_context(|| format!("cannot make {}", into.display()))?;
    let mut components = Vec::new();
    for Built { name, file: from } in built {
        let bytes = fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?;
        let file = into.join(format!("{name}.wasm"));
        file::replace(&file, &bytes)?;
        let size = bytes.len() as u64;
        components.push(Component { name, file, size });
    }
    Ok(components)
}

/// Run the tests that a handler's own language has, without a sandbox.
pub(super) fn native_tests(dir: &Path) -> Outcome<()> {
    match Language::of(dir).map_err(Fault::usage)? {
        Language::Rust => cargo::test(dir)?,
        Language::Python => python::test(dir)?,
        Language::Js => npm::test(dir)?,
    }
    Ok(())
}

/// Refuse what was built but cannot be served, before it gets where a runner would look at it.
fn verdict(found: &[Result<Checked, Problem>]) -> Outcome<()> {
    let problems = found.iter().filter_map(|one| one.as_ref().err());
    let told: Vec<String> = problems.map(super::told).collect();
    if told.is_empty() {
        return Ok(());
    }
    Err(Fault::failed(told.join("\n")))
}

/// The name of a folder as a plugin's, which has letters that need no quoting.
fn name_of(dir: &Path) -> anyhow::Result<String> {
    let whole = fs::canonicalize(dir).with_context(|| format!("cannot find {}", dir.display()))?;
    let name = whole.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() || c == '_' => c,
        _ => '-',
    };
    let name: String = name.chars().map(plain).take(64).collect();
    match name.is_empty() {
        true => Ok("handler".to_owned()),
        false => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_that_cannot_be_served_is_told_at_once() {
        assert!(verdict(&[]).is_ok());
        let problem = Problem {
            file: "greet.wasm".into(),
            cause: "it exports no handler".into(),
            hint: "add `export!`".into(),
            earlier_served: false,
        };
        let fault = verdict(&[Err(problem)]).unwrap_err();
        assert_eq!(fault.exit, Exit::Failed);
        let told = fault.error.unwrap().to_string();
        assert!(told.contains("greet.wasm: it exports no handler") && told.contains("export!"));
    }

    #[test]
    fn a_folder_gives_its_plugin_a_name_that_is_one() {
        let folder = tempfile::tempdir().unwrap();
        for (dir, name) in [("greet", "greet"), ("My Handler.2", "my-handler-2")] {
            let dir = folder.path().join(dir);
            fs::create_dir(&dir).unwrap();
            assert_eq!(name_of(&dir).unwrap(), name);
        }
    }
}
