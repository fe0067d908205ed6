//! The page of each problem: served by the runner, and kept in `docs/errors`, where a test holds it equal.

use super::Code;

/// Where the pages are served.
pub(in crate::web) const PAGES: &str = "/docs/errors/";

/// The page of a code, in Markdown.
pub(in crate::web) fn page(code: Code) -> String {
    format!(
        "# `{}`: {}\n\nStatus {}.\n\n{}\n",
        code.name(),
        code.title(),
        code.status(),
        wrapped(code.means())
    )
}

/// The text in lines of at most 120 characters.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split(' ') {
        if length > 0 && length + 1 + word.chars().count() > 120 {
            lines.push('\n');
            length = 0;
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += word.chars().count();
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// `SANDHOG_WRITE_DOCS=1` writes them anew.
    #[test]
    fn each_code_has_its_page_in_docs_and_none_is_left_over() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors");
        if std::env::var_os("SANDHOG_WRITE_DOCS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            for code in Code::ALL {
                fs::write(folder.join(format!("{}.md", code.name())), page(*code)).unwrap();
            }
        }
        let there: BTreeSet<String> = fs::read_dir(&folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        let wanted = Code::ALL.iter().map(|code| format!("{}.md", code.name()));
        assert_eq!(there, wanted.collect());
        for code in Code::ALL {
            let text = fs::read_to_string(folder.join(format!("{}.md", code.name()))).unwrap();
            assert_eq!(text, page(*code), "SANDHOG_WRITE_DOCS=1 writes it anew");
        }
    }

    #[test]
    fn names_are_told_apart() {
        let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }
}
