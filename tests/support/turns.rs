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

/// A form of the work.
pub type Form<'a, E = tida::Error> = Box<dyn FnMut() -> Result<(), E> + 'a>;

/// Times each form once a round, from the same start; who comes first changes.
///
/// # Errors
/// The first of a form.
pub fn in_turn<E>(rounds: usize, forms: &mut [Form<'_, E>]) -> Result<Vec<Took>, E> {
    let mut times = vec![Vec::with_capacity(rounds); forms.len()];
    for round in 0..rounds {
        for n in 0..forms.len() {
            let form = (n + round) % forms.len();
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
