//! A look at a picture by a decoder that none of the handlers uses.

use zune_core::bytestream::ZCursor;
use zune_png::PngDecoder;

/// Decodes a PNG, every pixel of it, and gives its width and height.
///
/// # Panics
///
/// When it is no sound PNG.
#[track_caller]
#[must_use]
pub fn size_of_png(bytes: &[u8]) -> (u32, u32) {
    let mut decoder = PngDecoder::new(ZCursor::new(bytes));
    let pixels = decoder
        .decode_raw()
        .unwrap_or_else(|e| panic!("no sound PNG of {} bytes: {e:?}", bytes.len()));
    let (width, height) = decoder.dimensions().expect("a decoded picture has a size");
    assert!(pixels.len() >= width * height, "fewer bytes than pixels");
    let side = |side: usize| u32::try_from(side).expect("a side fits u32");
    (side(width), side(height))
}

#[cfg(test)]
mod tests {
    use super::size_of_png;
    use crate::{own, photos};
    use std::fs;

    #[test]
    fn knows_the_sizes_of_the_projects_own() {
        let pngs = photos()
            .into_iter()
            .filter(|p| p.file.extension().is_some_and(|e| e == "png"));
        for photo in pngs {
            let bytes = fs::read(&photo.file).unwrap();
            assert_eq!(
                size_of_png(&bytes),
                (photo.width, photo.height),
                "{}",
                photo.file.display()
            );
        }
    }

    #[test]
    #[should_panic(expected = "no sound PNG")]
    fn a_cut_picture_is_none() {
        let bytes = fs::read(own("rings.png")).unwrap();
        let _ = size_of_png(&bytes[..bytes.len() / 2]);
    }
}
