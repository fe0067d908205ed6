//! Instants as people and programs write them.

use std::time::{Duration, UNIX_EPOCH};

use sandhog_model::UnixMs;

/// RFC 3339 in UTC, with milliseconds.
pub(crate) fn rfc3339(at: UnixMs) -> String {
    at.to_string()
}

/// Read an RFC 3339 instant, with `Z` or an offset.
pub(crate) fn instant(text: &str) -> Result<UnixMs, String> {
    let wrong = || {
        format!(
            "{text:?} is no instant: write 2030-01-31T08:00:00Z, or with an offset such as +02:00"
        )
    };
    let (local, offset_s) = split_offset(text).ok_or_else(wrong)?;
    let time = humantime::parse_rfc3339(&format!("{local}Z")).map_err(|_| wrong())?;
    let since = time.duration_since(UNIX_EPOCH).map_err(|_| wrong())?;
    let ms = i64::try_from(since.as_millis()).map_err(|_| wrong())? - offset_s * 1_000;
    u64::try_from(ms).map(UnixMs).map_err(|_| wrong())
}

fn split_offset(text: &str) -> Option<(&str, i64)> {
    if let Some(local) = text.strip_suffix(['Z', 'z']) {
        return Some((local, 0));
    }
    let at = text.len().checked_sub(6)?;
    let (local, offset) = text.split_at_checked(at)?;
    let sign = match offset.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = offset[1..].split_once(':')?;
    let digits = |part: &str, most: i64| -> Option<i64> {
        let fits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse().ok().filter(|value| fits && *value <= most)
    };
    let seconds = digits(hours, 23)? * 3_600 + digits(minutes, 59)? * 60;
    Some((local, sign * seconds))
}

/// The units of a time span, as [`span`] reads them.
const UNITS: [&str; 40] = [
    "nanos", "nsec", "ns", "usec", "us", "\u{b5}s", "millis", "msec", "ms", "seconds", "second",
    "secs", "sec", "s", "minutes", "minute", "min", "mins", "m", "hours", "hour", "hr", "hrs", "h",
    "days", "day", "d", "weeks", "week", "wk", "wks", "w", "months", "month", "M", "years", "year",
    "yr", "yrs", "y",
];

/// The texts that are time spans, as a regular expression.
pub(crate) fn span_pattern() -> String {
    let units = UNITS.join("|");
    let one = format!("[0-9]+(\\.[0-9]+)? *({units})");
    format!("(0|{one}( *{one})*)")
}

/// Read a time span such as `5m` or `1h 30m`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{text:?} is no time span ({error}): write 30s, 5m or 1h 30m"))
}

/// A span in whole milliseconds, what is too long for them as their end.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_with_their_offset() {
        let noon = instant("2026-11-29T12:00:00Z").unwrap();
        assert_eq!(rfc3339(noon), "2026-11-29T12:00:00.000Z");
        assert_eq!(instant("2026-11-29T14:00:00+02:00"), Ok(noon));
        assert_eq!(instant("2026-11-29T06:30:00-05:30"), Ok(noon));
        assert_eq!(instant("2026-11-29T12:00:00.250z"), Ok(noon.plus(250)));
        let wrong = [
            "",
            "tomorrow",
            "2026-11-29",
            "2026-11-29T12:00:00",
            "2026-02-30T12:00:00Z",
            "2026-11-29T12:00:00+2:00",
            "2026-11-29T12:00:00+02:99",
            "1969-12-31T23:00:00Z",
            "1970-01-01T00:00:00+01:00",
            "2026-11-29T12:00:00+ü:00",
            "12:00",
        ];
        for text in wrong {
            assert!(instant(text).is_err(), "{text}");
        }
        assert!(rfc3339(UnixMs(u64::MAX)).starts_with("9999-12-31"));
    }

    #[test]
    fn spans_need_a_unit() {
        assert_eq!(span("1h 30m"), Ok(Duration::from_secs(5_400)));
        for text in ["", "5", "-5m", "5 parsecs"] {
            assert!(span(text).is_err(), "{text}");
        }
        assert_eq!(millis(Duration::MAX), u64::MAX);
    }
}
