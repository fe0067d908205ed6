//! What the demo feeds the runner: one job for each photo, table and page of a folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The handlers the demo has work for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Markdown to a page.
    Page,
    /// CSV to a summary.
    Table,
    /// PNG or JPEG to a small PNG.
    Thumbnail,
}

impl Kind {
    /// Its name as a job's kind.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Table => "table",
            Self::Thumbnail => "thumbnail",
        }
    }

    /// The ending of its results.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Page => "html",
            Self::Table => "json",
            Self::Thumbnail => "png",
        }
    }

    /// The kind for a file, by its ending.
    fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "md" | "markdown" => Some(Self::Page),
            "csv" => Some(Self::Table),
            "png" | "jpg" | "jpeg" => Some(Self::Thumbnail),
            _ => None,
        }
    }
}

/// A file to make a job of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    /// The handler.
    pub(crate) kind: Kind,
    /// The file.
    pub(crate) file: PathBuf,
    /// Where its result goes, within the results' folder. No two are equal.
    pub(crate) result: PathBuf,
}

/// The inputs of a folder, folders within it included, pages first and photos last: those take
/// longest, so that some still run when the runner is killed.
pub(crate) fn below(folder: &Path) -> Result<Vec<Input>, String> {
    let mut files = Vec::new();
    walk(folder, &mut files)?;
    let mut inputs: Vec<Input> = files
        .into_iter()
        .filter_map(|file| {
            let inner = file.strip_prefix(folder).unwrap_or(&file).to_owned();
            input(file, &inner)
        })
        .collect();
    inputs.sort_by(|a, b| (a.kind, &a.file).cmp(&(b.kind, &b.file)));
    Ok(inputs)
}

/// The project's own pages and small inputs.
pub(crate) fn own(root: &Path) -> Result<Vec<Input>, String> {
    let mut inputs = below(&root.join("docs"))?;
    inputs.extend(below(&root.join("tests/inputs"))?);
    for page in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"] {
        inputs.extend(input(root.join(page), Path::new(page)));
    }
    inputs.sort_by(|a, b| (a.kind, &a.file).cmp(&(b.kind, &b.file)));
    Ok(inputs)
}

fn input(file: PathBuf, inner: &Path) -> Option<Input> {
    let kind = Kind::of(&file)?;
    // `a.png` and `a.jpg` may lie side by side: the whole name stays.
    let mut result = inner.as_os_str().to_owned();
    result.push(".");
    result.push(kind.ending());
    Some(Input {
        kind,
        file,
        result: result.into(),
    })
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let cannot = |e| format!("cannot list {}: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let (name, path) = (entry.file_name(), entry.path());
        let name = name.to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        let kind = entry.file_type().map_err(cannot)?;
        if kind.is_dir() && name != "target" && name != "node_modules" {
            walk(&path, files)?;
        } else if kind.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Kind, below};
    use std::{fs, path::Path};

    #[test]
    fn finds_what_handlers_can_read_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("xtask-inputs-{}", std::process::id()));
        fs::create_dir_all(folder.join("in/target")).unwrap();
        fs::create_dir_all(folder.join(".git")).unwrap();
        let files = [
            "b.PNG",
            "a.jpg",
            "a.png",
            "in/t.csv",
            "in/p.md",
            "in/x.txt",
            "in/target/q.md",
            ".git/r.md",
        ];
        for file in files {
            fs::write(folder.join(file), "x").unwrap();
        }
        let found = below(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let found: Vec<(Kind, &Path)> =
            found.iter().map(|i| (i.kind, i.result.as_path())).collect();
        let expected = [
            (Kind::Page, Path::new("in/p.md.html")),
            (Kind::Table, Path::new("in/t.csv.json")),
            (Kind::Thumbnail, Path::new("a.jpg.png")),
            (Kind::Thumbnail, Path::new("a.png.png")),
            (Kind::Thumbnail, Path::new("b.PNG.png")),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let why = below(Path::new("no/such/folder")).unwrap_err();
        assert!(why.contains("no/such/folder"), "{why}");
    }
}
