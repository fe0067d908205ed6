//! What a reader of TOML says, in words that name what they are about.

use std::ops::Range;

/// What the reader of a file found first, and where.
pub(crate) fn fault(text: &str, error: &toml::de::Error) -> (Range<usize>, String) {
    let span = error.span().unwrap_or(0..0);
    let why = match error.message() {
        "duplicate key" => twice(text, &span),
        other => other.to_owned(),
    };
    (span, why)
}

/// A key or the heading of a table that is there again.
fn twice(text: &str, span: &Range<usize>) -> String {
    let before = text.get(..span.start).unwrap_or_default();
    let from = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text[from..].lines().next().unwrap_or_default().trim();
    let heading = line.split_inclusive(']').next().unwrap_or_default();
    match line.starts_with('[') {
        true => format!("{heading} is there twice: put the keys of both under one"),
        false => {
            let key = text.get(span.clone()).unwrap_or_default().trim();
            format!("`{key}` is there twice: keep one")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_twice_is_named() {
        for (text, says) in [
            ("[a]\nb = 1\n[c]\n[a]\n", "[a] is there twice"),
            ("[a.b]\nc = 1\n [a.b] # again\n", "[a.b] is there twice"),
            ("[a]\nb = 1\nb = 2\n", "`b` is there twice"),
            ("[a]\nb = { c = 1, d = 2, c = 3 }\n", "`c` is there twice"),
            ("a = 1\n[a]\n", "[a] is there twice"),
        ] {
            let error = toml::from_str::<toml::Table>(text).unwrap_err();
            let (_, why) = fault(text, &error);
            assert!(why.starts_with(says), "{text}: {why}");
        }
    }
}
