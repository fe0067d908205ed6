//! Makes thumbnails: a PNG or JPEG goes in, a small PNG comes out.

mod file;
mod shrink;

use sandhog_sdk::{Bytes, Context, Error};

sandhog_sdk::export!(thumbnail);

/// Longest side that may be asked for, in pixels.
const LONGEST: u32 = 10_000;

/// Makes a PNG that fits in headers `width` and `height`, aspect kept.
///
/// Both headers are whole numbers of pixels from 1 to 10000. The result is the largest that fits: one
/// side has the asked length. An image that fits already keeps its size, it is never enlarged. A
/// photo that says how it was held is turned upright. 16-bit samples become 8-bit ones.
///
/// Permanent failures: `bad-header`; `not-an-image` for anything but PNG and JPEG; `broken-image`
/// for a file that is cut or damaged; `image-too-large` for one that would not fit in memory.
#[sandhog_sdk::job(timeout = "30s", max_attempts = 5)]
pub fn thumbnail(image: Bytes, ctx: &Context) -> Result<Bytes, Error> {
    let asked = (side(ctx, "width")?, side(ctx, "height")?);
    let format = file::recognise(&image.bytes)?;
    let memory = file::check_whole(&image.bytes, format)?;
    let png = shrink::shrink(&image.bytes, format, memory, asked)?;
    Ok(Bytes::new("image/png", png))
}

fn side(ctx: &Context, header: &str) -> Result<u32, Error> {
    let refuse = |what: String| Error::permanent(what).with_code("bad-header");
    let text = ctx.header(header).ok_or_else(|| {
        refuse(format!(
            "header `{header}` is missing: give pixels, such as {header}=320"
        ))
    })?;
    match text.parse() {
        Ok(pixels) if (1..=LONGEST).contains(&pixels) => Ok(pixels),
        _ => Err(refuse(format!(
            "header `{header}` must be a whole number from 1 to {LONGEST}, not `{text}`"
        ))),
    }
}

#[cfg(test)]
mod tests;
