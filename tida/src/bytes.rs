//! Numbers of bytes as people write them.

use crate::error::{Error, ErrorKind};
use crate::variables::{not_understood, text_of};

/// What a number of bytes may be, for advice.
pub(crate) const ACCEPTED: &str = "a number of bytes, such as 2000000, or of a unit, such as `2GiB`, `512 MiB` or `1.5GB` (kB MB GB TB are powers of 1000, \
     KiB MiB GiB TiB of 1024)";

/// What can be given as a number of bytes: a number, or text as in `TIDA_MEMORY_LIMIT`.
///
/// Text is a number, with a unit or without: `"2000000"`, `"2GiB"`, `"512 MiB"`, `"1.5GB"`. `kB`, `MB`, `GB` and `TB`
/// are powers of 1000; `KiB`, `MiB`, `GiB` and `TiB` are powers of 1024. Case does not matter. What a fraction of a
/// unit leaves of a byte is cut off.
///
/// ```
/// use tida::prelude::*;
/// use tida::acc::IntoBytes;
/// # fn main() -> tida::Result<()> {
/// assert_eq!(2048.number_of_bytes()?, 2048);
/// assert_eq!("2 KiB".number_of_bytes()?, 2048);
/// assert_eq!("1.5GB".number_of_bytes()?, 1_500_000_000);
/// assert_eq!("2 bytes".number_of_bytes().unwrap_err().found(), "`2 bytes`");
/// let acc = TileAcc::builder().memory_limit("2GiB").build()?;
/// # drop(acc);
/// # Ok(()) }
/// ```
pub trait IntoBytes {
    /// The bytes.
    ///
    /// # Errors
    /// Text that is no number of bytes, or more than a `u64` counts.
    fn number_of_bytes(self) -> Result<u64, Error>;
}

/// (No other integer: a plain `1 << 40` is to be this one.)
impl IntoBytes for u64 {
    fn number_of_bytes(self) -> Result<u64, Error> {
        Ok(self)
    }
}

impl IntoBytes for &str {
    fn number_of_bytes(self) -> Result<u64, Error> {
        parse(self).ok_or_else(|| {
            Error::new(ErrorKind::Argument, "read a number of bytes", format!("`{self}`"), format!("give {ACCEPTED}"))
        })
    }
}

impl IntoBytes for &String {
    fn number_of_bytes(self) -> Result<u64, Error> {
        self.as_str().number_of_bytes()
    }
}

impl IntoBytes for String {
    fn number_of_bytes(self) -> Result<u64, Error> {
        self.as_str().number_of_bytes()
    }
}

/// The bytes that a text says, if it does.
pub(crate) fn parse(text: &str) -> Option<u64> {
    /// Digits of a fraction that count.
    const DIGITS: usize = 18;
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start().to_ascii_lowercase());
    let powers = |base: u64| [base, base.pow(2), base.pow(3), base.pow(4)];
    let ([kb, mb, gb, tb], [kib, mib, gib, tib]) = (powers(1000), powers(1024));
    let units = [("", 1), ("b", 1), ("kb", kb), ("mb", mb), ("gb", gb), ("tb", tb)];
    let units = units.into_iter().chain([("kib", kib), ("mib", mib), ("gib", gib), ("tib", tib)]);
    let (_, scale) = units.into_iter().find(|(name, _)| *name == unit)?;
    let (whole, part) = match number.split_once('.') {
        // There is no part of a byte.
        Some((_, part)) if part.is_empty() || scale == 1 => return None,
        Some((whole, part)) => (whole, &part[..part.len().min(DIGITS)]),
        None => (number, "0"),
    };
    let whole = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    let part = u128::from(part.parse::<u64>().ok()?) * u128::from(scale) / 10u128.pow(part.len() as u32);
    whole.checked_add(u64::try_from(part).ok()?)
}

/// The bytes that an environment variable names, if it is set.
///
/// # Errors
/// [`ErrorKind::Argument`]: it names something else.
pub(crate) fn bytes_from(variable: &str) -> Result<Option<u64>, Error> {
    let Some(text) = text_of(variable) else { return Ok(None) };
    let advice = || format!("set it to {}, or unset it", ACCEPTED);
    parse(&text).map(Some).ok_or_else(|| not_understood(variable, &text, advice()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("0", 0),
            (" 17 ", 17),
            ("17B", 17),
            ("3kB", 3000),
            ("3 kib", 3072),
            ("512 MiB", 512 << 20),
            ("1.5GB", 1_500_000_000),
            ("1.5 GiB", 3 << 29),
            ("0.1KiB", 102),
            ("2\tTB", 2_000_000_000_000),
            ("16777215.99TiB", u64::MAX / 1_099_511_627_776 * 1_099_511_627_776 + 1_088_516_511_498),
            ("18446744073709551615", u64::MAX),
            ("1.00000000000000000000000000000001KB", 1000),
        ] {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        for text in [
            "",
            " ",
            "GiB",
            "1.5",
            "1.5B",
            "1.GB",
            ".5GB",
            "1..5GB",
            "1.5.5GB",
            "-1",
            "+1",
            "1e9",
            "0x10",
            "1 2",
            "1G",
            "2 bytes",
            "1_000",
            "18446744073709551616",
            "16777216TiB",
            "99999999TB",
            "1.١GB",
            "1 GiB!",
        ] {
            assert_eq!(parse(text), None, "{text}");
            let error = text.number_of_bytes().unwrap_err();
            assert_eq!(error.found(), format!("`{text}`"));
            assert!(error.advice().contains("`512 MiB`"), "{error}");
        }
    }
}
