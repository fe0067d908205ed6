//! The handler on images the tests make themselves, and on the sample photos where they exist.

use std::io::Cursor;
use std::path::Path;

use image::{DynamicImage, GenericImageView, ImageFormat, Rgba};
use sandhog_sdk::testing::FakeContext;
use sandhog_sdk::{Bytes, Error};

use crate::shrink::fit;
use crate::thumbnail;

fn asked(width: u32, height: u32) -> FakeContext {
    FakeContext::new()
        .with_header("width", width.to_string())
        .with_header("height", height.to_string())
}

fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, format).unwrap();
    file.into_inner()
}

fn shrunk(bytes: &[u8], width: u32, height: u32) -> Result<DynamicImage, Error> {
    let png = thumbnail(Bytes::new("image/png", bytes), &asked(width, height))?;
    assert_eq!(png.content_type, "image/png");
    Ok(image::load_from_memory_with_format(&png.bytes, ImageFormat::Png).unwrap())
}

fn refusal(bytes: &[u8]) -> Error {
    let error = shrunk(bytes, 10, 10).unwrap_err();
    assert!(error.is_permanent(), "{error}");
    error
}

#[test]
fn the_size_is_the_largest_that_fits() {
    assert_eq!(fit((512, 512), (320, 240)), (240, 240));
    assert_eq!(fit((640, 427), (320, 240)), (320, 214));
    assert_eq!(fit((100, 50), (320, 240)), (100, 50));
    assert_eq!(fit((320, 240), (320, 240)), (320, 240));
    assert_eq!(fit((10_000, 3), (10, 10)), (10, 1));
    assert_eq!(fit((3, 10_000), (10, 10)), (1, 10));
    assert_eq!(fit((u32::MAX, 1), (10_000, 1)), (10_000, 1));
}

#[test]
fn every_kind_of_pixel_becomes_a_png_of_eight_bits() {
    let (w, h) = (40, 20);
    for image in [
        DynamicImage::new_luma8(w, h),
        DynamicImage::new_luma_a8(w, h),
        DynamicImage::new_rgb8(w, h),
        DynamicImage::new_rgba8(w, h),
        DynamicImage::new_luma16(w, h),
        DynamicImage::new_luma_a16(w, h),
        DynamicImage::new_rgb16(w, h),
        DynamicImage::new_rgba16(w, h),
    ] {
        let small = shrunk(&encoded(&image, ImageFormat::Png), 10, 10).unwrap();
        assert_eq!(small.dimensions(), (10, 5), "{:?}", image.color());
        assert_eq!(small.color().channel_count(), image.color().channel_count());
        let samples = u16::from(small.color().channel_count());
        assert_eq!(small.color().bits_per_pixel(), samples * 8);
    }
    let jpeg = encoded(&DynamicImage::new_rgb8(w, h), ImageFormat::Jpeg);
    assert_eq!(shrunk(&jpeg, 10, 10).unwrap().dimensions(), (10, 5));
}

#[test]
fn one_bit_pixels_are_read() {
    // 8 x 2 pixels, 1 bit each: a white row over a black one.
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let stored = [
        0x78, 0x01, 0x01, 4, 0, 0xfb, 0xff, 0, 0xff, 0, 0x00, 0x03, 0x01, 0x01, 0x00,
    ];
    for (kind, body) in [
        (b"IHDR", &[0, 0, 0, 8, 0, 0, 0, 2, 1, 0, 0, 0, 0][..]),
        (b"IDAT", &stored[..]),
        (b"IEND", &[][..]),
    ] {
        chunk(&mut file, kind, body);
    }
    let small = shrunk(&file, 4, 4).unwrap().into_luma8();
    assert_eq!(small.dimensions(), (4, 1));
    assert!(
        (126..=129).contains(&small.get_pixel(0, 0).0[0]),
        "{small:?}"
    );
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], body: &[u8]) {
    file.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
    let start = file.len();
    file.extend(kind);
    file.extend(body);
    let crc = file[start..].iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    });
    file.extend((!crc).to_be_bytes());
}

#[test]
fn unseen_colours_do_not_bleed() {
    let mut image = DynamicImage::new_rgba8(2, 1).into_rgba8();
    image.put_pixel(0, 0, Rgba([255, 0, 0, 255]));
    image.put_pixel(1, 0, Rgba([0, 255, 0, 0]));
    let small = shrunk(&encoded(&image.into(), ImageFormat::Png), 1, 1).unwrap();
    let Rgba([red, green, _, alpha]) = small.get_pixel(0, 0);
    assert!(red > 250 && green < 5, "red {red} green {green}");
    assert!((126..=129).contains(&alpha), "alpha {alpha}");
}

#[test]
fn a_photo_taken_sideways_is_turned_upright() {
    let mut jpeg = encoded(&DynamicImage::new_rgb8(40, 20), ImageFormat::Jpeg);
    // Exif with one entry: orientation 6, a quarter turn clockwise.
    let exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let mut segment = vec![0xff, 0xe1];
    segment.extend(u16::try_from(exif.len() + 2).unwrap().to_be_bytes());
    segment.extend(exif);
    jpeg.splice(2..2, segment);
    assert_eq!(shrunk(&jpeg, 10, 10).unwrap().dimensions(), (5, 10));
}

#[test]
fn what_is_no_image_is_named() {
    for (bytes, name) in [
        (&b"II*\0\x08\0\0\0"[..], "a TIFF"),
        (b"MM\0*\0\0\0\x08", "a TIFF"),
        (b"GIF89a\x01\0\x01\0", "a GIF"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "a WebP"),
        (b"\0\0\0\x1cftypavif", "an AVIF"),
        (b"hello, world", "a text"),
        ("nur Text: ä".as_bytes(), "a text"),
        (b"", "empty"),
        (b"\x89PN", "cut off"),
        (b"\x00\xfe\xfd", "unknown format"),
    ] {
        let error = refusal(bytes);
        assert_eq!(error.code(), "not-an-image");
        assert!(error.message().contains(name), "{error}");
    }
}

#[test]
fn a_file_cut_anywhere_is_broken() {
    let image = DynamicImage::new_rgb8(16, 16);
    for format in [ImageFormat::Png, ImageFormat::Jpeg] {
        let whole = encoded(&image, format);
        for length in 8..whole.len() {
            assert_eq!(
                refusal(&whole[..length]).code(),
                "broken-image",
                "{format:?} {length}"
            );
        }
    }
}

#[test]
fn a_damaged_file_is_broken() {
    let mut png = encoded(&DynamicImage::new_rgb8(64, 64), ImageFormat::Png);
    let middle = png.len() / 2;
    png[middle] ^= 0xff;
    assert_eq!(refusal(&png).code(), "broken-image");
}

#[test]
fn a_bomb_is_refused_before_it_is_decoded() {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(
        &mut png,
        b"IHDR",
        &[0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff, 8, 6, 0, 0, 0],
    );
    chunk(&mut png, b"IDAT", &[0x78, 0x01]);
    chunk(&mut png, b"IEND", &[]);
    let error = refusal(&png);
    assert_eq!(error.code(), "image-too-large");
    assert!(error.message().contains("65535 x 65535"), "{error}");
}

#[test]
fn both_headers_are_needed_and_checked() {
    let image = encoded(&DynamicImage::new_rgb8(4, 4), ImageFormat::Png);
    let run = |ctx: FakeContext| thumbnail(Bytes::new("image/png", image.clone()), &ctx);
    let error = run(FakeContext::new().with_header("height", "5")).unwrap_err();
    assert!(
        error.is_permanent() && error.message().contains("`width` is missing"),
        "{error}"
    );
    for bad in ["", "0", "-1", "10001", "1.5", "wide", "99999999999"] {
        let ctx = FakeContext::new()
            .with_header("width", "5")
            .with_header("height", bad);
        let error = run(ctx).unwrap_err();
        assert_eq!(error.code(), "bad-header");
        assert!(error.message().contains("`height` must be"), "{error}");
    }
}

#[test]
fn sample_photos_have_the_asked_size() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/photos");
    let Ok(entries) = std::fs::read_dir(folder) else {
        return; // They are no part of the project.
    };
    let mut seen = 0;
    for entry in entries {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let original = image::load_from_memory(&bytes).unwrap().dimensions();
        let small = shrunk(&bytes, 320, 240).unwrap();
        assert_eq!(
            small.dimensions(),
            fit(original, (320, 240)),
            "{}",
            path.display()
        );
        seen += 1;
    }
    assert!(seen > 0, "the folder of photos is empty");
}
