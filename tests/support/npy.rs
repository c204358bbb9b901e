//! The shape of a `.npy` file, so that `--input` decides the size.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::Result;

/// Axes of the array in a `.npy` file, from its header.
pub fn shape(path: &Path) -> Result<Vec<usize>> {
    let wrong = |found: String| {
        format!("tried to read the shape of {}; found {found}; give --input a file made by numpy.save", path.display())
    };
    let mut file = File::open(path).map_err(|e| wrong(e.to_string()))?;
    let mut start = [0u8; 10];
    file.read_exact(&mut start).map_err(|e| wrong(e.to_string()))?;
    if &start[..6] != b"\x93NUMPY" {
        return Err(wrong("a file that is not .npy".into()).into());
    }
    let mut length = u32::from(u16::from_le_bytes([start[8], start[9]]));
    if start[6] > 1 {
        let mut high = [0u8; 2];
        file.read_exact(&mut high).map_err(|e| wrong(e.to_string()))?;
        length |= u32::from(u16::from_le_bytes(high)) << 16;
    }
    let mut header = String::new();
    file.take(length.into()).read_to_string(&mut header).map_err(|e| wrong(e.to_string()))?;
    parse(&header).ok_or_else(|| wrong(format!("the header {header:?}")).into())
}

/// The numbers of `'shape': (2, 3, 4)`.
fn parse(header: &str) -> Option<Vec<usize>> {
    let (_, rest) = header.split_once("'shape'")?;
    let (_, rest) = rest.split_once('(')?;
    let (numbers, _) = rest.split_once(')')?;
    numbers.split(',').map(str::trim).filter(|n| !n.is_empty()).map(|n| n.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_shape_is_found_in_the_header() {
        assert_eq!(parse("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3, 4), }"), Some(vec![2, 3, 4]));
        assert_eq!(parse("{'descr': '<f8', 'fortran_order': False, 'shape': (7,), }"), Some(vec![7]));
        assert_eq!(parse("{'descr': '<f8', 'shape': (2, x), }"), None);
        assert_eq!(parse("{}"), None);
    }
}
