//! The demo's figures and what they mean.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use serde_json::Value;

/// What a demo came to.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Jobs the runner acknowledged.
    pub(crate) jobs: usize,
    /// Jobs with a result.
    pub(crate) completed: usize,
    /// Attempts of all jobs.
    pub(crate) attempts: u64,
    /// Jobs in the dead letters.
    pub(crate) dead: usize,
    /// Those of them that were meant to be there.
    pub(crate) expected_dead: usize,
    /// Acknowledged jobs that never ended.
    pub(crate) lost: usize,
    /// Completed jobs whose result could not be had.
    pub(crate) missing: usize,
    /// From the first start to the last result.
    pub(crate) duration: Duration,
    /// A line for each job without a result.
    pub(crate) notes: Vec<String>,
}

impl Figures {
    /// Counts the jobs that ended.
    pub(crate) fn of(ends: &BTreeMap<String, Value>) -> Self {
        let count = |state: &str| ends.values().filter(|end| end["state"] == state).count();
        Self {
            completed: count("completed"),
            dead: count("dead"),
            attempts: ends
                .values()
                .filter_map(|end| end["attempt"].as_u64())
                .sum(),
            ..Self::default()
        }
    }

    /// An error when something is lost or a result is missing.
    pub(crate) fn verdict(&self) -> Result<(), String> {
        if self.lost > 0 || self.missing > 0 {
            return Err(format!(
                "{} jobs lost, {} results missing",
                self.lost, self.missing
            ));
        }
        if self.dead < self.expected_dead {
            return Err("the job that was meant to die did not".to_owned());
        }
        Ok(())
    }
}

/// The summary, with the jobs that have no result below it.
pub(crate) fn table(figures: &Figures) -> String {
    let columns = [
        ("jobs", figures.jobs.to_string()),
        ("completed", figures.completed.to_string()),
        ("attempts", figures.attempts.to_string()),
        ("dead", figures.dead.to_string()),
        ("lost", figures.lost.to_string()),
        (
            "duration",
            format!("{:.1} s", figures.duration.as_secs_f64()),
        ),
    ];
    let mut lines = [String::new(), String::new(), String::new()];
    for (name, value) in columns {
        let width = name.len().max(value.len());
        for (line, cell) in lines.iter_mut().zip([name, &"-".repeat(width), &value]) {
            // Writing into a string does not fail.
            let _ = write!(line, "{cell:>width$}  ");
        }
    }
    let mut table = lines.map(|line| line.trim_end().to_owned()).join("\n");
    for note in &figures.notes {
        table.push('\n');
        table.push_str(note);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{Figures, table};
    use serde_json::json;
    use std::{collections::BTreeMap, time::Duration};

    #[test]
    fn counts_and_lines_up() {
        let ends = BTreeMap::from([
            ("a".to_owned(), json!({"state": "completed", "attempt": 1})),
            ("b".to_owned(), json!({"state": "completed", "attempt": 3})),
            ("c".to_owned(), json!({"state": "dead", "attempt": 2})),
        ]);
        let figures = Figures {
            jobs: 3,
            duration: Duration::from_millis(1250),
            ..Figures::of(&ends)
        };
        let expected = "\
jobs  completed  attempts  dead  lost  duration
----  ---------  --------  ----  ----  --------
   3          2         6     1     0     1.2 s";
        assert_eq!(table(&figures), expected);
        assert_eq!(figures.verdict(), Ok(()));
    }

    #[test]
    fn a_lost_job_a_missing_result_or_no_burial_is_a_failure() {
        let bad = [
            Figures {
                lost: 1,
                ..Figures::default()
            },
            Figures {
                missing: 1,
                ..Figures::default()
            },
            Figures {
                expected_dead: 1,
                ..Figures::default()
            },
        ];
        for figures in bad {
            assert!(figures.verdict().is_err(), "{figures:?}");
        }
    }
}
