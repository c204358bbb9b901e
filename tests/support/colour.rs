//! Pictures of a field: a perceptual colour map and a PNG writer.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use crate::Result;

/// Dark blue through green to yellow, of steadily growing lightness (after matplotlib's viridis), at equal steps.
const MAP: [[u8; 3]; 11] = [
    [68, 1, 84],
    [72, 36, 117],
    [65, 68, 135],
    [53, 95, 141],
    [42, 120, 142],
    [33, 145, 140],
    [34, 168, 132],
    [68, 191, 112],
    [122, 209, 81],
    [189, 223, 38],
    [253, 231, 37],
];

/// Cells of a picture are drawn as squares of pixels, as many as keep the longer side at or below this.
const SIDE: usize = 512;

/// The colour of `x` between 0 (dark) and 1 (bright); grey for NaN.
pub fn colour(x: f64) -> [u8; 3] {
    if x.is_nan() {
        return [128; 3];
    }
    let last = MAP.len() - 1;
    let place = x.clamp(0.0, 1.0) * last as f64;
    let low = (place as usize).min(last - 1);
    let t = place - low as f64;
    std::array::from_fn(|c| {
        let (a, b) = (f64::from(MAP[low][c]), f64::from(MAP[low + 1][c]));
        (a + t * (b - a)).round() as u8
    })
}

/// Writes a plane of `height` rows of `width` values, row-major, as a PNG. The smallest finite value is darkest and
/// the largest brightest; row 0 is at the top.
pub fn write_png(path: &Path, height: usize, width: usize, values: &[f64]) -> Result<()> {
    if height == 0 || width == 0 || values.len() != height * width {
        return Err(format!(
            "tried to write a picture of {height} x {width} cells to {}; found {} values; give one value a cell",
            path.display(),
            values.len()
        )
        .into());
    }
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let (lo, hi) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let range = if hi > lo { hi - lo } else { 1.0 };
    let scale = (SIDE / height.max(width)).max(1);

    let mut pixels = Vec::with_capacity(3 * values.len() * scale * scale);
    for row in values.chunks_exact(width) {
        let line: Vec<u8> =
            row.iter().flat_map(|v| std::iter::repeat_n(colour((v - lo) / range), scale)).flatten().collect();
        for _ in 0..scale {
            pixels.extend_from_slice(&line);
        }
    }

    let file = File::create(path).map_err(|e| {
        format!("tried to create the picture {}; found: {e}; give --png a path that can be written", path.display())
    })?;
    let mut encoder =
        png::Encoder::new(BufWriter::new(file), u32::try_from(width * scale)?, u32::try_from(height * scale)?);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brighter_means_more() {
        let lightness = |x| colour(x).iter().map(|&c| u32::from(c)).sum::<u32>();
        assert!(lightness(0.0) < lightness(0.5) && lightness(0.5) < lightness(1.0));
        assert_eq!(colour(-1.0), MAP[0]);
        assert_eq!(colour(2.0), MAP[10]);
    }

    #[test]
    fn a_picture_reads_back() -> Result<()> {
        let path = std::env::temp_dir().join(format!("tida-picture-{}.png", std::process::id()));
        write_png(&path, 2, 3, &[0.0, 1.0, 2.0, 3.0, f64::NAN, 5.0])?;
        let decoder = png::Decoder::new(std::io::BufReader::new(File::open(&path)?));
        let mut reader = decoder.read_info()?;
        let mut pixels = vec![0; reader.output_buffer_size().ok_or("too large")?];
        reader.next_frame(&mut pixels)?;
        std::fs::remove_file(&path)?;
        let (width, height) = (3 * 170, 2 * 170);
        assert_eq!((reader.info().width, reader.info().height), (width, height));
        let pixel = |row: u32, column: u32| {
            let p = 3 * (row * width + column) as usize;
            [pixels[p], pixels[p + 1], pixels[p + 2]]
        };
        assert_eq!(pixel(0, 0), MAP[0]);
        assert_eq!(pixel(height - 1, width - 1), MAP[10]);
        assert_eq!(pixel(height - 1, width / 2), [128; 3]);
        Ok(())
    }

    #[test]
    fn a_wrong_number_of_values_is_an_error() {
        let error = write_png(Path::new("unused.png"), 2, 2, &[0.0; 3]).unwrap_err();
        assert!(error.to_string().contains("found 3 values"), "{error}");
    }
}
