//! Building with componentize-py, which is a Python package.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Built, name_of,
    tool::{self, find, missing, own},
};

/// Makes a component in `bench`.
pub(super) fn build(dir: &Path, bench: &Path) -> anyhow::Result<Built> {
    let name = name_of(dir)?;
    let file = bench.join(format!("{name}.wasm"));
    let mut command = Command::new(componentizer(dir)?);
    command.args([
        "-d",
        "wit",
        "-w",
        "handler-plugin",
        "componentize",
        "handler",
        "-o",
    ]);
    tool::run(command.arg(&file), dir)?;
    Ok(Built { name, file })
}

/// Runs the unit tests.
pub(super) fn test(dir: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(python(dir)?);
    tool::run(command.args(["-m", "unittest"]), dir)
}

fn python(dir: &Path) -> anyhow::Result<PathBuf> {
    own(dir, ".venv/bin/python3")
        .or_else(|| find("python3"))
        .ok_or_else(|| {
            missing(
                Path::new("."),
                "python3 (3.10 or newer)",
                "sudo apt install python3 python3-venv",
            )
        })
}

fn componentizer(dir: &Path) -> anyhow::Result<PathBuf> {
    const TOOL: &str = "componentize-py";
    let here = own(dir, &format!(".venv/bin/{TOOL}"));
    if let Some(found) = here.or_else(|| find(TOOL)) {
        return Ok(found);
    }
    python(dir)?;
    let command = "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt";
    Err(missing(dir, TOOL, command))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn the_folders_own_tool_is_taken_and_names_the_result_after_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("greet");
        fs::create_dir_all(dir.join(".venv/bin")).unwrap();
        let tool = dir.join(".venv/bin/componentize-py");
        // The last word is where the component goes.
        fs::write(
            &tool,
            "#!/bin/sh\necho said\nprintf '%s ' \"$@\" > words\nprintf x > \"$8\"\n",
        )
        .unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        let built = build(&dir, folder.path()).unwrap();
        assert_eq!(built.name, "greet");
        assert_eq!(fs::read(built.file).unwrap(), b"x");
        let words = fs::read_to_string(dir.join("words")).unwrap();
        assert!(
            words.starts_with("-d wit -w handler-plugin componentize handler -o "),
            "{words}"
        );
    }
}
