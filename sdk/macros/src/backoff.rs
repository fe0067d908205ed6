//! A first check of backoff texts. The host has the last word; this one points at the source line.

use crate::duration::milliseconds;

/// Refuses a text the host could not read.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let Some((shape, rest)) = words.split_first() else {
        return Err(unknown(text));
    };
    let is_duration = |word: &&&str| milliseconds(word).is_ok();
    let waits = rest.iter().take_while(is_duration).count();
    let (fits, options): (bool, &[&str]) = match *shape {
        "polynomial" => (waits == 0, &["jitter"]),
        "fixed" => (waits == 1, &["jitter"]),
        "linear" => (waits == 1, &["max", "jitter"]),
        "exponential" => (waits == 1, &["factor", "max", "jitter"]),
        "list" => (waits >= 1, &["jitter"]),
        _ => return Err(unknown(text)),
    };
    if !fits {
        let wanted = match *shape {
            "polynomial" => "no duration",
            "list" => "at least one duration",
            _ => "exactly one duration",
        };
        return Err(format!(
            "`{shape}` takes {wanted}, as in `{}`",
            sample(shape)
        ));
    }
    for option in rest[waits..].chunks(2) {
        check_option(shape, option, options)?;
    }
    Ok(())
}

fn check_option(shape: &str, option: &[&str], known: &[&str]) -> Result<(), String> {
    let name = option[0];
    if !known.contains(&name) {
        return Err(format!(
            "`{shape}` has no `{name}`: it takes {}",
            known.join(", ")
        ));
    }
    let Some(value) = option.get(1) else {
        return Err(format!("`{name}` needs a value"));
    };
    if name == "max" {
        return milliseconds(value).map(drop);
    }
    let number: f64 = value
        .parse()
        .map_err(|_| format!("`{name}` needs a number, not `{value}`"))?;
    let (low, high) = if name == "jitter" {
        (0.0, 1.0)
    } else {
        (1.0, 1e6)
    };
    if (low..=high).contains(&number) {
        Ok(())
    } else {
        Err(format!(
            "`{name}` must be from {low} to {high}, not {value}"
        ))
    }
}

fn sample(shape: &str) -> &'static str {
    match shape {
        "polynomial" => "polynomial",
        "fixed" => "fixed 1s",
        "linear" => "linear 10s max 1h",
        "list" => "list 1s 5s 1m",
        _ => "exponential 1s max 1h",
    }
}

fn unknown(text: &str) -> String {
    format!(
        "`{text}` is no backoff: it begins with `polynomial`, `fixed`, `linear`, `exponential` or `list`"
    )
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn takes_every_shape() {
        for text in [
            "polynomial",
            "polynomial jitter 0.5",
            "fixed 1s",
            "linear 10s max 1h",
            "exponential 1s factor 2 max 1h jitter 0.2",
            "list 1s 5s 1m jitter 0",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn names_what_is_wrong() {
        for (text, part) in [
            ("", "no backoff"),
            ("expo 1s", "no backoff"),
            ("fixed", "exactly one"),
            ("fixed 1s 2s", "exactly one"),
            ("polynomial 1s", "no duration"),
            ("list", "at least one"),
            ("fixed 1s max 1h", "no `max`"),
            ("linear 1s max", "needs a value"),
            ("linear 1s max soon", "no duration"),
            ("exponential 1s factor 0.5", "from 1"),
            ("exponential 1s jitter NaN", "from 0 to 1"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.contains(part), "{text:?} gave {error:?}");
        }
    }
}
