//! Folders as a user has them: a handler with its SDK and the contract beside it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::NotBuilt;

/// Lays files and folders of the workspace into a new folder: each from its place to its name there, an empty one
/// for the contents themselves.
pub(crate) fn lay(folder: &Path, root: &Path, parts: &[(&str, &str)]) -> Result<(), NotBuilt> {
    let broken =
        |path: &Path, e: io::Error| NotBuilt::Failed(format!("cannot lay {}: {e}", path.display()));
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|e| broken(folder, e))?;
    }
    for (from, to) in parts {
        let (from, to) = (root.join(from), folder.join(to));
        copy(&from, &to).map_err(|e| broken(&from, e))?;
    }
    Ok(())
}

/// What tools leave beside sources and nobody wants elsewhere.
const LEFT_BEHIND: [&str; 3] = ["__pycache__", "node_modules", "template"];

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if LEFT_BEHIND.iter().any(|left| name == *left) {
            continue;
        }
        let (from, to) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_dir() {
            copy(&from, &to)?;
        } else {
            fs::copy(from, to)?;
        }
    }
    Ok(())
}

/// Fills a template in: its name for `{{name}}` in each file of a folder, those of folders in it left alone.
pub(super) fn fill(folder: &Path, name: &str) -> Result<(), NotBuilt> {
    let fill = |file: PathBuf| -> io::Result<()> {
        let text = fs::read_to_string(&file)?;
        fs::write(file, text.replace("{{name}}", name))
    };
    let all = || -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fill(entry.path())?;
            }
        }
        Ok(())
    };
    all().map_err(|e| NotBuilt::Failed(format!("cannot fill in {}: {e}", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::{fill, lay};
    use std::fs;

    #[test]
    fn parts_are_laid_and_filled_in() {
        let root = std::env::temp_dir().join(format!("xtask-stage-{}", std::process::id()));
        for (path, text) in [
            ("a/handler.py", "kind {{name}}"),
            ("a/__pycache__/old", ""),
            ("b/sdk/deep/file", "{{name}} stays"),
        ] {
            let file = root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let folder = root.join("made");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("old"), "").unwrap();
        lay(&folder, &root, &[("a", ""), ("b/sdk", "sdk")]).unwrap();
        fill(&folder, "hello").unwrap();
        let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
        assert_eq!(read("handler.py"), "kind hello");
        assert_eq!(read("sdk/deep/file"), "{{name}} stays");
        assert!(!folder.join("old").exists() && !folder.join("__pycache__").exists());
        assert!(lay(&folder, &root, &[("none", "")]).is_err());
        fs::remove_dir_all(&root).unwrap();
    }
}
