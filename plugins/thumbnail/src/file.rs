//! What a file is by its first bytes, and whether it is all there.

use image::ImageFormat;
use sandhog_sdk::Error;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG: &[u8] = b"\xff\xd8\xff";

/// How much a decoder needs beside the pixels, as a multiple of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// A few rows.
    Rows,
    /// A 16-bit coefficient for each sample: JPEGs that come in several scans.
    Coefficients,
}

/// PNG or JPEG; anything else is refused by the name of what it looks like.
pub(crate) fn recognise(bytes: &[u8]) -> Result<ImageFormat, Error> {
    if bytes.starts_with(PNG) {
        return Ok(ImageFormat::Png);
    }
    if bytes.starts_with(JPEG) {
        return Ok(ImageFormat::Jpeg);
    }
    let what = name_of(bytes);
    Err(
        Error::permanent(format!("the payload is {what}; a PNG or a JPEG is needed"))
            .with_code("not-an-image")
            .with_detail("looks-like", what),
    )
}

fn name_of(bytes: &[u8]) -> &'static str {
    let names: [(&[u8], &str); 12] = [
        (b"GIF8", "a GIF"),
        (b"II*\0", "a TIFF"),
        (b"MM\0*", "a TIFF"),
        (b"BM", "a BMP"),
        (b"\0\0\x01\0", "an icon"),
        (b"8BPS", "a Photoshop file"),
        (b"%PDF", "a PDF"),
        (b"<svg", "an SVG"),
        (b"PK\x03\x04", "a ZIP"),
        (b"\x1f\x8b", "a gzip file"),
        (b"\xff\x0a", "a JPEG XL"),
        (b"\x7fELF", "a program"),
    ];
    if bytes.is_empty() {
        return "empty";
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return "a WebP";
    }
    match bytes.get(4..12) {
        Some(b"ftypavif") => return "an AVIF",
        Some(b"ftypheic" | b"ftypheix" | b"ftypmif1") => return "a HEIF",
        _ => {}
    }
    if let Some((_, name)) = names.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return name;
    }
    if PNG.starts_with(bytes) || JPEG.starts_with(bytes) {
        return "the first few bytes of an image, the rest was cut off";
    }
    // A cut in the middle of a character is no reason to call a text binary.
    let text = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && error.valid_up_to() > 0,
    };
    if text && !bytes.contains(&0) {
        "a text"
    } else {
        "of an unknown format"
    }
}

/// Looks for the end the format demands: decoders fill a cut JPEG up with grey and are content.
pub(crate) fn check_whole(bytes: &[u8], format: ImageFormat) -> Result<Memory, Error> {
    let memory = match format {
        ImageFormat::Png => png_end(bytes).map(|()| Memory::Rows),
        _ => jpeg_end(bytes),
    };
    memory.ok_or_else(|| {
        broken(format!(
            "the file ends before its image does: it was cut at {} bytes",
            bytes.len()
        ))
    })
}

/// The failure of an image that cannot be read.
pub(crate) fn broken(why: String) -> Error {
    Error::permanent(why).with_code("broken-image")
}

/// Walks the chunks (length, type, body, checksum) to `IEND`.
fn png_end(bytes: &[u8]) -> Option<()> {
    let mut rest = bytes.get(PNG.len()..)?;
    loop {
        let length = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?);
        let kind = rest.get(4..8)?;
        let end = usize::try_from(length).ok()?.checked_add(12)?;
        let next = rest.get(end..)?;
        if kind == b"IEND" {
            return Some(());
        }
        rest = next;
    }
}

/// Walks the segments and scans to the end-of-image marker, and sees on the way how it is coded.
fn jpeg_end(bytes: &[u8]) -> Option<Memory> {
    let mut at = 2;
    let mut scans = 0;
    let mut progressive = false;
    loop {
        // In a scan: bytes up to the next marker. Elsewhere markers follow each other directly, and
        // what lies between them is skipped as decoders do.
        at += bytes.get(at..)?.iter().position(|byte| *byte == 0xff)?;
        let marker = *bytes.get(at + 1)?;
        at += 1;
        match marker {
            // A stuffed 0xff, a restart or a lone marker has no length; 0xff is padding.
            0x00 | 0x01 | 0xd0..=0xd8 => at += 1,
            0xff => {}
            0xd9 => break,
            _ => {
                scans += usize::from(marker == 0xda);
                progressive |= marker == 0xc2;
                let length = u16::from_be_bytes(bytes.get(at + 1..at + 3)?.try_into().ok()?);
                at += 1 + usize::from(length);
            }
        }
    }
    Some(if progressive || scans > 1 {
        Memory::Coefficients
    } else {
        Memory::Rows
    })
}
