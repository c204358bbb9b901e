//! The header of a `.npy` file: its magic, its version, and a Python dictionary of three entries.

use std::io::{self, Read, Write};

use tida_kernels::element::ScalarType;

/// What every `.npy` file starts with.
pub(in crate::array) const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Longest header read; those that NumPy writes for plain arrays are a few hundred bytes.
const LONGEST: usize = 1 << 20;

/// What a `.npy` file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) scalar: ScalarType,
    /// Whether a value is a complex number of two such.
    pub(super) complex: bool,
    /// Whether its bytes are in another order than this machine's.
    pub(super) swapped: bool,
    /// Whether the first axis is contiguous, not the last.
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
}

/// Why there is no header.
#[derive(Debug)]
pub(super) enum HeaderError {
    /// Reading failed.
    Io(io::Error),
    /// What was found instead, and what to do.
    Format(String, &'static str),
}

fn bad<T>(found: impl Into<String>) -> Result<T, HeaderError> {
    Err(HeaderError::Format(found.into(), "give a file written by `numpy.save`"))
}

impl Header {
    /// The header of values as this machine holds them, row-major.
    pub(super) fn native(scalar: ScalarType, complex: bool, shape: Vec<usize>) -> Header {
        Header { scalar, complex, swapped: false, fortran: false, shape }
    }

    /// Bytes of the data after the header; nothing if there are more than can be counted.
    pub(super) fn data_bytes(&self) -> Option<u64> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        let size = self.scalar.size() as u64 * if self.complex { 2 } else { 1 };
        self.shape.iter().try_fold(size, |n, s| n.checked_mul(*s as u64))
    }

    /// Reads a header and gives its length in bytes too.
    pub(super) fn read(file: &mut impl Read) -> Result<(Header, u64), HeaderError> {
        let mut start = [0; 8];
        exact(file, &mut start)?;
        if start.starts_with(b"PK") {
            let found = "a zip archive, as .npz files are";
            return Err(HeaderError::Format(
                found.into(),
                "read it by `restore`, or give a file written by `numpy.save`",
            ));
        }
        if &start[..6] != MAGIC {
            return bad("a file that does not start with the magic of .npy files");
        }
        let (length, before) = match start[6] {
            1 => {
                let mut length = [0; 2];
                exact(file, &mut length)?;
                (u16::from_le_bytes(length) as usize, 10)
            }
            2 | 3 => {
                let mut length = [0; 4];
                exact(file, &mut length)?;
                (u32::from_le_bytes(length) as usize, 12)
            }
            version => return bad(format!("version {version} of the .npy format")),
        };
        if length > LONGEST {
            return bad(format!("a header of {length} bytes"));
        }
        let mut text = vec![0; length];
        exact(file, &mut text)?;
        let Ok(text) = String::from_utf8(text) else { return bad("a header that is not text") };
        Ok((Header::parse(&text)?, before + length as u64))
    }

    /// Writes the header, padded so that the data starts at a multiple of 64 bytes.
    pub(super) fn write(&self, file: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let order = match self.scalar.size() {
            1 => '|',
            _ if cfg!(target_endian = "little") != self.swapped => '<',
            _ => '>',
        };
        let kind = match self.complex {
            true => format!("{order}c{}", 2 * self.scalar.size()),
            false => format!("{order}{}", code(self.scalar)),
        };
        let shape: String = self.shape.iter().map(|n| format!("{n}, ")).collect();
        // One axis keeps its comma: `(3,)`.
        let shape = if self.shape.len() == 1 { shape.trim_end() } else { shape.trim_end_matches(", ") };
        let fortran = if self.fortran { "True" } else { "False" };
        let text = format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': ({shape}), }}");
        let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
        file.write_all(MAGIC)?;
        file.write_all(&[1, 0])?;
        // At most four axes of twenty digits: far below 65536.
        file.write_all(&(length as u16).to_le_bytes())?;
        writeln!(file, "{text:<width$}", width = length - 1)
    }

    /// The header that a dictionary describes.
    fn parse(text: &str) -> Result<Header, HeaderError> {
        let mut rest = Text { rest: text };
        let (mut scalar, mut fortran, mut shape) = (None, None, None);
        rest.expect('{')?;
        while !rest.take('}') {
            let key = rest.string()?;
            rest.expect(':')?;
            match key {
                "descr" => scalar = Some(rest.scalar()?),
                "fortran_order" => fortran = Some(rest.boolean()?),
                "shape" => shape = Some(rest.shape()?),
                key => return bad(format!("a header with the unknown key {key:?}")),
            }
            if !rest.take(',') {
                rest.expect('}')?;
                break;
            }
        }
        match (scalar, fortran, shape) {
            (Some((scalar, complex, swapped)), Some(fortran), Some(shape)) if rest.rest.trim().is_empty() => {
                Ok(Header { scalar, complex, swapped, fortran, shape })
            }
            _ => bad("a header that does not say type, order and shape"),
        }
    }
}

fn exact(file: &mut impl Read, bytes: &mut [u8]) -> Result<(), HeaderError> {
    file.read_exact(bytes).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => {
            HeaderError::Format("a file that ends inside its header".into(), "give a whole .npy file")
        }
        _ => HeaderError::Io(e),
    })
}

/// What is left of a header's text.
struct Text<'a> {
    rest: &'a str,
}

impl<'a> Text<'a> {
    fn take(&mut self, c: char) -> bool {
        match self.rest.trim_start().strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, c: char) -> Result<(), HeaderError> {
        if self.take(c) { Ok(()) } else { bad(format!("a header without {c:?} where it should be")) }
    }

    /// The text up to where `end` first holds.
    fn until(&mut self, end: impl FnMut(char) -> bool) -> &'a str {
        let text = self.rest.trim_start();
        let (word, rest) = text.split_at(text.find(end).unwrap_or(text.len()));
        self.rest = rest;
        word
    }

    fn string(&mut self) -> Result<&'a str, HeaderError> {
        for quote in ['\'', '"'] {
            if self.take(quote) {
                let (text, rest) = self.rest.split_at(self.rest.find(quote).unwrap_or(self.rest.len()));
                self.rest = rest;
                self.expect(quote)?;
                return Ok(text);
            }
        }
        bad("a header without a string where it should be")
    }

    fn boolean(&mut self) -> Result<bool, HeaderError> {
        match self.until(|c| !c.is_ascii_alphabetic()) {
            "True" => Ok(true),
            "False" => Ok(false),
            word => bad(format!("a header with {word:?} for True or False")),
        }
    }

    fn shape(&mut self) -> Result<Vec<usize>, HeaderError> {
        let mut shape = Vec::new();
        self.expect('(')?;
        while !self.take(')') {
            let digits = self.until(|c| !c.is_ascii_digit());
            let Ok(n) = digits.parse() else { return bad("a header with a shape that is not whole numbers") };
            shape.push(n);
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }

    /// A type, whether a value is a complex number of two such, and whether its bytes are in another order than this
    /// machine's.
    fn scalar(&mut self) -> Result<(ScalarType, bool, bool), HeaderError> {
        let advice = "convert it by `.astype` to bool, i1, i2, i4, i8, u1, u2, u4, u8, f4, f8, c8 or c16";
        if self.rest.trim_start().starts_with('[') {
            return Err(HeaderError::Format("a structured type".into(), advice));
        }
        let text = self.string()?;
        let (order, kind) = match text.chars().next() {
            Some(c @ ('<' | '>' | '=' | '|')) => (c, &text[1..]),
            _ => ('=', text),
        };
        let (kind, complex) = match kind {
            "c8" => ("f4", true),
            "c16" => ("f8", true),
            kind => (kind, false),
        };
        let Some(scalar) = ScalarType::ALL.iter().copied().find(|scalar| code(*scalar) == kind) else {
            return Err(HeaderError::Format(format!("values of type {text:?}"), advice));
        };
        let foreign = if cfg!(target_endian = "little") { '>' } else { '<' };
        Ok((scalar, complex, order == foreign && scalar.size() > 1))
    }
}

/// What numpy calls a type: `i4` is `i32`.
fn code(scalar: ScalarType) -> String {
    let letter = match scalar {
        ScalarType::Bool => 'b',
        scalar if scalar.is_float() => 'f',
        scalar if scalar.is_signed_int() => 'i',
        _ => 'u',
    };
    format!("{letter}{}", scalar.size())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers_of_numpy_are_read() {
        let read = |text: &str| Header::parse(text).unwrap();
        let header = read("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }        \n");
        let swapped = cfg!(target_endian = "big");
        assert_eq!(
            header,
            Header { scalar: ScalarType::F64, complex: false, swapped, fortran: false, shape: vec![3, 4] }
        );
        assert_eq!(read("{'shape': (7,), 'fortran_order': True, 'descr': '|b1'}").shape, [7]);
        assert_eq!(read("{'descr': '|i1', 'fortran_order': True, 'shape': (), }").scalar, ScalarType::I8);
        assert_eq!(read("{'descr': '<u2', 'fortran_order': True, 'shape': (), }").scalar, ScalarType::U16);
        assert!(read("{'descr': '|u1', 'fortran_order': True, 'shape': (), }").shape.is_empty());
        assert!(read("{'descr': '>i4', 'fortran_order': True, 'shape': (1,2), }").swapped != swapped);
    }

    #[test]
    fn written_headers_are_read() {
        for &scalar in ScalarType::ALL {
            for (n, shape) in [vec![], vec![3], vec![usize::MAX, 2, 0, 5]].into_iter().enumerate() {
                let header = Header::native(scalar, n == 1 && scalar.is_float(), shape);
                let mut bytes = Vec::new();
                header.write(&mut bytes).unwrap();
                assert_eq!(bytes.len() % 64, 0);
                assert_eq!(bytes.last(), Some(&b'\n'));
                let (read, length) = Header::read(&mut &bytes[..]).unwrap();
                assert_eq!((read, length), (header, bytes.len() as u64));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn soup_is_an_error_not_a_panic(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "{", "}", "'descr'", "'", "\"", ":", ",", "(", ")", "[", "'<f8'", "True", "Fals", "'shape'", "3",
                    "99999999999999999999999", "-1", " ", "é", "'fortran_order'", "''", "'é8'",
                ]),
                0..16,
            ),
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            cut in any::<prop::sample::Index>(),
        ) {
            let _ = Header::parse(&words.concat());
            let _ = Header::read(&mut &bytes[..]);
            let mut whole = Vec::new();
            Header::native(ScalarType::F64, false, vec![3, 4]).write(&mut whole).unwrap();
            prop_assert!(Header::read(&mut &whole[..cut.index(whole.len())]).is_err());
        }
    }
}
