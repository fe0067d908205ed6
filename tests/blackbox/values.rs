//! Results against figures that were computed by other programs.
//!
//! The figures of tables come from Python's `csv` module with exact fractions for the means; the
//! pictures are decoded by a library that no handler uses.

use std::{fs, path::Path};

use sandhog_kit::{Home, own, photos, shared_table, size_of_png};
use serde_json::{Value, json};

use crate::SANDHOG;

/// A column of numbers: name, count, missing, least, greatest, mean.
type Numbers = (&'static str, u64, u64, f64, f64, f64);
/// A column of texts: name, count, missing, distinct, most frequent, how often.
type Texts = (&'static str, u64, u64, u64, &'static str, u64);

struct Expected {
    rows: u64,
    numbers: &'static [Numbers],
    texts: &'static [Texts],
}

const STATIONS: Expected = Expected {
    rows: 40,
    numbers: &[
        ("height_m", 36, 4, 9.0, 289.75, 134.5625),
        ("opened", 40, 0, 1900.0, 1978.0, 1939.0),
    ],
    texts: &[
        ("station", 40, 0, 20, "Alder Point 1", 2),
        ("note", 21, 19, 4, "closed", 6),
    ],
};

const AIRPORTS: Expected = Expected {
    rows: 3376,
    numbers: &[
        ("latitude", 3376, 0, 7.367222, 71.2854475, 40.03652362552429),
        (
            "longitude",
            3376,
            0,
            -176.6460306,
            145.621384,
            -98.62120491947572,
        ),
    ],
    texts: &[
        ("iata", 3376, 0, 3376, "00M", 1),
        ("name", 3376, 0, 3237, "Jackson County", 5),
        ("city", 3376, 0, 2675, "NA", 12),
        ("state", 3376, 0, 57, "AK", 263),
        ("country", 3376, 0, 5, "USA", 3372),
    ],
};

const SEATTLE_WEATHER: Expected = Expected {
    rows: 1461,
    numbers: &[
        ("precipitation", 1461, 0, 0.0, 55.9, 3.02943189596167),
        ("temp_max", 1461, 0, -1.6, 35.6, 16.43908281998631),
        ("temp_min", 1461, 0, -7.1, 18.3, 8.234770704996578),
        ("wind", 1461, 0, 0.4, 9.5, 3.24113620807666),
    ],
    texts: &[
        ("date", 1461, 0, 1461, "2012-01-01", 1),
        ("weather", 1461, 0, 5, "rain", 641),
    ],
};

fn summary(home: &Home, file: &Path) -> Value {
    let file = file.to_str().expect("paths of inputs are UTF-8");
    let answer = home.run(&["enqueue", "table", "--file", file, "--wait"]);
    answer.exits(0).json()
}

fn equals(found: &Value, expected: &Expected) {
    assert_eq!(found["rows"], expected.rows);
    assert_eq!(found["ragged_rows"], 0);
    let columns = found["columns"].as_array().expect("a summary has columns");
    assert_eq!(columns.len(), expected.numbers.len() + expected.texts.len());
    let column = |name: &str| {
        let column = columns.iter().find(|column| column["name"] == name);
        column.unwrap_or_else(|| panic!("no column {name} in {found}"))
    };
    for (name, count, missing, min, max, mean) in expected.numbers {
        let column = column(name);
        assert_eq!(column["type"], "number", "{name}");
        assert_eq!(
            (&column["count"], &column["missing"]),
            (&json!(count), &json!(missing)),
            "{name}"
        );
        assert_eq!(column["min"].as_f64(), Some(*min), "{name}");
        assert_eq!(column["max"].as_f64(), Some(*max), "{name}");
        let found = column["mean"].as_f64().expect("a mean is a number");
        let off = ((found - mean) / mean).abs();
        assert!(off < 1e-12, "{name}: mean {found}, expected {mean}");
    }
    for (name, count, missing, distinct, value, times) in expected.texts {
        let column = column(name);
        let found = json!({ "name": name, "type": "text", "count": count, "missing": missing,
            "distinct": distinct, "most_frequent": { "value": value, "count": times } });
        assert_eq!(column, &found);
    }
}

#[test]
fn a_table_with_quotes_a_mark_and_foreign_line_ends_is_summed_up_right() {
    let home = Home::with(SANDHOG, &["table"]);
    let _runner = home.start();
    equals(&summary(&home, &own("stations.csv")), &STATIONS);
}

#[test]
fn large_tables_beside_the_checkout_are_summed_up_right() {
    let home = Home::with(SANDHOG, &["table"]);
    let _runner = home.start();
    let known = [
        ("airports.csv", &AIRPORTS),
        ("seattle-weather.csv", &SEATTLE_WEATHER),
    ];
    for (name, expected) in known {
        // Elsewhere than on a machine with these files the test above stands for them.
        if let Some(file) = shared_table(name) {
            equals(&summary(&home, &file), expected);
        }
    }
}

/// What fits in a box with the aspect kept: the side that is tight, exactly, and the other within
/// a pixel. A picture that fits already stays.
fn fits(found: (u32, u32), photo: (u32, u32), asked: (u32, u32)) -> bool {
    if photo.0 <= asked.0 && photo.1 <= asked.1 {
        return found == photo;
    }
    let (across, down) = (
        f64::from(asked.0) / f64::from(photo.0),
        f64::from(asked.1) / f64::from(photo.1),
    );
    let scale = across.min(down);
    let near = |found: u32, side: u32| (f64::from(found) - f64::from(side) * scale).abs() <= 1.0;
    let tight = if across < down {
        found.0 == asked.0
    } else {
        found.1 == asked.1
    };
    tight && near(found.0, photo.0) && near(found.1, photo.1)
}

#[test]
fn fitting_is_judged_right() {
    assert!(fits((320, 180), (1280, 720), (320, 240)));
    assert!(fits((64, 48), (64, 48), (320, 240)));
    assert!(!fits((320, 240), (64, 48), (320, 240)), "made larger");
    assert!(!fits((320, 240), (1280, 720), (320, 240)), "made flat");
    assert!(!fits((160, 90), (1280, 720), (320, 240)), "made too small");
}

#[test]
fn every_photo_becomes_a_thumbnail_of_the_asked_size() {
    let home = Home::with(SANDHOG, &["thumbnail"]);
    let _runner = home.start();
    for photo in photos() {
        for (width, height) in [(320, 240), (50, 200)] {
            let file = photo.file.to_str().expect("paths of inputs are UTF-8");
            let small = home.folder().join("small.png");
            let (w, h) = (format!("width={width}"), format!("height={height}"));
            let output = small.to_str().expect("temporary paths are UTF-8");
            let words = [
                "enqueue",
                "thumbnail",
                "--file",
                file,
                "--header",
                &w,
                "--header",
                &h,
                "--wait",
                "--output",
                output,
            ];
            let _ = home.run(&words).exits(0);
            let bytes = fs::read(&small).expect("the result was written");
            let found = size_of_png(&bytes);
            let size = (photo.width, photo.height);
            assert!(
                fits(found, size, (width, height)),
                "{file}: {size:?} in {width}x{height} gave {found:?}"
            );
            fs::remove_file(&small).expect("the result can be removed");
        }
    }
}
