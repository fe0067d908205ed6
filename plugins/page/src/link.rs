//! Where a link leads, and whether it may.

/// Schemes that cannot run anything in the reader's browser.
const SAFE: [&str; 4] = ["http", "https", "mailto", "tel"];

/// Whether a link may stay. An address without a scheme is relative and may.
pub(crate) fn is_safe(address: &str) -> bool {
    scheme(address).is_none_or(|scheme| SAFE.contains(&scheme.as_str()))
}

/// What stands before the first colon; a colon after `/`, `?` or `#` is no scheme's. Browsers skip
/// blanks and control characters in it: here they make it a scheme nobody knows.
fn scheme(address: &str) -> Option<String> {
    let end = address.find([':', '/', '?', '#'])?;
    let (head, tail) = address.split_at(end);
    tail.starts_with(':').then(|| head.to_ascii_lowercase())
}

/// The address up to its query or fragment, and the rest.
fn split(address: &str) -> (&str, &str) {
    address.split_at(address.find(['?', '#']).unwrap_or(address.len()))
}

/// The path of the Markdown page an address on the page at `from` leads to. `None` for anything
/// else, and for what lies above the root.
pub(crate) fn target(from: &str, address: &str) -> Option<String> {
    let (path, _) = split(address);
    if scheme(address).is_some() || path.starts_with('/') || !path.ends_with(".md") {
        return None;
    }
    let path = percent_decoded(path)?;
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The same address with `.html` for `.md`; `None` when it leads to no Markdown page.
pub(crate) fn to_html(from: &str, address: &str) -> Option<String> {
    target(from, address)?;
    let (path, rest) = split(address);
    Some(format!("{}.html{rest}", path.strip_suffix(".md")?))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = (*first == b'%').then(|| tail.get(..2)).flatten();
        let byte = code
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{is_safe, target, to_html};

    #[test]
    fn only_harmless_schemes_are_safe() {
        for address in [
            "https://example.org/a:b",
            "HTTP://x",
            "mailto:a@example.org",
            "tel:1",
            "a.md",
            "#x",
            "/a:b",
            "?a:b",
            "./javascript:x",
            "",
            "//example.org",
        ] {
            assert!(is_safe(address), "{address:?}");
        }
        for address in [
            "javascript:alert(1)",
            "JaVaScRiPt:x",
            " javascript:x",
            "java\tscript:x",
            "java\nscript:x",
            "\u{1}javascript:x",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc",
            ":x",
        ] {
            assert!(!is_safe(address), "{address:?}");
        }
    }

    #[test]
    fn targets_are_relative_to_the_page() {
        for (from, address, found) in [
            ("index.md", "guide.md", Some("guide.md")),
            ("a/b.md", "c.md#part", Some("a/c.md")),
            ("a/b.md", "../c.md?x", Some("c.md")),
            ("a/b.md", "./d/./e.md", Some("a/d/e.md")),
            ("index.md", "two%20words.md", Some("two words.md")),
            ("index.md", "100%.md", Some("100%.md")),
            ("index.md", "../c.md", None),
            ("index.md", "/c.md", None),
            ("index.md", "https://example.org/c.md", None),
            ("index.md", "c.html", None),
            ("index.md", "#c.md", None),
            ("index.md", "x?c.md", None),
            ("index.md", "%ff.md", None),
        ] {
            assert_eq!(target(from, address).as_deref(), found, "{from} {address}");
        }
    }

    #[test]
    fn the_ending_changes_and_nothing_else() {
        assert_eq!(
            to_html("a/b.md", "../c%20d.md?q#f").as_deref(),
            Some("../c%20d.html?q#f")
        );
        assert_eq!(to_html("b.md", "c.txt"), None);
    }
}
