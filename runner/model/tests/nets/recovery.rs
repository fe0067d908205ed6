//! Every row of the recovery table.

use std::fmt::Write;

use sandhog_model::recover::{
    Action, After, FrameFound, HeaderFound, Refusal, Step, on_frame, on_header,
};

use crate::snapshot;

const AFTERS: [After; 4] = [After::Zeros, After::SameBatch, After::Later, After::Other];
const STEPS: [Step; 3] = [Step::Next, Step::Repeat, Step::Gap];
const HEADERS: [HeaderFound; 5] = [
    HeaderFound::Good,
    HeaderFound::Newer { found: 9 },
    HeaderFound::Unfinished,
    HeaderFound::Damaged,
    HeaderFound::Foreign,
];
const FRAMES: [FrameFound; 5] = [
    FrameFound::Record,
    FrameFound::Nothing,
    FrameFound::Zeros,
    FrameFound::Incomplete,
    FrameFound::Corrupt,
];

/// Every row: its name, whether it is of the last segment, what is behind it, what is done.
fn rows() -> Vec<(String, bool, After, Action)> {
    let mut rows = Vec::new();
    for last in [true, false] {
        for after in AFTERS {
            for step in STEPS {
                let place = if last {
                    "last segment"
                } else {
                    "closed segment"
                };
                for header in HEADERS {
                    let name =
                        format!("{place}: header {header:?}, after {after:?}, step {step:?}");
                    rows.push((name, last, after, on_header(last, header, after, step)));
                }
                for frame in FRAMES {
                    let name = format!("{place}: frame {frame:?}, after {after:?}, step {step:?}");
                    rows.push((name, last, after, on_frame(last, frame, after, step)));
                }
            }
        }
    }
    rows
}

#[test]
fn every_row_does_what_the_table_says() {
    let mut rows: Vec<String> = rows()
        .into_iter()
        .map(|(name, _, _, action)| format!("{name} → {action:?}"))
        .collect();
    rows.sort();
    assert_eq!(rows.len(), 240);
    let mut text = String::new();
    for row in rows {
        writeln!(text, "{row}").expect("a text grows");
    }
    snapshot::matches("recovery.txt", &text);
}

#[test]
fn only_the_last_segment_is_cut_and_never_before_what_was_written_later() {
    for (name, last, after, action) in rows() {
        if action == Action::CutTail {
            assert!(last, "{name}");
            assert_ne!(after, After::Later, "{name}");
        }
    }
}

#[test]
fn a_newer_format_is_refused_in_every_row_naming_both_versions() {
    for (name, _, _, action) in rows().iter().filter(|row| row.0.contains("Newer")) {
        let Action::Refuse(refusal @ Refusal::NewerFormat { .. }) = action else {
            panic!("{name}: {action:?}");
        };
        let text = refusal.to_string();
        assert!(
            text.contains("format 9") && text.contains("format 5"),
            "{text}"
        );
    }
}
