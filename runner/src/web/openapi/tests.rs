//! The document as a whole.

use std::{collections::BTreeSet, fs, path::Path};

use regex_automata::dfa::regex::Regex;

use super::*;
use crate::{
    json::when,
    web::{call::query, form::Form, token::Role},
};

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

/// Every command of the guide asks for something there is, with parameters and a body that are taken.
#[test]
fn the_commands_of_the_guide_are_what_the_document_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/http.md");
    let guide = fs::read_to_string(path).unwrap().replace("\\\n", " ");
    let document = document();
    let mut bodies = 0;
    for command in guide.lines().filter(|line| line.starts_with("curl ")) {
        let (_, address) = command.split_once("http://127.0.0.1:7263").unwrap();
        let address = address.split([' ', '\'', '"']).next().unwrap();
        let (path, behind) = address.split_once('?').unwrap_or((address, ""));
        let body = command
            .split_once("-d '")
            .map(|(_, body)| body.split('\'').next().unwrap());
        let method = match (command.contains("-X PUT"), body) {
            (true, _) => Verb::Put,
            (false, Some(_)) => Verb::Post,
            (false, None) => Verb::Get,
        };
        let is_at = |route: &Route, filled: bool| {
            let parts = route.path.split('/').zip(path.split('/'));
            let fits =
                |(known, part): (&str, &str)| known == part || filled && known.starts_with('{');
            let length = route.path.split('/').count() == path.split('/').count();
            route.method == method && length && parts.into_iter().all(fits)
        };
        let found = [false, true]
            .into_iter()
            .find_map(|filled| resources::routes().find(|route| is_at(route, filled)));
        let route = found.unwrap_or_else(|| panic!("nothing is asked by {command}"));
        query(Some(behind), route.query).unwrap_or_else(|problem| panic!("{command}: {problem:?}"));
        let Some(body) = body else { continue };
        bodies += 1;
        let value: Value = serde_json::from_str(body).unwrap_or_else(|why| panic!("{why}: {body}"));
        let schema = name(route.takes.schema().unwrap());
        assert_eq!(
            misfit(&document, &schema, &value, route.name),
            None,
            "{command}"
        );
    }
    assert!(bodies > 10, "{bodies} bodies");
}

fn pattern(schema: &Value) -> Regex {
    let pattern = schema["pattern"].as_str().expect("a pattern");
    Regex::new(pattern).expect(pattern)
}

/// A pattern that is narrower than what is taken keeps programs from what they may say; a wider one lets them say
/// what is refused.
#[test]
fn patterns_take_what_the_runner_takes() {
    let id = "01JDVYT8G0QYV5XMP1Z3M4N5P6";
    let (long, longer) = ("n".repeat(128), "n".repeat(129));
    let (low, eight) = (id.to_lowercase(), id.replacen('0', "8", 1));
    let (none, short) = (id.replacen('J', "I", 1), &id[1..]);
    let ids = [
        id,
        &low,
        "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        &eight,
        &none,
        short,
        "",
        "@1",
    ];
    let letters = ["@0", "@18446744073709551615", "@", "@-1", "@+1", "@1x", "1"];
    let names = [
        "a",
        "9",
        "A.b_c:d-e",
        &long,
        &longer,
        "",
        ".a",
        "a b",
        "\u{e9}",
        "a/b",
        "a\n",
    ];
    for (form, texts) in [
        (Form::Id("job"), &ids[..]),
        (Form::Letter, &[&ids[..7], &letters[..]].concat()),
        (Form::Name, &names),
    ] {
        let pattern = pattern(&form.schema());
        for text in texts {
            let is_taken = form.check(text).is_ok();
            assert_eq!(pattern.is_match(text), is_taken, "{form:?} {text:?}");
        }
    }
}

#[test]
fn the_pattern_of_spans_takes_what_is_a_span() {
    let spans = [
        "0",
        "0s",
        "1s",
        "90m",
        "1h 30m",
        "1h30m",
        "4.2s",
        "1 day",
        "2days",
        "1wk",
        "3M",
        "1yr",
        "5\u{b5}s",
        "10ns",
        "1234567890s",
        "",
        "s",
        "1",
        "1x",
        "1S",
        "-1s",
        "1s,",
        "h1",
        "1.s",
        ".5s",
        "1h 30",
    ];
    let of_spans = pattern(&schema::span(""));
    for text in spans {
        let is_taken = when::span(text).is_ok();
        assert_eq!(of_spans.is_match(text), is_taken, "{text:?}");
    }
}
