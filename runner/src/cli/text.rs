//! Text for a terminal: what a guest wrote is made plain, tables without clutter, sizes and
//! instants.

use std::{borrow::Cow, fmt::Write as _, time::Duration};

use comfy_table::{CellAlignment, Table, presets};
use sandhog_model::UnixMs;
use serde_json::Value;

/// Longest cell that holds free text, in characters.
const CELL: usize = 72;

/// Whether a terminal could take the character as an order, or show other text than is there.
fn is_order(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// The text with orders to the terminal written out. One line in, one line out.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(is_order) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_order(c) {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    Cow::Owned(plain)
}

/// The same for a text of several lines.
pub(super) fn plain_lines(text: &str) -> String {
    let mut plain_text = String::with_capacity(text.len());
    for part in text.split_inclusive(['\n', '\t']) {
        match part.strip_suffix(['\n', '\t']) {
            Some(body) => {
                plain_text.push_str(&plain(body.strip_suffix('\r').unwrap_or(body)));
                plain_text.push_str(&part[body.len()..]);
            }
            None => plain_text.push_str(&plain(part)),
        }
    }
    plain_text
}

/// A cell of free text: plain, and cut when it is long.
pub(super) fn cell(text: &str) -> String {
    let plain = plain(text);
    match plain.char_indices().nth(CELL) {
        Some((end, _)) => format!("{}…", &plain[..end]),
        None => plain.into_owned(),
    }
}

/// JSON on one line. Orders to a terminal that JSON lets through are written as escapes too.
pub(super) fn json(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(is_order) {
        return text;
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_order(c) {
            let _ = write!(plain, "\\u{:04x}", c as u32);
        } else {
            plain.push(c);
        }
    }
    plain
}

/// A table; the columns named in `right` hold numbers.
pub(super) fn table(
    header: &[&str],
    right: &[usize],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.iter().copied());
    for row in rows {
        table.add_row(row);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if right.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// Names and values, one a line.
pub(super) fn fields(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in rows {
        let _ = writeln!(text, "{name:width$}  {value}");
    }
    text
}

/// How many of something whose name forms its plural with an s.
pub(super) fn count(count: u64, name: &str) -> String {
    match count {
        1 => format!("1 {name}"),
        _ => format!("{count} {name}s"),
    }
}

/// A size for people.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A time span for people: its two largest units.
pub(super) fn span(ms: u64) -> String {
    if ms < 1_000 {
        return format!("{ms}ms");
    }
    let shown = humantime::format_duration(Duration::from_secs(ms / 1_000)).to_string();
    let parts: Vec<&str> = shown.split(' ').take(2).collect();
    parts.join(" ")
}

/// An instant for people, from now.
pub(super) fn ago(at: UnixMs, now: UnixMs) -> String {
    if at > now {
        return format!("in {}", span(at.since(now)));
    }
    match now.since(at) {
        0..1_000 => "now".into(),
        passed => format!("{} ago", span(passed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_order_reaches_the_terminal() {
        let nasty = "\u{1b}[2Jx\u{7}\r\n\u{9b}31m\u{202e}\u{7f}ok é 漢";
        let shown = [
            plain(nasty).into_owned(),
            cell(nasty),
            json(&Value::from(nasty)),
            plain_lines(nasty).replace('\n', ""),
        ];
        for text in shown {
            assert!(!text.contains(is_order), "{text:?}");
            assert!(text.contains("ok é 漢") && text.contains("[2J"), "{text:?}");
        }
        let back: Value = serde_json::from_str(&json(&Value::from(nasty))).unwrap();
        assert_eq!(back, nasty);
        assert_eq!(plain_lines("a\tb\r\nc"), "a\tb\nc");
        assert_eq!(cell(&"漢".repeat(100)).chars().count(), CELL + 1);
    }

    #[test]
    fn sizes_and_spans_are_short() {
        assert_eq!(count(0, "job") + &count(1, "job"), "0 jobs1 job");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size((1 << 20) - 1), "1.0 MiB");
        assert_eq!(size(u64::MAX), "16777216.0 TiB");
        assert_eq!(span(999), "999ms");
        assert_eq!(span(3_723_000), "1h 2m");
        assert_eq!(ago(UnixMs(5_000), UnixMs(65_000)), "1m ago");
        assert_eq!(ago(UnixMs(65_000), UnixMs(5_000)), "in 1m");
        assert_eq!(ago(UnixMs(5_000), UnixMs(5_001)), "now");
    }
}
