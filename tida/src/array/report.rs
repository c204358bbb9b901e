//! What formats cost and what they change (Salehi ch. 6 measures such errors).

use super::TileArray;
use super::coding::{ComponentReport, Compress, StorageErrors, StorageReport, paths};
use super::element::Element;
use crate::error::{Error, ErrorKind};
use tida_kernels::codec::Format;

impl<T: Element, const D: usize> TileArray<T, D> {
    /// What the array's formats cost and change: bounds of each component, values that saturated, bytes of a cell.
    /// Waits for recorded work, which may saturate more.
    ///
    /// # Errors
    /// Failed work on the array.
    pub fn storage_report(&self) -> Result<StorageReport, Error> {
        self.wait_to_read()?;
        let coding = self.layout.coding.as_deref();
        let components = paths(&T::TYPE).into_iter().enumerate().map(|(number, name)| {
            let codec = coding.and_then(|coding| coding.codec(number));
            let (absolute, relative) = codec.map_or((0.0, 0.0), |codec| codec.bound());
            let format = coding.and_then(|coding| coding.formats.get(number)).copied().unwrap_or(Format::Raw);
            ComponentReport { name, format, absolute, relative }
        });
        Ok(StorageReport {
            components: components.collect(),
            saturated: self.storage.saturated(),
            compress: coding.map_or(Compress::default(), |coding| coding.compress),
            stored_bytes: self.layout.element.bytes(),
            link_bytes: coding.map_or(T::TYPE.bytes(), |coding| coding.codes.bytes()),
            raw_bytes: T::TYPE.bytes(),
        })
    }
}

impl<T: Element + Into<f64>, const D: usize> TileArray<T, D> {
    /// The errors of the valid values against those of an array of the same shape, for one that was computed raw.
    ///
    /// # Errors
    /// An array of another shape, failed work on either, or memory for their values.
    pub fn storage_report_against(&self, raw: &TileArray<T, D>) -> Result<StorageErrors, Error> {
        if self.shape() != raw.shape() {
            return Err(Error::new(
                ErrorKind::Shape,
                format!("compare an array of shape {:?}", self.shape()),
                format!("one of shape {:?}", raw.shape()),
                "compare arrays of one shape",
            ));
        }
        let (mut errors, mut sum, mut logarithms, mut different) = (StorageErrors::default(), 0.0, 0.0, 0u64);
        let whole = self.domain();
        // A plane at a time, so that large arrays are never held twice.
        for at in whole.lo[0]..whole.hi[0] {
            let mut plane = whole;
            (plane.lo[0], plane.hi[0]) = (at, at + 1);
            for (kept, exact) in self.read_box(plane)?.into_iter().zip(raw.read_box(plane)?) {
                let (kept, exact): (f64, f64) = (kept.into(), exact.into());
                if exact == 0.0 || !exact.is_finite() {
                    continue;
                }
                let error = ((kept - exact) / exact).abs();
                errors.values += 1;
                errors.max = errors.max.max(error);
                errors.max_absolute = errors.max_absolute.max((kept - exact).abs());
                sum += error;
                if error > 0.0 {
                    logarithms += error.ln();
                    different += 1;
                }
            }
        }
        errors.mean = if errors.values > 0 { sum / errors.values as f64 } else { 0.0 };
        errors.geometric_mean = if different > 0 { (logarithms / different as f64).exp() } else { 0.0 };
        Ok(errors)
    }
}
