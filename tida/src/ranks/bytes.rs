//! Memory of messages.

/// Zeros and what is written over them, aligned as threads copy it.
#[derive(Debug, Default)]
pub struct Bytes {
    words: Vec<u128>,
    bytes: usize,
}

impl Bytes {
    /// So many zeros.
    pub fn new(bytes: usize) -> Bytes {
        Bytes { words: vec![0; bytes.div_ceil(size_of::<u128>())], bytes }
    }

    /// A copy of these.
    pub fn of(bytes: &[u8]) -> Bytes {
        let mut all = Bytes::new(bytes.len());
        all.as_mut_slice().copy_from_slice(bytes);
        all
    }

    /// Where they start.
    pub fn start(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }

    /// All of them.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the words have so many bytes, and any bytes are numbers.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes) }
    }

    /// All of them, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.bytes) }
    }

    /// Their memory, of which the last word may have more.
    pub fn into_words(self) -> Vec<u128> {
        self.words
    }
}
