//! What a run says when it ends: one JSON object, or a summary to read.

use serde::{Deserialize, Serialize};

/// What a run measured. Its JSON form is what `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Name of the example.
    pub example: String,
    /// Where it ran: `cpu`, later `cuda`, `opencl`, `sim`.
    pub device: String,
    /// Element type: `f64`, `f32`, `u8`.
    pub dtype: String,
    /// Cells along each axis.
    pub size: Size,
    /// Number of axes.
    pub dims: usize,
    /// Steps done.
    pub steps: u64,
    /// Number of regions.
    pub regions: usize,
    /// Cells × steps over `seconds`.
    pub cells_per_second: f64,
    /// Seconds of the stepping loop: waiting for its end is included, set-up is not.
    pub seconds: f64,
    /// Largest difference from plain loops, with `--verify`.
    pub max_abs_error: Option<f64>,
    /// Bytes copied to a device.
    pub h2d_bytes: u64,
    /// Bytes copied from a device.
    pub d2h_bytes: u64,
}

/// Cells along each axis: one number if all are equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Size {
    /// The same on every axis.
    Equal(usize),
    /// One number an axis, slowest first.
    Each(Vec<usize>),
}

impl Size {
    /// The size of an array of this shape.
    pub fn of(shape: &[usize]) -> Size {
        match shape {
            [first, rest @ ..] if rest.iter().all(|n| n == first) => Size::Equal(*first),
            _ => Size::Each(shape.to_vec()),
        }
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Report { example, device, dtype, dims, steps, regions, seconds, .. } = self;
        let shape = match &self.size {
            Size::Equal(n) => vec![*n; *dims],
            Size::Each(shape) => shape.clone(),
        };
        let shape = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        let s = |n: u64| if n == 1 { "" } else { "s" };
        let (of_regions, of_steps) = (s(*regions as u64), s(*steps));
        writeln!(
            f,
            "{example} on {device}: {shape} cells of {dtype} in {regions} region{of_regions}, {steps} step{of_steps}"
        )?;
        write!(f, "  {seconds:.3} s, {:.1} million cells a second", self.cells_per_second / 1e6)?;
        match self.max_abs_error {
            Some(0.0) => write!(f, "\n  verified: the same bits as plain loops"),
            Some(e) => write!(f, "\n  verified: largest difference from plain loops {e:e}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_object_has_the_agreed_keys() {
        let report = Report {
            example: "heat".into(),
            device: "cpu".into(),
            dtype: "f64".into(),
            size: Size::of(&[8, 8]),
            dims: 2,
            steps: 3,
            regions: 1,
            cells_per_second: 96.0,
            seconds: 2.0,
            max_abs_error: None,
            h2d_bytes: 0,
            d2h_bytes: 0,
        };
        assert_eq!(
            serde_json::to_string(&report).unwrap(),
            r#"{"example":"heat","device":"cpu","dtype":"f64","size":8,"dims":2,"steps":3,"regions":1,"cells_per_second":96.0,"seconds":2.0,"max_abs_error":null,"h2d_bytes":0,"d2h_bytes":0}"#
        );
        assert_eq!(serde_json::to_string(&Size::of(&[8, 9])).unwrap(), "[8,9]");
        assert!(report.to_string().starts_with("heat on cpu: 8 x 8 cells of f64 in 1 region, 3 steps\n"));
        let report = Report { steps: 1, regions: 2, ..report };
        assert!(report.to_string().starts_with("heat on cpu: 8 x 8 cells of f64 in 2 regions, 1 step\n"));
    }
}
