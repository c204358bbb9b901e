//! Timing forms of the same work in turn, so that a clock that drifts drifts for all.

use std::time::Instant;

/// What a form took: seconds.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// The middle of the rounds.
    pub median: f64,
    /// The fastest of them.
    pub fastest: f64,
}

/// Times each form once a round, from the same start; who comes first changes.
///
/// # Errors
/// The first of a form.
pub fn in_turn<E>(rounds: usize, forms: &mut [Box<dyn FnMut() -> Result<(), E> + '_>]) -> Result<Vec<Took>, E> {
    let mut times = vec![Vec::with_capacity(rounds); forms.len()];
    for round in 0..rounds {
        for form in (0..forms.len()).map(|n| (n + round) % forms.len()) {
            let start = Instant::now();
            forms[form]()?;
            times[form].push(start.elapsed().as_secs_f64());
        }
    }
    let took = times.into_iter().map(|mut times| {
        times.sort_unstable_by(f64::total_cmp);
        let [median, fastest] = [rounds / 2, 0].map(|at| times.get(at).copied().unwrap_or(f64::NAN));
        Took { median, fastest }
    });
    Ok(took.collect())
}
