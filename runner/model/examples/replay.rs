//! What taking records in costs beside reading and checksumming the same bytes:
//! `cargo run --release -p sandhog-model --example replay`

use std::{error::Error, hint::black_box, io::Write as _, time::Instant};

use sandhog_model::{
    Event, IdMint, KindDefaults, Ledger, NewJob, RecentNames, Record, RecordAt, UnixMs,
    codec::{FORMAT, FrameHead, Seal, SegmentHeader, decode_record, encode_record, with_slim},
    recover::{Expected, Scan},
};

const JOBS: u64 = 1_000_000;
const LOG: u128 = 7;

/// One segment with a record for each job.
fn segment() -> Result<Vec<u8>, Box<dyn Error>> {
    let header = SegmentHeader {
        format: FORMAT,
        log: LOG,
        segment: 1,
        first_sequence: 1,
    };
    let seal = Seal::new(LOG, 1);
    let mut bytes = header.encode().to_vec();
    let mut body = Vec::new();
    let mut mint = IdMint::default();
    for sequence in 1..=JOBS {
        let now = UnixMs(1_790_000_000_000 + sequence / 20);
        let new = NewJob {
            kind: "thumbnail".into(),
            payload: vec![7; 256],
            ..NewJob::default()
        };
        let id = mint.next(now, || {
            u128::from(sequence.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        });
        let job = new.accept(id, now, &KindDefaults::default())?;
        let record = Record {
            previous: None,
            event: Event::Enqueued(Box::new(job)),
        };
        body.clear();
        encode_record(&record, &mut body)?;
        let head = FrameHead {
            sequence,
            unsynced: 1,
        };
        if seal.encode(head, &body, &mut bytes).is_err() {
            return Err("a body too long".into());
        }
    }
    Ok(bytes)
}

fn scan(bytes: &[u8]) -> Scan<'_> {
    Scan::new(
        bytes,
        Expected {
            log: Some(LOG),
            segment: 1,
            first_sequence: Some(1),
            last: true,
        },
    )
}

fn ms(what: &str, run: impl FnOnce()) {
    let started = Instant::now();
    run();
    say(&format!("{what}: {} ms", started.elapsed().as_millis()));
}

fn say(line: &str) {
    // Whoever reads this may have gone.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn main() -> Result<(), Box<dyn Error>> {
    let bytes = segment()?;
    say(&format!("{JOBS} records, {} MB", bytes.len() / 1_000_000));
    for _ in 0..3 {
        ms("copied", || {
            black_box(bytes.clone());
        });
        ms("checksummed", || {
            black_box(scan(&bytes).count());
        });
        ms("and read as far as the ledger needs", || {
            let slim = scan(&bytes)
                .filter(|found| with_slim(found.body, |slim| black_box(slim).previous).is_ok());
            black_box(slim.count());
        });
        ms("and taken in", || {
            let mut ledger = Ledger::default();
            for found in scan(&bytes) {
                let at = RecordAt(1 << 32 | found.offset as u64);
                let taken = with_slim(found.body, |slim| ledger.take_in(slim, at, 0));
                taken.expect("sound").expect("sound");
            }
            black_box(ledger.len());
        });
        ms("the same as brief records", || {
            let mut ledger = Ledger::default();
            let mut names = RecentNames::default();
            for found in scan(&bytes) {
                let at = RecordAt(1 << 32 | found.offset as u64);
                let taken = ledger.take_in_brief(found.body, &mut names, at, 0);
                taken.expect("brief").expect("sound");
            }
            black_box(ledger.len());
        });
        ms("the same with whole records", || {
            let mut ledger = Ledger::default();
            for found in scan(&bytes) {
                let at = RecordAt(1 << 32 | found.offset as u64);
                let record = decode_record(found.body).expect("sound");
                ledger.replay(&record, at, 0).expect("sound");
            }
            black_box(ledger.len());
        });
    }
    Ok(())
}
