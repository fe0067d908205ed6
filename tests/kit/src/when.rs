//! Instants as the runner writes them.

/// Milliseconds since the Unix epoch of a text such as `2026-11-29T19:31:46.250Z`.
///
/// # Panics
///
/// When the text is of another form.
#[track_caller]
#[must_use]
pub fn millis(instant: &serde_json::Value) -> i64 {
    let text = instant.as_str().unwrap_or_default();
    let parsed = parse(text);
    parsed.unwrap_or_else(|| panic!("{instant} is no instant with milliseconds in UTC"))
}

fn parse(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let parts = |text: &str, by: char| -> Option<Vec<i64>> {
        text.split(by).map(|part| part.parse().ok()).collect()
    };
    let [year, month, day] = parts(date, '-')?[..] else {
        return None;
    };
    let (whole, fraction) = time.split_once('.')?;
    let [hour, minute, second] = parts(whole, ':')?[..] else {
        return None;
    };
    let fraction: i64 = (fraction.len() == 3).then(|| fraction.parse().ok())??;
    // Years start in March here, so that the leap day is a year's last.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leaps = year / 4 - year / 100 + year / 400;
    let days = year * 365 + leaps + (month * 153 + 2) / 5 + day - 1 - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + fraction)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn knows_dates_that_another_program_computed() {
        // `date -u -d DATE +%s`
        for (text, seconds) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2000-02-29T12:00:00.000Z", 951_825_600),
            ("2026-11-29T19:31:46.000Z", 1_795_980_706),
            ("2100-03-01T00:00:01.000Z", 4_107_542_401),
        ] {
            assert_eq!(parse(text), Some(seconds * 1000), "{text}");
        }
        assert_eq!(parse("1970-01-01T00:00:01.250Z"), Some(1250));
        assert_eq!(parse("1970-01-01 00:00:01"), None);
    }
}
