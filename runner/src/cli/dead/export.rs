//! `sandhog dead export`.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::Context as _;

use super::{
    super::{
        exit::{Exit, Fault, Outcome},
        session::{Session, ask},
        text,
    },
    ndjson,
};
use crate::{
    api::{ErrorCode, Request},
    store::{DeadFilter, DeadRow, LetterName, PageRequest},
};

/// Letters asked for at a time.
const BATCH: usize = 500;

pub(super) fn run(
    session: &mut Session<'_, '_>,
    file: &Path,
    mut filter: DeadFilter,
) -> Outcome<Exit> {
    if !filter.is_empty() && !filter.unreadable {
        super::args::until_now(&mut filter);
    }
    let count = if file == Path::new("-") {
        write(session, &filter, None)?
    } else {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let fresh = file.with_file_name(format!(".{name}.{}", std::process::id()));
        let cannot = || format!("cannot write {}", file.display());
        let mut out = BufWriter::new(File::create(&fresh).with_context(cannot)?);
        let written = write(session, &filter, Some(&mut out)).and_then(|count| {
            let done = out.flush().and_then(|()| out.get_ref().sync_all());
            let done = done.and_then(|()| std::fs::rename(&fresh, file));
            done.with_context(cannot)?;
            Ok(count)
        });
        if written.is_err() {
            let _ = std::fs::remove_file(&fresh);
        }
        written?
    };
    session.note(&format!("{} exported", text::count(count, "letter")));
    Ok(Exit::Done)
}

/// Write every letter that fits, as they come. Gives their number.
fn write(
    session: &mut Session<'_, '_>,
    filter: &DeadFilter,
    mut out: Option<&mut BufWriter<File>>,
) -> Outcome<u64> {
    let mut count = 0;
    let mut page = PageRequest {
        limit: BATCH,
        cursor: None,
    };
    loop {
        let request = Request::Dead {
            filter: filter.clone(),
            page: page.clone(),
        };
        let got = ask!(session, request, Dead);
        for row in &got.rows {
            let Some(line) = line(session, row)? else {
                continue;
            };
            match &mut out {
                Some(out) => writeln!(out, "{line}")
                    .context("cannot write the letters")
                    .map_err(Fault::from)?,
                None => writeln!(session.io.out, "{line}")?,
            }
            count += 1;
        }
        match got.next {
            Some(next) => page.cursor = Some(next),
            None => return Ok(count),
        }
    }
}

/// A row's letter as a line: raw when it cannot be read, `None` when it is gone by now.
fn line(session: &mut Session<'_, '_>, row: &DeadRow) -> Outcome<Option<String>> {
    if let (LetterName::Job(id), None) = (row.name, &row.unreadable) {
        let request = Request::Letter { id, logs: true };
        match session.call(request) {
            Ok(crate::api::Response::Letter(letter)) => {
                return ndjson::line(*letter).map(Some).map_err(Fault::failed);
            }
            Ok(_) => return Err(Fault::mismatch()),
            Err(fault) if fault.exit == Exit::NotFound => return Ok(None),
            // It can be read no longer.
            Err(fault) if fault.code() == Some(ErrorCode::Damaged) => {}
            Err(fault) => return Err(fault),
        }
    }
    let name = row.name;
    let raw = match session.call(Request::RawLetter { name }) {
        Ok(crate::api::Response::RawLetter(raw)) => raw,
        Ok(_) => return Err(Fault::mismatch()),
        Err(fault) if fault.exit == Exit::NotFound => return Ok(None),
        Err(fault) => return Err(fault),
    };
    session.note(&format!("{name} cannot be read: exported as its bytes"));
    Ok(Some(ndjson::raw_line(&raw)))
}
