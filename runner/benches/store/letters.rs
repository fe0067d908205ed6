//! Pages of many dead letters, against reading the bytes of as many letters.

use std::{fs::File, os::unix::fs::FileExt, path::Path, time::Instant};

use sandhog::store::{DeadFilter, PageRequest, Store, wal::Durability};
use sandhog_model::{Failure, FailureKind, Outcome};

use super::recovery;
use crate::{
    command::Size,
    report::{Goal, Line, Report},
    stage::{self, Place},
};

/// Letters for a number of jobs: 200,000 for a million.
const SHARE: usize = 5;
/// Rows of a page.
const ROWS: usize = 50;
/// Milliseconds a page may take.
const PAGE_MS: f64 = 200.0;

pub(crate) fn measure(place: &Place, wanted: &Size, report: &mut Report) -> Result<(), String> {
    let letters = (wanted.count / SHARE).max(ROWS);
    let dir = place.fresh("dead")?;
    recovery::with_store(&dir, |store| {
        let mut left = letters;
        while left > 0 {
            let many = left.min(recovery::MANY);
            recovery::enqueue(store, many)?;
            recovery::end(store, many, |_| failed())?;
            left -= many;
        }
        Ok(())
    })?;
    let name = format!("open, {letters} dead letters");
    recovery::compare(&dir, &name, wanted.rounds, Goal::Information, report)?;
    let store = stage::store(&dir, Durability::Commit)?;
    let (middle, last) = cursors(&*store, letters)?;
    let file = dir.join("dead/letters");
    let everything = DeadFilter::default();
    let elsewhere = DeadFilter {
        queue: Some("elsewhere".to_owned()),
        ..DeadFilter::default()
    };
    let pages = [
        ("first page", &everything, None),
        ("middle page", &everything, middle),
        ("last page", &everything, last),
        ("filter that nothing passes", &elsewhere, None),
    ];
    for (name, filter, cursor) in pages {
        let (mut shown, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..wanted.rounds {
            shown.push(page(&*store, filter, cursor.as_ref())?);
            bare.push(read(&file, letters)?);
        }
        let name = format!("dead letters, {name} of {ROWS}");
        report.push(
            Line::new(&name, "commit", "ms", shown)
                .beside(bare)
                .goal(Goal::FigureAtMost(PAGE_MS)),
        );
    }
    drop(store);
    stage::clear(&dir)
}

fn failed() -> Outcome {
    let failure = Failure::new(FailureKind::Error, "E1", "the photo is upside down");
    Outcome::Permanent(failure)
}

/// Where the middle and the last page begin.
fn cursors(store: &dyn Store, letters: usize) -> Result<(Option<String>, Option<String>), String> {
    let (mut middle, mut last, mut seen) = (None, None, 0);
    let mut cursor = None;
    loop {
        // Up to the last page in large steps, then a page at a time.
        let left = letters - seen;
        let limit = if left > 1000 + ROWS { 1000 } else { ROWS };
        let request = PageRequest { limit, cursor };
        let page = stage::runtime()
            .block_on(store.dead(DeadFilter::default(), request))
            .map_err(|error| error.to_string())?;
        seen += page.rows.len();
        cursor = page.next;
        match &cursor {
            None if seen == letters => return Ok((middle, last)),
            None => return Err(format!("a walk showed {seen} of {letters} letters")),
            Some(here) => {
                if middle.is_none() && seen >= letters / 2 {
                    middle = Some(here.clone());
                }
                last = Some(here.clone());
            }
        }
    }
}

/// Milliseconds of one page.
fn page(store: &dyn Store, filter: &DeadFilter, cursor: Option<&String>) -> Result<f64, String> {
    let runtime = stage::runtime();
    let request = PageRequest {
        limit: ROWS,
        cursor: cursor.cloned(),
    };
    let start = Instant::now();
    let page = runtime.block_on(store.dead(filter.clone(), request));
    let ms = start.elapsed().as_secs_f64() * 1e3;
    page.map(|_| ms).map_err(|error| error.to_string())
}

/// Milliseconds to read and checksum as many letters' bytes from all over the file.
fn read(path: &Path, letters: usize) -> Result<f64, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let each = (length / letters as u64).max(1);
    let start = Instant::now();
    let mut bytes = vec![0; each as usize];
    let mut sum = crc32fast::Hasher::new();
    for row in 0..ROWS as u64 {
        let at = (length - each) / ROWS as u64 * row;
        file.read_exact_at(&mut bytes, at).map_err(failed)?;
        sum.update(&bytes);
    }
    std::hint::black_box(sum.finalize());
    Ok(start.elapsed().as_secs_f64() * 1e3)
}
