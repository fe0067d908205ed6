//! What became of each line of a file of jobs, as it is told.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    api::{ApiError, Enqueued},
    cli::{
        each::Each,
        exit::{Fault, Outcome},
        session::Session,
        shapes, text,
    },
};

/// Prints what became of each line, in their order: an id or a dash a line, or one JSON array.
#[derive(Default)]
pub(super) struct Printer {
    json: bool,
    /// The last line that was answered.
    pub(super) line: u64,
    printed: u64,
    /// Jobs that were there before.
    existing: u64,
    /// Jobs that took the place of another one.
    replacing: u64,
    /// Jobs that were there before, outside of the batch that they were wished into.
    astray: u64,
    /// What became of all.
    pub(super) each: Each,
}

impl Printer {
    pub(super) fn new(json: bool) -> Self {
        Self {
            json,
            ..Self::default()
        }
    }

    pub(super) fn taken(
        &mut self,
        session: &mut Session<'_, '_>,
        line: u64,
        job: &Enqueued,
    ) -> Outcome<()> {
        self.each.done();
        self.existing += u64::from(job.existing);
        self.replacing += u64::from(job.replaced.is_some());
        self.astray += u64::from(job.batch.is_some_and(|batch| !batch.is_as_wished()));
        self.next(session, line, &job.id.text(), || shapes::enqueued(job))
    }

    pub(super) fn refused(
        &mut self,
        session: &mut Session<'_, '_>,
        line: u64,
        error: ApiError,
    ) -> Outcome<()> {
        self.next(session, line, "-", || shapes::refused(&error))?;
        if !self.json {
            session.note(&format!("line {line} was refused: {error}"));
        }
        self.each.refused(Fault::from(error).exit);
        Ok(())
    }

    pub(super) fn next(
        &mut self,
        session: &mut Session<'_, '_>,
        line: u64,
        word: &str,
        shape: impl FnOnce() -> Value,
    ) -> Outcome<()> {
        let begin = match self.printed {
            0 => "[",
            _ => ",\n",
        };
        self.line = line;
        self.printed += 1;
        if self.json {
            let mut value = shape();
            value["line"] = line.into();
            write!(session.io.out, "{begin}{}", text::json(&value))?;
        } else {
            writeln!(session.io.out, "{word}")?;
        }
        Ok(())
    }

    pub(super) fn end(&self, session: &mut Session<'_, '_>) -> Outcome<()> {
        if self.json {
            let end = if self.printed == 0 { "[]" } else { "]" };
            writeln!(session.io.out, "{end}")?;
        }
        Ok(())
    }

    /// Jobs that were not there before.
    pub(super) fn fresh(&self) -> u64 {
        self.each.count() - self.existing
    }

    /// What became of all, of so many when some were refused.
    pub(super) fn told(&self, of: Option<u64>) -> String {
        let were = |count| if count == 1 { "was" } else { "were" };
        let mut told = match of {
            None => format!("{} enqueued", text::count(self.fresh(), "job")),
            Some(of) => format!(
                "{} of {of} jobs enqueued, {} refused",
                self.fresh(),
                of - self.each.count()
            ),
        };
        if self.replacing > 0 {
            let _ = write!(told, ", {} in the place of another", self.replacing);
        }
        if self.existing > 0 {
            let (count, astray) = (self.existing, self.astray);
            let _ = write!(told, ", {count} {} there before", were(count));
            if astray > 0 {
                let _ = write!(
                    told,
                    " and {astray} of those {} not in the batch",
                    were(astray)
                );
            }
        }
        told
    }
}
