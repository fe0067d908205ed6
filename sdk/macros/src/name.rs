//! What a kind and a queue may be called.

/// Most bytes of a name.
const MOST: usize = 128;

/// Refuses what no kind or queue can be called: a name has 1 to 128 bytes of what needs no quoting
/// in a shell, a path or a metric.
pub(crate) fn check(value: &str) -> Result<(), String> {
    const FORM: &str = "1 to 128 letters of a-z and A-Z, digits, `-`, `_`, `.` or `:`";
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    if value.is_empty() {
        return Err(format!("the name is empty: write {FORM}"));
    }
    if let Some(odd) = value.chars().find(|c| !plain(*c)) {
        let odd = match odd {
            ' ' => "a space".to_owned(),
            odd => format!("`{}`", odd.escape_debug()),
        };
        return Err(format!(
            "a name cannot have {odd} in it: write {FORM}, such as `{}`",
            mended(value)
        ));
    }
    if value.len() > MOST {
        return Err(format!(
            "the name has {} letters: shorten it to {MOST} at most",
            value.len()
        ));
    }
    Ok(())
}

/// The nearest thing that is a name.
fn mended(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    let words = value.split(|c| !plain(c)).filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join("-");
    if joined.is_empty() {
        return "greet".to_owned();
    }
    joined[..joined.len().min(MOST)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn names_that_can_be_used_are_taken() {
        for name in ["a", "order.total", "a:b_c-d", "X9", &"a".repeat(128)] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_name_is_said() {
        for (name, part) in [
            ("", "is empty"),
            ("send mail", "a space in it"),
            ("send mail", "such as `send-mail`"),
            ("größe", "`ö` in it"),
            ("größe", "such as `gr-e`"),
            ("a\n", "`\\n` in it"),
            ("é", "such as `greet`"),
            (&"a".repeat(129), "has 129 letters"),
        ] {
            let why = check(name).unwrap_err();
            assert!(why.contains(part), "{name}: {why}");
        }
    }
}
