//! From bytes to a text that is a table all through.

use sandhog_sdk::Error;

/// The text without its byte order mark. What a reader would make the best of without a word (an
/// open quote swallows all rows after it) is refused here.
pub(crate) fn checked(bytes: &[u8], delimiter: u8) -> Result<&str, Error> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(not_utf8(
            "the table is UTF-16; save it as UTF-8".to_owned(),
            0,
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        let line = 1 + bytes[..offset]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        let why =
            format!("the table is not UTF-8: byte {offset}, in line {line}, begins no character");
        not_utf8(why, offset)
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(line) = open_quote(text.as_bytes(), delimiter) {
        return Err(
            Error::permanent(format!("the quote opened in line {line} is never closed"))
                .with_code("bad-csv")
                .with_detail("line", line),
        );
    }
    Ok(text)
}

fn not_utf8(why: String, offset: usize) -> Error {
    Error::permanent(why)
        .with_code("not-utf8")
        .with_detail("offset", offset)
}

/// Where in a field the walk below is. The numbers are the line where the field's quote opened.
enum Place {
    Start,
    Plain,
    Quoted(usize),
    AfterQuote(usize),
}

/// The line where a quoted field begins that does not end. A quote opens a field only as its first
/// character, and inside one two stand for one.
fn open_quote(text: &[u8], delimiter: u8) -> Option<usize> {
    let mut line = 1;
    let mut place = Place::Start;
    for byte in text {
        let ends_field = *byte == delimiter || matches!(byte, b'\n' | b'\r');
        place = match place {
            Place::Quoted(opened) if *byte == b'"' => Place::AfterQuote(opened),
            Place::Quoted(opened) => Place::Quoted(opened),
            Place::Start if *byte == b'"' => Place::Quoted(line),
            Place::AfterQuote(opened) if *byte == b'"' => Place::Quoted(opened),
            _ if ends_field => Place::Start,
            _ => Place::Plain,
        };
        line += usize::from(*byte == b'\n');
    }
    match place {
        Place::Quoted(opened) => Some(opened),
        _ => None,
    }
}
