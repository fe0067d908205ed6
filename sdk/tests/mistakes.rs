//! What a beginner gets wrong, and that the compiler then says what to do, at the right place.
//!
//! Each file in `mistakes` is a program with one mistake. Its lines `//~ PLACE => TEXT` are the errors
//! it has: the text that the compiler underlines, and a part of what it says there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// An error of the compiler: what is underlined, and everything it says.
type Told = (String, String);

#[test]
fn every_mistake_is_told_where_it_is_with_what_to_do() {
    let cases = cases();
    assert!(cases.len() > 40, "only {} cases found", cases.len());
    let told = compile(&cases);
    let mut wrong = String::new();
    for (name, path) in &cases {
        let expected = expected(&fs::read_to_string(path).unwrap());
        let found = told.get(name).cloned().unwrap_or_default();
        let is_told = |(place, text): &Told| {
            let same = |(at, said): &&Told| at == place && said.contains(text);
            found.iter().any(|one| same(&one))
        };
        if found.len() != expected.len() || !expected.iter().all(is_told) {
            let _ = writeln!(
                wrong,
                "\n{name}: wanted {expected:#?}, the compiler said {found:#?}"
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn an_expectation_is_a_place_and_a_text() {
    let text = "//! A doc.\n//~ a => b => c\nfn main() {}\n";
    assert_eq!(expected(text), [("a".to_owned(), "b => c".to_owned())]);
}

fn cases() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes");
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> = entries
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    cases.sort();
    cases
}

fn expected(source: &str) -> Vec<Told> {
    let lines = source.lines().filter_map(|line| line.strip_prefix("//~ "));
    let parts = lines.map(|line| line.split_once(" => ").expect("`PLACE => TEXT`"));
    parts
        .map(|(place, text)| (place.to_owned(), text.to_owned()))
        .collect()
}

/// Checks every case as a program of one package, and gives the errors of each.
fn compile(cases: &[(String, PathBuf)]) -> BTreeMap<String, Vec<Told>> {
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mistakes");
    fs::create_dir_all(&package).unwrap();
    let mut manifest = format!(
        "[package]\nname = \"mistakes\"\nedition = \"2024\"\nautobins = false\n[workspace]\n\
         [dependencies]\nsandhog-sdk = {{ path = {sdk:?} }}\nserde = {{ version = \"1\", features = [\"derive\"] }}\n"
    );
    for (name, path) in cases {
        let _ = write!(manifest, "[[bin]]\nname = {name:?}\npath = {path:?}\n");
    }
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    // The same versions as everywhere, so that nothing has to be fetched.
    fs::copy(sdk.join("../Cargo.lock"), package.join("Cargo.lock")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args([
            "check",
            "--bins",
            "--keep-going",
            "--offline",
            "--quiet",
            "--message-format=json",
        ])
        .arg("--target-dir")
        .arg(package.join("target"))
        .current_dir(&package)
        .output()
        .unwrap();
    let (said, beside) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8_lossy(&output.stderr),
    );
    let mut told: BTreeMap<String, Vec<Told>> = BTreeMap::new();
    for line in said.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(error) = error(&line) {
            let name = line["target"]["name"].as_str().unwrap().to_owned();
            told.entry(name).or_default().push(error);
        }
    }
    assert!(!told.is_empty(), "nothing was compiled: {beside}");
    told
}

/// The error that a line of cargo's tells of.
fn error(line: &Value) -> Option<Told> {
    let message = &line["message"];
    if line["reason"] != "compiler-message" || message["level"] != "error" {
        return None;
    }
    let span = message["spans"]
        .as_array()?
        .iter()
        .find(|span| span["is_primary"] == true)?;
    let text = &span["text"][0];
    let at = |name: &str| text[name].as_u64().map(|column| column as usize - 1);
    let (start, end) = (at("highlight_start")?, at("highlight_end")?);
    let letters = text["text"].as_str()?.chars();
    let place: String = letters.skip(start).take(end - start).collect();
    Some((place, message["rendered"].as_str()?.to_owned()))
}
