//! What `strace -f -y` writes down, as calls in the order of their ends.

use std::collections::HashMap;

/// A finished call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    /// The path of its first argument, when that is a file descriptor.
    pub(super) file: String,
    /// Its quoted arguments.
    pub(super) texts: Vec<Vec<u8>>,
    /// What it returned; `None` when it never did.
    pub(super) result: Option<i64>,
    /// Where it began among all lines.
    pub(super) begun: usize,
}

/// The bytes of a quoted text, from behind its first quote; and what follows the last.
fn unquote(text: &str) -> (Vec<u8>, &str) {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() && bytes[at] != b'"' {
        if bytes[at] != b'\\' {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        at += 1;
        let octal = bytes[at..]
            .iter()
            .take(3)
            .take_while(|b| (b'0'..b'8').contains(b))
            .count();
        if octal > 0 {
            let digits = &text[at..at + octal];
            out.push(u16::from_str_radix(digits, 8).expect("octal digits") as u8);
            at += octal;
        } else {
            out.push(match bytes[at] {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'v' => 0x0B,
                b'f' => 0x0C,
                other => other,
            });
            at += 1;
        }
    }
    (out, text.get(at + 1..).unwrap_or_default())
}

fn parse(begun: usize, text: &str) -> Option<Call> {
    let (name, rest) = text.split_once('(')?;
    let first = rest.split([',', ')']).next().unwrap_or_default();
    let file = first
        .split_once('<')
        .map_or("", |(_, path)| path.trim_end_matches('>'));
    let (mut texts, mut rest) = (Vec::new(), rest);
    while let Some((_, quoted)) = rest.split_once('"') {
        let (bytes, after) = unquote(quoted);
        texts.push(bytes);
        rest = after;
    }
    let result = rest.rsplit_once(" = ").and_then(|(_, end)| {
        let word = end.split([' ', '<']).next()?;
        word.parse().ok()
    });
    Some(Call {
        name: name.into(),
        file: file.into(),
        texts,
        result,
        begun,
    })
}

/// The calls of a trace.
pub(super) fn calls(trace: &str) -> Vec<Call> {
    let (mut calls, mut open) = (Vec::new(), HashMap::new());
    for (number, line) in trace.lines().enumerate() {
        let Some((pid, text)) = line.split_once(' ') else {
            continue;
        };
        let text = text.trim_start();
        if let Some(begun) = text.strip_suffix(" <unfinished ...>") {
            open.insert(pid, (number, begun.to_owned()));
        } else if let Some(rest) = text.strip_prefix("<... ") {
            let rest = rest.split_once(" resumed>").map_or("", |(_, rest)| rest);
            if let Some((number, begun)) = open.remove(pid) {
                calls.extend(parse(number, &format!("{begun}{rest}")));
            }
        } else if !text.starts_with("+++") && !text.starts_with("---") {
            calls.extend(parse(number, text));
        }
    }
    let never = open.into_values();
    calls.extend(never.filter_map(|(number, begun)| parse(number, &begun)));
    calls
}

#[cfg(test)]
mod tests {
    use super::calls;

    #[test]
    fn calls_cut_in_two_are_put_together_and_escapes_are_bytes() {
        let trace = "7 fdatasync(3</d/a.seg> <unfinished ...>\n\
            8  sendto(5<socket:[9]>, \"\\0\\1x\\\"\\n\", 5, 0, NULL, 0) = 5\n\
            7 <... fdatasync resumed>) = -1 EIO (Input/output error) (INJECTED)\n\
            8 rename(\"/d/s\", \"/d/b.seg\")     = 0\n\
            8 +++ exited with 0 +++\n\
            9 fsync(4</d> <unfinished ...>\n";
        let calls = calls(trace);
        let told: Vec<_> = calls
            .iter()
            .map(|call| (call.name.as_str(), call.result))
            .collect();
        let wanted = [
            ("sendto", Some(5)),
            ("fdatasync", Some(-1)),
            ("rename", Some(0)),
            ("fsync", None),
        ];
        assert_eq!(told, wanted);
        assert_eq!(calls[0].texts, [b"\0\x01x\"\n"]);
        assert_eq!((calls[1].file.as_str(), calls[1].begun), ("/d/a.seg", 0));
        assert_eq!(calls[2].texts, [b"/d/s".to_vec(), b"/d/b.seg".to_vec()]);
    }
}
