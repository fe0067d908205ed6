//! `sandhog plugin new`: a handler's folder that builds with nothing but what this program carries and
//! the package registry of its language.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use include_dir::{Dir, include_dir};
use serde_json::json;

use super::language::Language;
use crate::cli::{
    exit::{Exit, Fault, Outcome},
    session::Session,
};

// `build.rs` has the program built anew when one of these changes.
static SDK: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../sdk");
static WIT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../wit");

/// What lies beside the Rust crate in the SDK's folder and is no part of it for its users.
const NOT_RUST: [&str; 6] = ["template", "tests", "target", "python", "js", "c"];
/// What tools leave in source folders.
const LEFT_BY_TOOLS: [&str; 3] = ["__pycache__", "node_modules", "target"];

/// What a handler's folder is made of.
struct Layout {
    /// Where the template is within the SDK; its files go to the top.
    template: &'static str,
    /// Where the SDK's files for the language are, and where they go.
    sdk: (&'static str, &'static str),
    /// What of them stays out.
    without: &'static [&'static str],
    /// Where the contract goes.
    wit: &'static str,
}

impl Layout {
    const fn of(language: Language) -> Self {
        match language {
            // The SDK finds the contract beside itself.
            Language::Rust => Self {
                template: "template",
                sdk: ("", "vendor/sandhog/sdk"),
                without: &NOT_RUST,
                wit: "vendor/sandhog/wit",
            },
            Language::Python => Self {
                template: "python/template",
                sdk: ("python/sandhog", "sandhog"),
                without: &[],
                wit: "wit",
            },
            Language::Js => Self {
                template: "js/template",
                sdk: ("js/sandhog", "sandhog"),
                without: &[],
                wit: "wit",
            },
        }
    }
}

pub(super) fn run(
    session: &mut Session<'_, '_>,
    name: &str,
    language: Language,
    path: Option<PathBuf>,
) -> Outcome<Exit> {
    check_name(name, language).map_err(Fault::usage)?;
    let folder = path.unwrap_or_else(|| PathBuf::from(name));
    let taken = fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    if taken || folder.is_file() {
        let shown = folder.display();
        return Err(Fault::usage(format!(
            "{shown} is there already: name another place with --path"
        )));
    }
    write(&folder, name, language)?;
    if session.is_json() {
        session.json(&json!({ "name": name, "path": folder }))?;
    } else {
        session.say(&folder.display().to_string())?;
    }
    session.note(&format!(
        "a handler of kind {name}: `cd {}`, then `sandhog plugin test`",
        folder.display()
    ));
    Ok(Exit::Done)
}

/// A name that Sandhog takes for a kind, and the language's tools for a package.
fn check_name(name: &str, language: Language) -> Result<(), String> {
    const TAKEN: [&str; 7] = [
        "test",
        "core",
        "std",
        "alloc",
        "proc-macro",
        "sandhog-sdk",
        "serde",
    ];
    let first = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase());
    let rest = name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte));
    if !first || !rest || name.len() > 64 {
        return Err(format!(
            "{name:?} can name no handler: use at most 64 of a-z, 0-9, - and _, a letter first"
        ));
    }
    if language != Language::Rust {
        return Ok(());
    }
    let words: Vec<&str> = name.split(['-', '_']).collect();
    if TAKEN.contains(&name) || words.iter().all(|word| KEYWORDS.contains(word)) {
        return Err(format!(
            "{name:?} means something to Rust: use another name"
        ));
    }
    Ok(())
}

const KEYWORDS: [&str; 24] = [
    "as", "async", "await", "break", "const", "crate", "dyn", "else", "enum", "extern", "fn",
    "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "self", "struct", "type",
    "use",
];

fn write(folder: &Path, name: &str, language: Language) -> anyhow::Result<()> {
    let layout = Layout::of(language);
    for (path, bytes) in files(inner(layout.template)?, Path::new(layout.template)) {
        let text = str::from_utf8(bytes).context("the template is no text")?;
        put(
            folder,
            &filled(&path),
            text.replace("{{name}}", name).as_bytes(),
        )?;
    }
    let (from, to) = layout.sdk;
    for (path, bytes) in files(inner(from)?, Path::new(from)) {
        let first = path.iter().next().unwrap_or_default();
        if layout.without.iter().all(|other| first != *other) {
            put(folder, &Path::new(to).join(path), bytes)?;
        }
    }
    for (path, bytes) in files(&WIT, Path::new("")) {
        put(folder, &Path::new(layout.wit).join(path), bytes)?;
    }
    Ok(())
}

fn inner(path: &str) -> anyhow::Result<&'static Dir<'static>> {
    match path {
        "" => Ok(&SDK),
        path => SDK
            .get_dir(path)
            .with_context(|| format!("this program carries no {path}")),
    }
}

/// Every file below a folder, its path from `base` on.
fn files<'d>(folder: &'d Dir<'d>, base: &Path) -> Vec<(PathBuf, &'d [u8])> {
    let mut found = Vec::new();
    for file in folder.files() {
        let path = file.path().strip_prefix(base).unwrap_or(file.path());
        found.push((path.to_path_buf(), file.contents()));
    }
    for inner in folder.dirs() {
        let name = inner.path().file_name().unwrap_or_default();
        if LEFT_BY_TOOLS.iter().all(|left| name != *left) {
            found.extend(files(inner, base));
        }
    }
    found
}

/// A template's file name as it is in the folder: without the ending that keeps it from being taken
/// for part of this project, `gitignore` and the folder `cargo` with their dot.
fn filled(path: &Path) -> PathBuf {
    let path = match path.extension() {
        Some(ending) if ending == "in" => path.with_extension(""),
        _ => path.to_path_buf(),
    };
    match path.file_name() {
        Some(name) if name == "gitignore" => path.with_file_name(".gitignore"),
        _ => match path.strip_prefix("cargo") {
            Ok(below) => Path::new(".cargo").join(below),
            Err(_) => path,
        },
    }
}

fn put(folder: &Path, path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let target = folder.join(path);
    let Some(parent) = target.parent() else {
        bail!("{} lies nowhere", target.display());
    };
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(&target, bytes))
        .with_context(|| format!("cannot write {}", target.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_crate_has_its_name_its_sdk_and_the_contract() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "my-plugin", Language::Rust).unwrap();
        let read = |path: &str| fs::read_to_string(folder.path().join(path)).expect(path);
        let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
        assert_eq!(manifest["package"]["name"].as_str(), Some("my-plugin"));
        let sdk = manifest["dependencies"]["sandhog-sdk"]["path"]
            .as_str()
            .unwrap();
        assert!(read(&format!("{sdk}/Cargo.toml")).contains("name = \"sandhog-sdk\""));
        assert!(read("src/lib.rs").contains("kind = \"my-plugin\""));
        assert!(read("samples/ada.json").contains("\"kind\": \"my-plugin\""));
        assert!(read(".gitignore").contains("/target"));
        let cargo: toml::Table = read(".cargo/config.toml").parse().unwrap();
        let own: toml::Table = include_str!("../../../../.cargo/config.toml")
            .parse()
            .unwrap();
        assert_eq!(cargo["target"], own["target"]);
        assert!(read("vendor/sandhog/sdk/src/lib.rs").contains("../wit"));
        assert!(read("vendor/sandhog/sdk/macros/src/lib.rs").starts_with("//!"));
        assert!(read("vendor/sandhog/wit/job.wit").contains("package sandhog:job@"));
        for other in NOT_RUST {
            assert!(
                !folder
                    .path()
                    .join("vendor/sandhog/sdk")
                    .join(other)
                    .exists()
            );
        }
        for (path, _) in files(&SDK, Path::new("")) {
            let text = path.to_string_lossy().into_owned();
            assert!(!text.contains("target/"), "{text} is no source");
        }
    }

    #[test]
    fn other_languages_get_their_own_template_sdk_and_the_contract() {
        for (language, files) in [
            (
                Language::Python,
                ["handler.py", "test_handler.py", "sandhog/__init__.py"],
            ),
            (
                Language::Js,
                ["handler.js", "package.json", "sandhog/index.js"],
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), "greet", language).unwrap();
            let read = |path: &str| fs::read_to_string(folder.path().join(path)).expect(path);
            for file in files {
                assert!(!read(file).contains("{{name}}"), "{file}");
            }
            assert!(read(files[0]).contains("greet"));
            assert!(read("samples/ada.json").contains("\"kind\": \"greet\""));
            assert!(read("wit/job.wit").contains("package sandhog:job@"));
            assert!(read(".gitignore").contains("*.wasm"));
            assert_eq!(Language::of(folder.path()), Ok(language));
            for other in ["vendor", "src", "template", "gitignore"] {
                assert!(!folder.path().join(other).exists(), "{other}");
            }
        }
    }

    #[test]
    fn names_that_cargo_would_refuse_are_refused_first() {
        for name in ["thumb", "my-plugin", "a_1", "match-maker"] {
            assert_eq!(check_name(name, Language::Rust), Ok(()), "{name}");
        }
        for name in [
            "",
            "1a",
            "-a",
            "A",
            "a b",
            "../x",
            "é",
            "match",
            "test",
            "sandhog-sdk",
            &"a".repeat(65),
        ] {
            assert!(check_name(name, Language::Rust).is_err(), "{name}");
        }
        assert_eq!(check_name("match", Language::Python), Ok(()));
        assert!(check_name("../x", Language::Js).is_err());
    }
}
