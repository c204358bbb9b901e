//! What ranks that write or read files together tell one another.

use tida::{ErrorKind, TileAcc};

use crate::{Error, Result};

/// Kinds of errors that files have.
const KINDS: [ErrorKind; 9] = [
    ErrorKind::Io,
    ErrorKind::Format,
    ErrorKind::Argument,
    ErrorKind::Shape,
    ErrorKind::Memory,
    ErrorKind::OutOfRange,
    ErrorKind::Division,
    ErrorKind::Panic,
    ErrorKind::Device,
];

/// A result as bytes.
pub(crate) fn packed(result: Result<Vec<u8>>) -> Vec<u8> {
    match result {
        Ok(bytes) => [&[0], &bytes[..]].concat(),
        Err(e) => {
            let kind = KINDS.iter().position(|kind| *kind == e.kind()).unwrap_or(0) as u8;
            [&[1, kind], [e.tried(), e.found(), e.advice()].join("\0").as_bytes()].concat()
        }
    }
}

/// The result that a rank has packed.
pub(crate) fn unpacked(rank: usize, bytes: &[u8]) -> Result<Vec<u8>> {
    match bytes {
        [0, bytes @ ..] => Ok(bytes.to_vec()),
        [1, kind, text @ ..] => {
            let text = String::from_utf8_lossy(text);
            let mut parts = text.split('\0');
            let mut part = || parts.next().unwrap_or_default().to_owned();
            let (tried, found, advice) = (part(), part(), part());
            let kind = KINDS.get(usize::from(*kind)).copied().unwrap_or(ErrorKind::Io);
            Err(Error::new(kind, tried, format!("{found}, on rank {rank}"), advice))
        }
        _ => {
            let found = format!("bytes of rank {rank} that say nothing");
            Err(Error::new(ErrorKind::Ranks, "work on files with other ranks", found, "report this as a bug of tida"))
        }
    }
}

/// That all arrays lie on as many ranks.
///
/// # Errors
/// Arrays of one rank beside arrays of several.
pub(crate) fn one_acc<'a>(mut all: impl Iterator<Item = &'a TileAcc>, tried: &str) -> Result<()> {
    let Some(first) = all.next() else { return Ok(()) };
    match all.find(|acc| acc.ranks() != first.ranks()) {
        None => Ok(()),
        Some(other) => {
            let found = format!("arrays on {} ranks beside arrays on {}", first.ranks(), other.ranks());
            let advice = "give arrays that all ranks have, or arrays that this rank alone has";
            Err(Error::new(ErrorKind::Ranks, tried, found, advice))
        }
    }
}

/// Gives all ranks a result, and waits for theirs. Each makes this call.
///
/// # Errors
/// That of the first rank that has one; ranks that run different programs.
#[track_caller]
pub(crate) fn agree(acc: &TileAcc, own: Result<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
    if acc.ranks() == 1 {
        return own.map(|own| vec![own]);
    }
    let said = own.as_ref().err().cloned();
    let all = acc.exchange(Ok(packed(own)))?;
    let all = all.iter().enumerate().map(|(rank, bytes)| match &said {
        Some(e) if rank == acc.rank() => Err(e.clone()),
        _ => unpacked(rank, bytes),
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_back() {
        assert_eq!(unpacked(3, &packed(Ok(vec![1, 2]))).unwrap(), [1, 2]);
        let e = unpacked(3, &packed(Err(Error::format("read a", "nothing", "write it")))).unwrap_err();
        assert_eq!((e.kind(), e.tried(), e.advice()), (ErrorKind::Format, "read a", "write it"));
        assert_eq!(e.found(), "nothing, on rank 3");
        assert!(unpacked(0, &[]).is_err());
    }
}
