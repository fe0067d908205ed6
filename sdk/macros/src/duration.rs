//! Durations as people write them: `500ms`, `30s`, `1h30m`.

/// Milliseconds in `text`; the error says what is wrong with it.
pub(crate) fn milliseconds(text: &str) -> Result<u64, String> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("the duration is empty: write for example `30s`".into());
    }
    let mut total = 0u64;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let letters = tail
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let scale = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(malformed(text)),
        };
        let number: u64 = number.parse().map_err(|_| malformed(text))?;
        total = number
            .checked_mul(scale)
            .and_then(|part| total.checked_add(part))
            .ok_or_else(|| format!("the duration `{text}` is too long"))?;
        rest = tail;
    }
    if total == 0 {
        return Err(format!(
            "the duration `{text}` is zero: write 1 or more of a unit"
        ));
    }
    Ok(total)
}

fn malformed(text: &str) -> String {
    format!(
        "`{text}` is no duration: write whole numbers with `ms`, `s`, `m`, `h` or `d`, such as `1m30s`"
    )
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn reads_units_alone_and_joined() {
        assert_eq!(milliseconds("500ms"), Ok(500));
        assert_eq!(milliseconds("30s"), Ok(30_000));
        assert_eq!(milliseconds("1h30m"), Ok(5_400_000));
        assert_eq!(milliseconds("2d"), Ok(172_800_000));
    }

    #[test]
    fn refuses_what_has_no_clear_length() {
        for text in ["", "30", "s", "-1s", "1.5s", "1 s", "5x", "0s", "0h0m"] {
            assert!(milliseconds(text).is_err(), "{text:?} was taken");
        }
        let long = milliseconds("18446744073709551615d").unwrap_err();
        assert!(long.contains("too long"), "{long}");
    }
}
