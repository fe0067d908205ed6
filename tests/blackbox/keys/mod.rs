//! Every key of the settings takes effect. The table says which test shows it, and no key may be missing.

mod attempts;
mod ceilings;
mod places;
mod stored;

use std::{collections::BTreeMap, fs, path::Path};

use sandhog_kit::Home;

use crate::SANDHOG;

/// Each key, and the test that fails when it is not heeded.
const TESTED: &str = include_str!("tested.txt");

/// The keys of the page, which is made from the code.
fn keys() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    let page = fs::read_to_string(page).expect("the page of the settings");
    let mut table = None;
    let mut keys = Vec::new();
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## `[") {
            let name = title.trim_end_matches("]`");
            table = Some(name.trim_end_matches(".NAME").to_owned());
        } else if line.starts_with("A `backoff` is one of") {
            table = None;
        } else if let (Some(table), Some(rest)) = (&table, line.strip_prefix("| `")) {
            let key = rest.split('`').next().expect("a key");
            keys.push(format!("{table}.{key}"));
        }
    }
    keys
}

#[test]
fn no_key_is_without_a_test_of_its_effect() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/blackbox");
    let rows = TESTED.lines().filter_map(|row| row.split_once(' '));
    let tested: BTreeMap<&str, &str> = rows.map(|(key, place)| (key, place.trim())).collect();
    assert_eq!(tested.len(), TESTED.lines().count(), "a key is named twice");
    let keys = keys();
    for key in &keys {
        let Some(place) = tested.get(key.as_str()) else {
            panic!(
                "{key} has no test: write one that fails when it is not heeded, and name it in tested.txt"
            );
        };
        let (file, name) = place.split_once(": ").expect("a file and a name");
        let text = fs::read_to_string(tests.join(file)).unwrap_or_default();
        assert!(
            text.contains(&format!("fn {name}(")),
            "{key}: no {name} in {file}"
        );
    }
    for key in tested.keys() {
        assert!(
            keys.iter().any(|known| known == key),
            "there is no key {key}"
        );
    }
}

/// A home with the misbehaving handlers and these settings.
fn home(settings: &str) -> Home {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config(settings);
    home
}
