//! `sandhog plugin new`: a crate that builds with nothing but what this program carries and the
//! package registry.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use include_dir::{Dir, include_dir};
use serde_json::json;

use crate::cli::{
    exit::{Exit, Fault, Outcome},
    session::Session,
};

// `build.rs` has the program built anew when one of these changes.
static SDK: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../sdk");
static WIT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../wit");

/// The template within the SDK.
const TEMPLATE: &str = "template";
/// What lies beside the Rust crate in the SDK's folder and is no part of it for its users.
const NOT_RUST: [&str; 6] = [TEMPLATE, "tests", "target", "python", "js", "c"];
/// Where the SDK goes within the new crate. The SDK finds the contract beside itself.
const VENDOR: &str = "vendor/sandhog";

pub(super) fn run(
    session: &mut Session<'_, '_>,
    name: &str,
    path: Option<PathBuf>,
) -> Outcome<Exit> {
    check_name(name).map_err(Fault::usage)?;
    let folder = path.unwrap_or_else(|| PathBuf::from(name));
    let taken = fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    if taken || folder.is_file() {
        let shown = folder.display();
        return Err(Fault::usage(format!(
            "{shown} is there already: name another place with --path"
        )));
    }
    write(&folder, name)?;
    if session.is_json() {
        session.json(&json!({ "name": name, "path": folder }))?;
    } else {
        session.say(&folder.display().to_string())?;
    }
    session.note(&format!(
        "a handler of kind {name}: `cd {}`, then `cargo test` and `sandhog plugin build`",
        folder.display()
    ));
    Ok(Exit::Done)
}

/// A name that cargo takes for a package and Sandhog for a kind.
fn check_name(name: &str) -> Result<(), String> {
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
            "{name:?} can name no crate: use at most 64 of a-z, 0-9, - and _, a letter first"
        ));
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

fn write(folder: &Path, name: &str) -> anyhow::Result<()> {
    let template = SDK
        .get_dir(TEMPLATE)
        .context("this program carries no template")?;
    for (path, bytes) in files(template, Path::new(TEMPLATE)) {
        let text = str::from_utf8(bytes).context("the template is no text")?;
        put(
            folder,
            &filled(&path),
            text.replace("{{name}}", name).as_bytes(),
        )?;
    }
    for (path, bytes) in files(&SDK, Path::new("")) {
        let first = path.iter().next().unwrap_or_default();
        if NOT_RUST.iter().all(|other| first != *other) {
            put(folder, &Path::new(VENDOR).join("sdk").join(path), bytes)?;
        }
    }
    for (path, bytes) in files(&WIT, Path::new("")) {
        put(folder, &Path::new(VENDOR).join("wit").join(path), bytes)?;
    }
    Ok(())
}

/// Every file below a folder, its path from `base` on.
fn files<'d>(folder: &'d Dir<'d>, base: &Path) -> Vec<(PathBuf, &'d [u8])> {
    let mut found = Vec::new();
    for file in folder.files() {
        let path = file.path().strip_prefix(base).unwrap_or(file.path());
        found.push((path.to_path_buf(), file.contents()));
    }
    for inner in folder.dirs() {
        found.extend(files(inner, base));
    }
    found
}

/// A template's file name as it is in the crate: without its ending, `gitignore` with its dot.
fn filled(path: &Path) -> PathBuf {
    let path = path.with_extension("");
    match path.file_name() {
        Some(name) if name == "gitignore" => path.with_file_name(".gitignore"),
        _ => path,
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
        write(folder.path(), "my-plugin").unwrap();
        let read = |path: &str| fs::read_to_string(folder.path().join(path)).expect(path);
        let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
        assert_eq!(manifest["package"]["name"].as_str(), Some("my-plugin"));
        let sdk = manifest["dependencies"]["sandhog-sdk"]["path"]
            .as_str()
            .unwrap();
        assert!(read(&format!("{sdk}/Cargo.toml")).contains("name = \"sandhog-sdk\""));
        assert!(read("src/lib.rs").contains("kind = \"my-plugin\""));
        assert!(read(".gitignore").contains("/target"));
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
    fn names_that_cargo_would_refuse_are_refused_first() {
        for name in ["thumb", "my-plugin", "a_1", "match-maker"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
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
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
