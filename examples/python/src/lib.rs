//! Heat in a plane, as a module of Python.
//!
//! ```python
//! import numpy, heat2d
//! u = numpy.zeros((200, 300)); u[100, 150] = 1.0
//! heat = heat2d.Heat(u, rate=0.2)
//! heat.run(1000)
//! u = heat.values()
//! ```
//!
//! Values are read where NumPy has them, whatever the strides, and what is given back is moved to NumPy, not copied.
//! Python goes on with other threads while a call computes.

use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tida::prelude::*;

/// What tida says becomes an exception.
fn raised(e: tida::Error) -> PyErr {
    match e.kind() {
        ErrorKind::Shape | ErrorKind::Argument => PyValueError::new_err(e.to_string()),
        _ => PyRuntimeError::new_err(e.to_string()),
    }
}

/// Heat in a plane whose edges are kept at 0.
#[pyclass]
#[derive(Debug)]
pub struct Heat {
    rate: f64,
    u: TileArray<f64, 2>,
    next: TileArray<f64, 2>,
}

#[pymethods]
impl Heat {
    /// Starts with the values of a plane of `float64`.
    #[new]
    #[pyo3(signature = (values, rate = 0.2))]
    fn new(values: PyReadonlyArray2<'_, f64>, rate: f64) -> PyResult<Heat> {
        let values = values.as_array();
        let acc = TileAcc::auto().map_err(raised)?;
        let builder = TileArray::<f64, 2>::builder([values.nrows(), values.ncols()]);
        let builder = builder.ghost(1).boundary(Boundary::Fixed(0.0));
        let u = builder.build_ndarray(&acc, &values).map_err(raised)?;
        let next = u.like().map_err(raised)?;
        Ok(Heat { rate, u, next })
    }

    /// Computes steps.
    fn run(&mut self, py: Python<'_>, steps: usize) -> PyResult<()> {
        py.detach(|| self.steps(steps)).map_err(raised)
    }

    /// The sum of all values.
    fn total(&self, py: Python<'_>) -> PyResult<f64> {
        py.detach(|| reduce(&self.u, Sum, kernel!(|u, at| u[at]))).map_err(raised)
    }

    /// The values.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values = py.detach(|| self.u.to_ndarray()).map_err(raised)?;
        Ok(values.into_pyarray(py))
    }
}

impl Heat {
    fn steps(&mut self, steps: usize) -> tida::Result<()> {
        let rate = self.rate;
        for _ in 0..steps {
            self.u.fill_ghosts()?;
            for tile in self.u.tiles() {
                compute(
                    &tile,
                    (&mut self.next, &self.u),
                    kernel!(|next, u, at| {
                        let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
                        next[at] = u[at] + rate * (around - 4.0 * u[at]);
                    }),
                )?;
            }
            std::mem::swap(&mut self.u, &mut self.next);
        }
        Ok(())
    }
}

/// Heat in a plane, by tida.
#[pymodule]
fn heat2d(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Heat>()
}
