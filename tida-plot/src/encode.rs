//! Canvases as PNG, and several as APNG.

use std::path::Path;

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError, Filter};

use crate::canvas::Canvas;
use crate::{Error, Result};

/// Whether a name ends as the file that is to be written.
pub fn check_ending(path: &Path, what: &str) -> Result<()> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("png" | "apng") => Ok(()),
        _ => Err(Error::new(
            format!("write {what} to {}", path.display()),
            "a name with another ending",
            "end it in .png",
        )),
    }
}

/// Writes one canvas as a picture, or several of one size as an animation that goes on forever.
pub fn write(path: &Path, what: &str, frames: &[Canvas], milliseconds: u16) -> Result<()> {
    check_ending(path, what)?;
    let tried = || format!("write {what} to {}", path.display());
    let bytes = encoded(frames, milliseconds)
        .map_err(|e| Error::new(tried(), e.to_string(), "draw fewer or smaller pictures").caused_by(e))?;
    std::fs::write(path, bytes)
        .map_err(|e| Error::new(tried(), e.to_string(), "give a path that can be written").caused_by(e))
}

fn encoded(frames: &[Canvas], milliseconds: u16) -> Result<Vec<u8>, EncodingError> {
    let mut bytes = Vec::new();
    let Some(first) = frames.first() else { return Ok(bytes) };
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let mut encoder = Encoder::new(&mut bytes, number(first.width), number(first.height));
    encoder.set_color(ColorType::Indexed);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_palette(first.palette.concat());
    // Neighbours in a palette are no neighbours in value: filters only disturb.
    encoder.set_filter(Filter::NoFilter);
    encoder.set_compression(Compression::High);
    if frames.len() > 1 {
        encoder.set_animated(number(frames.len()), 0)?;
        encoder.set_frame_delay(milliseconds, 1000)?;
    }
    let mut writer = encoder.write_header()?;
    for frame in frames {
        writer.write_image_data(&frame.pixels)?;
    }
    writer.finish()?;
    Ok(bytes)
}
