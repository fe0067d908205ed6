//! What a guest logs and prints, in order, within its limit whatever it does.
//!
//! The head of the log is kept and its last lines; what lies between is dropped and counted.

use std::{
    mem,
    sync::{Arc, Mutex},
    time::Instant,
};

use sandhog_model::{LogLevel, LogLine, LogSource};

use crate::plugin::Live;

/// Longest line, in bytes of text; the rest of a longer one is cut off.
pub(crate) const LINE_BYTES: usize = 8 << 10;
/// Most fields of one line.
const FIELDS: usize = 64;
/// What a line counts for beside its text, so that empty lines are not free.
const LINE_COST: u64 = 32;
/// Longest panic text kept, in bytes.
const PANIC_BYTES: usize = 4 << 10;
/// Ends a line that was cut.
const CUT: &str = "… (cut)";

/// An attempt's log. Lines go to the attempt's [`Live`] view as they come; that is where they are
/// kept.
#[derive(Debug)]
pub(crate) struct Journal {
    live: Arc<Live>,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    head_left: u64,
    tail_limit: u64,
    /// Lines of the view that belong to the head.
    head_lines: usize,
    tail_bytes: u64,
    tail_open: bool,
    dropped: u64,
    stdout: Partial,
    stderr: Partial,
    panic: Panic,
}

/// A line whose end has not come yet.
#[derive(Debug, Default)]
struct Partial {
    bytes: Vec<u8>,
    cut: bool,
}

#[derive(Debug, Default)]
struct Panic {
    text: String,
    open: bool,
}

impl Journal {
    /// An empty log that keeps `limit` bytes.
    pub(crate) fn new(live: Arc<Live>, started: Instant, limit: u64) -> Arc<Self> {
        let tail_limit = limit / 4;
        Arc::new(Self {
            live,
            started,
            state: Mutex::new(State {
                head_left: limit - tail_limit,
                tail_limit,
                head_lines: 0,
                tail_bytes: 0,
                tail_open: false,
                dropped: 0,
                stdout: Partial::default(),
                stderr: Partial::default(),
                panic: Panic::default(),
            }),
        })
    }

    /// A line of the `log` interface.
    pub(crate) fn log(&self, level: LogLevel, text: &str, fields: Vec<(String, String)>) {
        let mut left = LINE_BYTES;
        let text = clean(text.as_bytes(), &mut left);
        let fields = fields
            .into_iter()
            .take(FIELDS)
            .map(|(key, value)| {
                (
                    clean(key.as_bytes(), &mut left),
                    clean(value.as_bytes(), &mut left),
                )
            })
            .collect();
        let line = self.line(LogSource::Log, level, text, fields);
        self.with(|state| state.keep(&self.live, line));
    }

    /// Bytes of a standard stream; lines are taken out of them.
    pub(crate) fn print(&self, source: LogSource, bytes: &[u8]) {
        self.with(|state| {
            let mut rest = bytes;
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                state.partial(source).extend(&rest[..end]);
                self.end_line(state, source);
                rest = &rest[end + 1..];
            }
            state.partial(source).extend(rest);
        });
    }

    /// Close lines that never got their end, and give back the log, how many lines were dropped and
    /// the guest's panic text.
    pub(crate) fn finish(&self) -> (Vec<LogLine>, u64, Option<String>) {
        self.with(|state| {
            for source in [LogSource::Stdout, LogSource::Stderr] {
                if !state.partial(source).bytes.is_empty() {
                    self.end_line(state, source);
                }
            }
            let panic = mem::take(&mut state.panic.text);
            let logs = self.live.with(|view| view.logs.clone());
            (logs, state.dropped, (!panic.is_empty()).then_some(panic))
        })
    }

    fn end_line(&self, state: &mut State, source: LogSource) {
        let partial = mem::take(state.partial(source));
        let bytes = partial.bytes.strip_suffix(b"\r").unwrap_or(&partial.bytes);
        let mut left = LINE_BYTES;
        let mut text = clean(bytes, &mut left);
        if partial.cut {
            text.push_str(CUT);
        }
        let level = match source {
            LogSource::Log | LogSource::Stdout => LogLevel::Info,
            LogSource::Stderr => LogLevel::Warn,
        };
        if source == LogSource::Stderr {
            state.panic.saw(&text);
        }
        let line = self.line(source, level, text, Vec::new());
        state.keep(&self.live, line);
    }

    fn line(
        &self,
        source: LogSource,
        level: LogLevel,
        text: String,
        fields: Vec<(String, String)>,
    ) -> LogLine {
        LogLine {
            at_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            source,
            level,
            text,
            fields,
        }
    }

    fn with<T>(&self, with: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(|held| held.into_inner());
        with(&mut state)
    }
}

impl State {
    fn partial(&mut self, source: LogSource) -> &mut Partial {
        match source {
            LogSource::Stderr => &mut self.stderr,
            LogSource::Stdout | LogSource::Log => &mut self.stdout,
        }
    }

    fn keep(&mut self, live: &Live, line: LogLine) {
        let cost = cost(&line);
        if !self.tail_open && cost <= self.head_left {
            self.head_left -= cost;
            self.head_lines += 1;
            live.with(|view| view.logs.push(line));
            return;
        }
        self.tail_open = true;
        if cost > self.tail_limit {
            self.dropped += 1;
            return;
        }
        self.tail_bytes += cost;
        live.with(|view| {
            view.logs.push(line);
            if self.tail_bytes > self.tail_limit {
                self.shorten(&mut view.logs);
            }
        });
    }

    /// Drop the older half of the tail: rarely, as it moves all that follow.
    fn shorten(&mut self, logs: &mut Vec<LogLine>) {
        let mut end = self.head_lines;
        while end < logs.len() && self.tail_bytes > self.tail_limit / 2 {
            self.tail_bytes -= cost(&logs[end]);
            end += 1;
        }
        // The newest line stays, also when it alone is more than half.
        if end == logs.len() {
            end -= 1;
            self.tail_bytes += cost(&logs[end]);
        }
        self.dropped += (end - self.head_lines) as u64;
        logs.drain(self.head_lines..end);
    }
}

fn cost(line: &LogLine) -> u64 {
    let fields: usize = line
        .fields
        .iter()
        .map(|(key, value)| key.len() + value.len() + LINE_COST as usize)
        .sum();
    LINE_COST + (line.text.len() + fields) as u64
}

impl Partial {
    fn extend(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES - self.bytes.len();
        self.cut |= bytes.len() > room;
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

impl Panic {
    /// Rust writes `thread '…' (n) panicked at PLACE:` with the text on the lines after it, Python
    /// a traceback. The last one wins.
    fn saw(&mut self, line: &str) {
        let rust = line.starts_with("thread '") && line.contains(" panicked at ");
        if rust || line.starts_with("Traceback (most recent call last)") {
            self.text.clear();
            self.open = true;
        } else if line.starts_with("note: run with `RUST_BACKTRACE") {
            self.open = false;
        }
        if !self.open || line.is_empty() {
            return;
        }
        if self.text.len() + line.len() > PANIC_BYTES {
            self.open = false;
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }
}

/// Bytes as one line of text: what is no UTF-8 is replaced, control characters and what turns or
/// breaks lines is written as an escape. Takes what the text needs from `left` and cuts at it.
pub(crate) fn clean(bytes: &[u8], left: &mut usize) -> String {
    // No character gets shorter, so what lies past the room is cut in any case.
    let taken = &bytes[..bytes.len().min(*left)];
    let mut text = String::with_capacity(taken.len());
    for char in String::from_utf8_lossy(taken).chars() {
        let before = text.len();
        match char {
            '\n' | '\r' | '\t' => text.extend(char.escape_default()),
            '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                text.extend(char.escape_unicode());
            }
            _ if char.is_control() => text.extend(char.escape_unicode()),
            _ => text.push(char),
        }
        if text.len() > *left {
            text.truncate(before);
            *left = 0;
            text.push_str(CUT);
            return text;
        }
    }
    *left -= text.len();
    if taken.len() < bytes.len() {
        *left = 0;
        text.push_str(CUT);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(limit: u64) -> (Arc<Journal>, Arc<Live>) {
        let live = Arc::new(Live::default());
        (Journal::new(Arc::clone(&live), Instant::now(), limit), live)
    }

    fn texts(logs: &[LogLine]) -> Vec<&str> {
        logs.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn lines_are_split_and_the_last_needs_no_end() {
        let (journal, live) = journal(10_000);
        journal.print(LogSource::Stdout, b"one\r\ntw");
        journal.print(LogSource::Stderr, b"between\n");
        journal.print(LogSource::Stdout, b"o\nthree");
        assert_eq!(live.with(|view| view.logs.len()), 3);
        let (logs, dropped, panic) = journal.finish();
        assert_eq!(texts(&logs), ["one", "between", "two", "three"]);
        assert_eq!(logs[1].level, LogLevel::Warn);
        assert_eq!((dropped, panic), (0, None));
    }

    #[test]
    fn a_flood_keeps_its_head_and_its_end() {
        let (journal, _) = journal(4_000);
        for n in 0..10_000 {
            journal.log(LogLevel::Info, &format!("line {n}"), Vec::new());
        }
        let (logs, dropped, _) = journal.finish();
        assert_eq!(logs.len() as u64 + dropped, 10_000);
        assert!(logs.iter().map(cost).sum::<u64>() <= 4_000);
        assert_eq!(logs[0].text, "line 0");
        assert_eq!(logs.last().unwrap().text, "line 9999");
        assert!(logs.len() > 60);
    }

    #[test]
    fn a_line_without_end_takes_bounded_memory() {
        let (journal, _) = journal(100_000);
        for _ in 0..100 {
            journal.print(LogSource::Stdout, &[b'x'; 4_096]);
        }
        let (logs, ..) = journal.finish();
        assert_eq!(logs.len(), 1);
        assert!(logs[0].text.len() <= LINE_BYTES + CUT.len());
        assert!(logs[0].text.ends_with(CUT));
    }

    #[test]
    fn nothing_that_moves_a_cursor_gets_through() {
        let (journal, _) = journal(100_000);
        journal.print(LogSource::Stderr, b"\x1b[31mred\xff\n");
        journal.log(
            LogLevel::Warn,
            "a\nforged line\u{202e}",
            vec![("k\r".into(), "v\0".into())],
        );
        let (logs, ..) = journal.finish();
        assert_eq!(logs[0].text, "\\u{1b}[31mred\u{fffd}");
        assert_eq!(logs[1].text, "a\\nforged line\\u{202e}");
        assert_eq!(logs[1].fields, [("k\\r".into(), "v\\u{0}".into())]);
    }

    #[test]
    fn the_panic_text_outlives_a_full_log() {
        let (journal, _) = journal(64);
        journal.print(
            LogSource::Stderr,
            b"noise\n\nthread 'main' (1) panicked at src/lib.rs:7:9:\nfirst\nsecond\nnote: run with `RUST_BACKTRACE=1`\nafter\n",
        );
        let (.., panic) = journal.finish();
        assert_eq!(
            panic.as_deref(),
            Some("thread 'main' (1) panicked at src/lib.rs:7:9:\nfirst\nsecond")
        );
    }
}
