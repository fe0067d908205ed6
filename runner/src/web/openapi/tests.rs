//! The document as a whole.

use std::{collections::BTreeSet, fs, path::Path};

use super::*;
use crate::web::token::Role;

/// `SANDHOG_WRITE_DOCS=1` writes it anew.
#[test]
fn the_openapi_page_in_docs_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/openapi.json");
    let text = serde_json::to_string_pretty(&document()).unwrap() + "\n";
    if std::env::var_os("SANDHOG_WRITE_DOCS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap();
    assert!(there == text, "SANDHOG_WRITE_DOCS=1 writes it anew");
}

#[test]
fn every_schema_is_there_and_used() {
    let document = document();
    let known: BTreeSet<String> = document["components"]["schemas"]
        .as_object()
        .unwrap()
        .keys()
        .map(|name| format!("#/components/schemas/{name}"))
        .collect();
    let mut used = BTreeSet::new();
    names(&document, &mut used);
    assert_eq!(known, used);
}

fn names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| names(item, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| match field {
            Value::String(text) if name == "$ref" => drop(found.insert(text.clone())),
            other => names(other, found),
        }),
        _ => {}
    }
}

#[test]
fn every_route_has_its_own_name_and_says_what_its_path_has() {
    let mut seen = BTreeSet::new();
    for route in resources::routes() {
        assert!(seen.insert(route.name), "{} twice", route.name);
        let in_path: Vec<&str> = route.path.split(['{', '}']).skip(1).step_by(2).collect();
        let said: Vec<&str> = route.path_params.iter().map(|param| param.name).collect();
        assert_eq!(in_path, said, "{}", route.path);
        let is_write = route.method != Verb::Get;
        assert!(is_write || route.role.is_none_or(|role| role == Role::Viewer));
        let takes_body = route.takes != Takes::Nothing;
        assert_eq!(
            takes_body,
            is_write && route.method != Verb::Delete,
            "{}",
            route.name
        );
    }
}
