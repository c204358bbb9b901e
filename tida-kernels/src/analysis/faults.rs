//! Faults that have nothing to do with array reads, and what keeps cells from them: demands that captured values may
//! meet.

use super::symbolic::Affine;
use super::walk::Walker;
use super::{Analysis, Fit, IndexForm, Interval, NormalForm};
use crate::element::ScalarType;

/// More demands than this are given up.
const MOST: usize = 64;

/// What has to hold where a cell could raise a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// What has to have values of some kind.
    form: NormalForm,
    /// What has to hold for it to be exact.
    fits: Vec<Fit>,
    /// The loops around it, outermost first.
    loops: Vec<u32>,
    needs: Needs,
}

/// Values that raise no fault.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Needs {
    /// Those from 0 to below a number.
    Below(i64),
    /// All but 0.
    NotZero,
    /// All but 0 and -1.
    NotZeroNorMinusOne,
}

impl Needs {
    fn met(&self, by: Interval) -> bool {
        let without = |n: i64| n < by.lo || by.hi < n;
        match self {
            Needs::Below(len) => 0 <= by.lo && by.hi < *len,
            Needs::NotZero => without(0),
            Needs::NotZeroNorMinusOne => without(0) && without(-1),
        }
    }
}

impl Walker<'_> {
    /// Notes that a cell may raise a fault, and what keeps it from it.
    pub fn demand(&mut self, demand: Option<Demand>) {
        self.out.may_fault = true;
        // What a function's body holds is not known where it is called.
        match demand.filter(|_| !self.in_function) {
            Some(demand) if self.out.demands.contains(&demand) => {}
            Some(demand) if self.out.demands.len() < MOST => self.out.demands.push(demand),
            _ => self.out.faults_anyhow = true,
        }
    }

    /// The demand that an index is below a length.
    pub fn below(&self, index: Affine, len: i64) -> Demand {
        Demand { form: index.form, fits: index.fits, loops: self.loop_stack.clone(), needs: Needs::Below(len) }
    }

    /// The demand that a number divides without a fault.
    pub fn divisor(&self, by: Affine, ty: ScalarType) -> Option<Demand> {
        let fit = self.require(&by.form, ty);
        let Affine { form, fits } = by.with_fits(fit.as_slice())?;
        let needs = if ty.is_signed_int() { Needs::NotZeroNorMinusOne } else { Needs::NotZero };
        Some(Demand { form, fits, loops: self.loop_stack.clone(), needs })
    }
}

impl Analysis {
    /// Whether some cell of the box `lo..hi` (half-open) can raise a fault that has nothing to do with array reads, if
    /// captured integers have these values: as for [`Analysis::range`]. Conservative.
    pub fn faults_with(&self, lo: &[i64], hi: &[i64], captures: &[Option<Interval>]) -> bool {
        let holds = |demand: &Demand| {
            let form = [IndexForm::Affine(demand.form.clone())];
            match self.values(&demand.loops, &demand.fits, &form, Some((lo, hi)), captures) {
                Some(Some(values)) => values.iter().all(|by| demand.needs.met(*by)),
                Some(None) => true,
                None => false,
            }
        };
        self.may_fault && (self.faults_anyhow || !self.demands.iter().all(holds))
    }
}
