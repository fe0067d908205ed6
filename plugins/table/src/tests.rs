//! The handler on small tables written for one question each.

use sandhog_sdk::testing::{self, FakeContext};
use sandhog_sdk::{Bytes, Error};
use serde_json::{Value, json};

use crate::table;

fn run(csv: impl Into<Vec<u8>>, ctx: &FakeContext) -> Result<Value, Error> {
    let out = testing::attempt::<table>(Bytes::new("text/csv", csv), ctx)?;
    assert_eq!(out.content_type, "application/json");
    Ok(serde_json::from_slice(&out.bytes).unwrap())
}

fn summary(csv: impl Into<Vec<u8>>) -> Value {
    run(csv, &FakeContext::new()).unwrap()
}

fn refusal(csv: impl Into<Vec<u8>>) -> Error {
    let error = run(csv, &FakeContext::new()).unwrap_err();
    assert!(error.is_permanent(), "{error}");
    error
}

#[test]
fn numbers_texts_and_nothing() {
    let found = summary("n,t,e\n1,b,\n 2.5 ,a,\n,a, \n-4,b,\n");
    assert_eq!(
        found,
        json!({ "rows": 4, "ragged_rows": 0, "columns": [
            { "name": "n", "type": "number", "count": 3, "missing": 1,
              "min": -4, "max": 2.5, "mean": -0.16666666666666666 },
            { "name": "t", "type": "text", "count": 4, "missing": 0,
              "distinct": 2, "most_frequent": { "value": "b", "count": 2 } },
            { "name": "e", "type": "empty", "count": 0, "missing": 4 },
        ]})
    );
}

#[test]
fn what_counts_as_a_number() {
    for number in ["0", "-1", "+1", "1e5", "007", ".5", "5.", "1E-3"] {
        let found = summary(format!("x\n{number}\n"));
        assert_eq!(found["columns"][0]["type"], "number", "{number}");
    }
    for text in [
        "NaN",
        "inf",
        "-infinity",
        "1,5",
        "0x1f",
        "1_000",
        "1 000",
        "1e999",
        "12a",
        "٣",
    ] {
        let found = summary(format!("x\n\"{text}\"\n"));
        assert_eq!(found["columns"][0]["type"], "text", "{text}");
    }
    let mixed = summary("x\n1\n2\nthree\n2\n");
    assert_eq!(
        mixed["columns"][0]["most_frequent"],
        json!({ "value": "2", "count": 2 })
    );
}

#[test]
fn the_form_of_the_file_makes_no_difference() {
    let plain = summary("a,b\n1,x\n2,y\n");
    for other in [
        "\u{feff}a,b\n1,x\n2,y\n",
        "a,b\r\n1,x\r\n2,y\r\n",
        "a,b\r1,x\r2,y\r",
        "a,b\n1,x\n\n\n2,y",
        "\"a\",\"b\"\n\"1\",\"x\"\n\"2\",\"y\"",
        "\u{feff}\"a\",b\r\n1,x\r\n2,\"y\"",
    ] {
        assert_eq!(summary(other), plain, "{other:?}");
    }
}

#[test]
fn quotes_hold_delimiters_line_ends_and_quotes() {
    let found = summary("a,b\n\"x, \"\"y\"\"\nz\",1\n5\" pipe,2\n");
    assert_eq!(found["rows"], 2);
    assert_eq!(found["columns"][0]["most_frequent"]["value"], "x, \"y\"\nz");
    assert_eq!(found["columns"][1]["max"], 2);
}

#[test]
fn other_delimiters_are_named_by_a_header() {
    let found = run(
        "a;b\n1,5;x\n",
        &FakeContext::new().with_header("delimiter", ";"),
    )
    .unwrap();
    assert_eq!(found["columns"][0]["most_frequent"]["value"], "1,5");
    let found = run(
        "a\tb\n1\t2\n",
        &FakeContext::new().with_header("delimiter", "tab"),
    )
    .unwrap();
    assert_eq!(found["columns"][1]["mean"], 2);
    for bad in ["", ";;", "ä", "\"", "\n"] {
        let error = run("a\n", &FakeContext::new().with_header("delimiter", bad)).unwrap_err();
        assert_eq!(error.code(), "bad-header", "{bad:?}");
    }
}

#[test]
fn rows_of_any_length_are_counted() {
    let found = summary("a,b\n1\n1,2,3,4\n1,2\n");
    assert_eq!(found["ragged_rows"], 2);
    assert_eq!(found["rows"], 3);
    assert_eq!(found["columns"][1]["missing"], 1);
    assert_eq!(found["columns"].as_array().unwrap().len(), 2);
}

#[test]
fn names_may_be_empty_or_come_twice() {
    let found = summary("x,,x\n1,2,3\n");
    let names: Vec<_> = (0..3)
        .map(|i| found["columns"][i]["name"].clone())
        .collect();
    assert_eq!(names, ["x", "", "x"]);
    assert_eq!(found["columns"][2]["max"], 3);
}

#[test]
fn a_header_alone_is_a_table_and_nothing_is_none() {
    let found = summary("a,b\n");
    assert_eq!(
        (&found["rows"], &found["columns"][0]["type"]),
        (&json!(0), &json!("empty"))
    );
    for nothing in ["", "\n\r\n", "\u{feff}"] {
        assert_eq!(refusal(nothing).code(), "empty", "{nothing:?}");
    }
}

#[test]
fn other_encodings_are_refused_with_the_place() {
    let error = refusal(b"name\nZo\xeb\n".to_vec());
    assert_eq!(error.code(), "not-utf8");
    assert!(error.message().contains("byte 7, in line 2"), "{error}");
    assert!(
        refusal(b"\xff\xfea\0".to_vec())
            .message()
            .contains("UTF-16")
    );
}

#[test]
fn an_open_quote_is_refused_with_its_line() {
    let error = refusal("a,b\n1,2\n3,\"4\n5,6\n");
    assert_eq!(error.code(), "bad-csv");
    assert!(error.message().contains("line 3"), "{error}");
    assert_eq!(refusal("a\n\"x \"\"y\n").code(), "bad-csv");
}

#[test]
fn means_stay_exact_and_in_range() {
    let mut tenths = "x\n".to_owned();
    tenths.push_str(&"0.1\n".repeat(100_000));
    assert_eq!(summary(tenths)["columns"][0]["mean"], 0.1);
    assert_eq!(
        summary("x\n1e16\n1\n-1e16\n")["columns"][0]["mean"],
        json!(1.0 / 3.0)
    );
    let huge = summary("x\n1e308\n1e308\n1e308\n");
    let mean = huge["columns"][0]["mean"].as_f64().unwrap();
    assert!((mean / 1e308 - 1.0).abs() < 1e-12, "{mean}");
}

#[test]
fn long_tables_report_and_stop_when_told() {
    let mut long = "x\n".to_owned();
    long.push_str(&"1\n".repeat(25_000));
    let ctx = FakeContext::new();
    run(long.clone(), &ctx).unwrap();
    let done: Vec<_> = ctx
        .progress_reports()
        .iter()
        .map(|report| report.done)
        .collect();
    assert_eq!(done, [10_000, 20_000]);
    let error = run(long, &FakeContext::new().cancelled_already()).unwrap_err();
    assert!(!error.is_permanent(), "{error}");
}

/// Figures computed in exact fractions by another program.
#[test]
fn sample_tables_give_the_known_figures() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/tables/");
    let Ok(airports) = std::fs::read(format!("{folder}airports.csv")) else {
        return; // They are no part of the project.
    };
    let found = summary(airports);
    assert_eq!(
        (&found["rows"], &found["ragged_rows"]),
        (&json!(3376), &json!(0))
    );
    assert_eq!(
        found["columns"][3],
        json!({ "name": "state", "type": "text", "count": 3376, "missing": 0,
                "distinct": 57, "most_frequent": { "value": "AK", "count": 263 } })
    );
    assert_eq!(
        found["columns"][6],
        json!({ "name": "longitude", "type": "number", "count": 3376, "missing": 0,
                "min": -176.6460306, "max": 145.621384, "mean": -98.62120491947572 })
    );
    let found = summary(std::fs::read(format!("{folder}seattle-weather.csv")).unwrap());
    assert_eq!(found["rows"], 1461);
    assert_eq!(
        found["columns"][2],
        json!({ "name": "temp_max", "type": "number", "count": 1461, "missing": 0,
                "min": -1.6, "max": 35.6, "mean": 16.43908281998631 })
    );
    assert_eq!(
        found["columns"][5]["most_frequent"],
        json!({ "value": "rain", "count": 641 })
    );
}
