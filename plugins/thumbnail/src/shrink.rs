//! From the file's bytes to the small PNG's, within the sandbox's memory.

use std::io::Cursor;

use image::codecs::jpeg::JpegDecoder;
use image::codecs::png::PngDecoder;
use image::metadata::Orientation;
use image::{ColorType, DynamicImage, ImageDecoder, ImageError, ImageFormat};
use sandhog_sdk::Error;

use crate::file::{Memory, broken};

/// What one image may take, in bytes. The sandbox has 128 MiB; the rest is for the file itself, a
/// decoder's tables and the result.
const BUDGET: u64 = 96 << 20;

/// Decodes, turns upright, shrinks to fit in `asked` (width, height) and encodes as PNG.
pub(crate) fn shrink(
    bytes: &[u8],
    format: ImageFormat,
    memory: Memory,
    asked: (u32, u32),
) -> Result<Vec<u8>, Error> {
    let file = Cursor::new(bytes);
    match format {
        ImageFormat::Png => finish(PngDecoder::new(file).map_err(unreadable)?, memory, asked),
        _ => finish(JpegDecoder::new(file).map_err(unreadable)?, memory, asked),
    }
}

fn finish(
    mut decoder: impl ImageDecoder,
    memory: Memory,
    asked: (u32, u32),
) -> Result<Vec<u8>, Error> {
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let original = decoder.dimensions();
    // The asked sides are those of the upright image, which may lie on its side in the file.
    let (width, height) = if is_turned(orientation) {
        let (height, width) = fit((original.1, original.0), asked);
        (width, height)
    } else {
        fit(original, asked)
    };
    check_memory(&decoder, memory, (width, height))?;
    let mut image = DynamicImage::from_decoder(decoder).map_err(unreadable)?;
    if (width, height) != original {
        multiply_by_alpha(&mut image);
        image = image.thumbnail_exact(width, height);
        divide_by_alpha(&mut image);
    }
    image.apply_orientation(orientation);
    let image = eight_bit(image);
    let mut png = Cursor::new(Vec::new());
    image
        .write_to(&mut png, ImageFormat::Png)
        .map_err(unreadable)?;
    Ok(png.into_inner())
}

fn is_turned(orientation: Orientation) -> bool {
    matches!(
        orientation,
        Orientation::Rotate90
            | Orientation::Rotate270
            | Orientation::Rotate90FlipH
            | Orientation::Rotate270FlipH
    )
}

/// The largest size with the aspect of `original` that is no larger than it or than `asked`. Sides
/// are rounded to the nearest pixel and never 0.
pub(crate) fn fit(original: (u32, u32), asked: (u32, u32)) -> (u32, u32) {
    let (width, height) = (u64::from(original.0), u64::from(original.1));
    let (most_wide, most_high) = (u64::from(asked.0), u64::from(asked.1));
    if width <= most_wide && height <= most_high {
        return original;
    }
    let scaled = |side: u64, to: u64, of: u64| {
        let rounded = (side * to + of / 2) / of;
        u32::try_from(rounded.max(1)).unwrap_or(u32::MAX)
    };
    if width * most_high <= height * most_wide {
        (scaled(width, most_high, height), asked.1)
    } else {
        (asked.0, scaled(height, most_wide, width))
    }
}

/// Refuses what could not be decoded in the sandbox, before a byte of it is allocated.
fn check_memory(
    decoder: &impl ImageDecoder,
    memory: Memory,
    result: (u32, u32),
) -> Result<(), Error> {
    let decoded = decoder.total_bytes();
    let coefficients = match memory {
        Memory::Rows => 0,
        Memory::Coefficients => decoded.saturating_mul(2),
    };
    let pixel = u64::from(decoder.color_type().bytes_per_pixel());
    // The result exists up to twice, when its samples are narrowed or it is turned.
    let result = u64::from(result.0) * u64::from(result.1) * pixel * 2;
    let needed = decoded.saturating_add(coefficients).saturating_add(result);
    if needed <= BUDGET {
        return Ok(());
    }
    let (width, height) = decoder.dimensions();
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    Err(Error::permanent(format!(
        "an image of {width} x {height} pixels needs {} MiB, more than the {} MiB there are for it",
        mib(needed),
        mib(BUDGET)
    ))
    .with_code("image-too-large")
    .with_detail("width", width)
    .with_detail("height", height))
}

fn unreadable(error: ImageError) -> Error {
    broken(format!("the image cannot be read: {error}"))
}

/// Averaging must not mix in the colour of pixels nobody sees.
fn multiply_by_alpha(image: &mut DynamicImage) {
    let weigh = |sample: u32, alpha: u32, full: u32| (sample * alpha + full / 2) / full;
    by_alpha(image, weigh);
}

fn divide_by_alpha(image: &mut DynamicImage) {
    let unweigh = |sample: u32, alpha: u32, full: u32| match alpha {
        0 => 0,
        _ => ((sample * full + alpha / 2) / alpha).min(full),
    };
    by_alpha(image, unweigh);
}

fn by_alpha(image: &mut DynamicImage, change: impl Fn(u32, u32, u32) -> u32) {
    match image {
        DynamicImage::ImageLumaA8(pixels) => each_pixel(pixels, 2, u8::MAX, change),
        DynamicImage::ImageRgba8(pixels) => each_pixel(pixels, 4, u8::MAX, change),
        DynamicImage::ImageLumaA16(pixels) => each_pixel(pixels, 2, u16::MAX, change),
        DynamicImage::ImageRgba16(pixels) => each_pixel(pixels, 4, u16::MAX, change),
        _ => {}
    }
}

/// Changes each sample by its pixel's alpha, which is the last of its `channels`.
fn each_pixel<T>(samples: &mut [T], channels: usize, full: T, change: impl Fn(u32, u32, u32) -> u32)
where
    T: Copy + Into<u32> + TryFrom<u32>,
{
    for pixel in samples.chunks_exact_mut(channels) {
        let Some((alpha, colours)) = pixel.split_last_mut() else {
            continue;
        };
        for sample in colours {
            let changed = change((*sample).into(), (*alpha).into(), full.into());
            *sample = T::try_from(changed).unwrap_or(full);
        }
    }
}

fn eight_bit(image: DynamicImage) -> DynamicImage {
    match image.color() {
        ColorType::L16 => DynamicImage::ImageLuma8(image.into_luma8()),
        ColorType::La16 => DynamicImage::ImageLumaA8(image.into_luma_alpha8()),
        ColorType::Rgb16 => DynamicImage::ImageRgb8(image.into_rgb8()),
        ColorType::Rgba16 => DynamicImage::ImageRgba8(image.into_rgba8()),
        _ => image,
    }
}
