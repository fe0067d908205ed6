//! The bytes of every record, kept: what an earlier build wrote has to be read for ever.

mod fifth;
mod first;
mod fourth;
mod second;
mod third;

use core::fmt::Write as _;

use sandhog_model::{
    Event, Record,
    codec::{FORMAT, FrameHead, HeaderVerdict, Seal, SegmentHeader, decode_record, encode_record},
};

use crate::snapshot;

/// Records with a name each.
type Named = Vec<(String, Record)>;

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a text grows");
    }
    text
}

fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "half a byte: {text}");
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("two hex digits");
    (0..text.len()).step_by(2).map(byte).collect()
}

fn bytes(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_record(record, &mut bytes).expect("it fits in a frame");
    bytes
}

/// Every sample.
fn all() -> Named {
    let mut records = first::records();
    records.extend(second::records());
    records.extend(third::records());
    records.extend(fourth::records());
    records.extend(fifth::records());
    records
}

/// One record a line, its name and its bytes.
fn manifest(records: &Named) -> String {
    let line = |(name, record): &(String, Record)| format!("{name}: {}\n", hex(&bytes(record)));
    records.iter().map(line).collect()
}

/// Every kept line is the record of its name, and every record has a line.
fn reads_as(kept: &str, records: &Named) {
    let lines: Vec<(&str, &str)> = kept
        .lines()
        .map(|line| line.split_once(": ").expect("a name and bytes"))
        .collect();
    let names: Vec<&str> = lines.iter().map(|(name, _)| *name).collect();
    let wanted: Vec<&str> = records.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, wanted);
    for ((name, hex), (_, record)) in lines.iter().zip(records) {
        let read = decode_record(&unhex(hex));
        assert_eq!(read.as_ref(), Ok(record), "{name}");
    }
}

/// An exhaustive match: a new fact has no name here until someone gives it one, and then a sample.
fn kind(event: &Event) -> &'static str {
    match event {
        Event::Enqueued(_) => "enqueued",
        Event::Leased { .. } => "leased",
        Event::Checkpointed { .. } => "checkpointed",
        Event::Settled { .. } => "settled",
        Event::Lost { .. } => "lost",
        Event::Requeued { .. } => "requeued",
        Event::Hastened { .. } => "hastened",
        Event::Deleted { .. } => "deleted",
        Event::Carried(_) => "carried",
        Event::Pruned { .. } => "pruned",
        Event::Trimmed { .. } => "trimmed",
        Event::Merged { .. } => "merged",
        Event::CancelAsked { .. } => "cancel asked",
        Event::Cancelled { .. } => "cancelled",
        Event::Cron { .. } => "cron",
        Event::CronForgotten { .. } => "cron forgotten",
        Event::Postponed { .. } => "postponed",
        Event::Expired { .. } => "expired",
        Event::Unlocked { .. } => "unlocked",
        Event::Steered { .. } => "steered",
        Event::Dropped { .. } => "dropped",
        Event::Replaced { .. } => "replaced",
        Event::Batch { .. } => "batch,",
        Event::BatchForgotten { .. } => "batch forgotten",
    }
}

#[test]
fn what_the_first_format_wrote_is_read_as_it_was_meant() {
    // Written by the build that had format 1; it is never written anew.
    reads_as(include_str!("golden/format-1.txt"), &first::records());
}

#[test]
fn every_record_has_the_bytes_that_are_kept() {
    snapshot::matches("golden/format-5.txt", &manifest(&all()));
}

#[test]
fn every_kept_record_is_read_as_it_was_meant() {
    let mut records = first::records();
    records.extend(second::records());
    // Written by the last build that had format 2; it is never written anew.
    reads_as(include_str!("golden/format-2.txt"), &records);
    // Written by builds that could not call a job off yet: its heads end earlier.
    reads_as(include_str!("golden/format-3-short.txt"), &records);
    // Written by the last build that had format 3; it is never written anew.
    records.extend(third::records());
    reads_as(include_str!("golden/format-3.txt"), &records);
    // Written by the last build that had format 4; it is never written anew.
    records.extend(fourth::records());
    reads_as(include_str!("golden/format-4.txt"), &records);
    reads_as(include_str!("golden/format-5.txt"), &all());
}

/// A job that says nothing more has the bytes that it had before.
#[test]
fn what_was_there_before_is_written_as_before() {
    let kept = [
        include_str!("golden/format-3.txt"),
        include_str!("golden/format-4.txt"),
    ];
    let now = include_str!("golden/format-5.txt");
    assert!(kept.iter().all(|kept| now.starts_with(kept)));
}

#[test]
fn every_fact_is_among_the_samples_and_begins_its_name() {
    let records = all();
    let mut kinds: Vec<&str> = Vec::new();
    for (name, record) in &records {
        let kind = kind(&record.event);
        assert!(name.starts_with(kind), "{name} is a sample of {kind}");
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    assert_eq!(kinds.len(), 24, "a fact without a sample: {kinds:?}");
}

#[test]
fn a_segments_header_and_a_frame_have_the_bytes_that_are_kept() {
    let header = |format| SegmentHeader {
        format,
        log: 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10,
        segment: 3,
        first_sequence: 77,
    };
    let head = FrameHead {
        sequence: 77,
        unsynced: 2,
    };
    let (seal, mut frame) = (Seal::new(header(FORMAT).log, 3), Vec::new());
    seal.encode(head, b"a body", &mut frame).expect("it fits");
    let mut text = String::new();
    for format in 1..=FORMAT {
        let bytes = header(format).encode();
        assert_eq!(
            SegmentHeader::decode(&bytes),
            HeaderVerdict::Good(header(format))
        );
        writeln!(text, "header of format {format}: {}", hex(&bytes)).expect("a text grows");
    }
    writeln!(text, "frame: {}", hex(&frame)).expect("a text grows");
    snapshot::matches("golden/segment.txt", &text);
}
