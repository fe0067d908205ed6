//! What a command of the runner gave.

use serde_json::Value;

/// An ended command.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its words, for messages.
    pub words: String,
    /// Its exit code; -1 when a signal ended it.
    pub code: i32,
    /// What it wrote to stdout.
    pub stdout: Vec<u8>,
    /// What it said on stderr.
    pub stderr: String,
}

impl Answer {
    /// The same answer, once its exit code is known to be this one.
    ///
    /// # Panics
    ///
    /// When it is another.
    #[track_caller]
    #[must_use]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            code,
            "`sandhog {}` ended with {}\nstdout: {}\nstderr: {}",
            self.words,
            self.code,
            self.text(),
            self.stderr
        );
        self
    }

    /// Its stdout as text without the last line end.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end().to_owned()
    }

    /// Its stdout as one JSON value.
    ///
    /// # Panics
    ///
    /// When it is none, or more than one.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|e| {
            let (words, text) = (&self.words, self.text());
            panic!(
                "`sandhog {words}` gave no JSON value: {e}\nstdout: {text}\nstderr: {}",
                self.stderr
            )
        })
    }

    /// The cursor that a list ends with when there is more: it is named on stderr, ready to be
    /// typed.
    #[must_use]
    pub fn cursor(&self) -> Option<String> {
        let after = self.stderr.split_once("--cursor ")?.1;
        let word = after.split_whitespace().next()?;
        Some(word.trim_matches(['`', '\'', '"', ',', '.']).to_owned())
    }

    /// The rows of a list.
    ///
    /// # Panics
    ///
    /// When stdout is no JSON array.
    #[track_caller]
    #[must_use]
    pub fn rows(&self) -> Vec<Value> {
        match self.json() {
            Value::Array(rows) => rows,
            other => panic!("`sandhog {}` gave no list but {other}", self.words),
        }
    }
}
