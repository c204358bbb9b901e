//! Whether what a program records repeats itself.

/// Longest period that is looked for.
const LONGEST: usize = 512;

/// So many words have to be like those a period before them: a loop of few turns is over by then.
const SURE: usize = 16;

/// What was recorded so far, each thing as a word: equal words are of equal things.
#[derive(Debug, Default)]
pub(crate) struct Periods {
    words: Vec<u64>,
    /// The last words are like those so many before them; 0 if they are like none.
    period: usize,
    /// How many of them are.
    alike: usize,
    /// How often a period was looked for.
    searches: u64,
}

impl Periods {
    /// Adds a word. Gives the period each time that another one of it ends, from the second on, counted from where the
    /// words began to repeat.
    pub fn add(&mut self, word: u64) -> Option<usize> {
        if self.words.len() >= 4 * LONGEST {
            self.words.drain(..2 * LONGEST);
        }
        self.words.push(word);
        let before = self.words.len().checked_sub(self.period + 1).filter(|_| self.period > 0);
        match before.is_some_and(|before| self.words[before] == word) {
            true => self.alike += 1,
            false => {
                self.searches += 1;
                (self.period, self.alike) = self.shortest().unwrap_or_default();
            }
        }
        let whole = self.period > 0 && self.alike >= self.period && self.alike.is_multiple_of(self.period);
        whole.then_some(self.period)
    }

    /// How often a period was looked for: what was found last goes on as long as this is the same.
    pub fn searches(&self) -> u64 {
        self.searches
    }

    /// The last words.
    pub fn last(&self, words: usize) -> &[u64] {
        &self.words[self.words.len().saturating_sub(words)..]
    }

    /// What comes next, if the words go on repeating.
    pub fn expected(&self) -> Option<u64> {
        let next = self.words.len().checked_sub(self.period).filter(|_| self.period > 0)?;
        self.words.get(next).copied()
    }

    /// The shortest period of the last words, and how many are like those before.
    fn shortest(&self) -> Option<(usize, usize)> {
        let last = self.words.len().checked_sub(1)?;
        (1..=LONGEST.min(last)).find_map(|period| {
            let pairs = self.words.iter().rev().zip(self.words[..=last - period].iter().rev());
            let alike = pairs.take_while(|(word, before)| word == before).count();
            (alike >= SURE).then_some((period, alike))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The periods that are found, with where.
    fn found(words: &[u64]) -> Vec<(usize, usize)> {
        let mut periods = Periods::default();
        let each = words.iter().enumerate();
        each.filter_map(|(at, word)| Some((at + 1, periods.add(*word)?))).collect()
    }

    #[test]
    fn what_repeats_is_found_from_where_it_begins() {
        let cycle = [1, 2, 1, 2, 3, 4, 1, 2, 5, 5];
        let mut words = vec![90, 91, 92];
        (0..5).for_each(|_| words.extend(cycle));
        // Once it is sure, and then each time.
        assert_eq!(found(&words), [(33, 10), (43, 10), (53, 10)]);
        let long: Vec<u64> = (0..160).map(|n| n % 40).collect();
        assert_eq!(found(&long), [(80, 40), (120, 40), (160, 40)]);
    }

    #[test]
    fn short_periods_have_to_be_seen_often_enough() {
        assert_eq!(found(&[1, 2, 1, 2, 1, 2, 1, 2]), []);
        let with_first: Vec<u64> = std::iter::once(7).chain((0..20).map(|n| n % 2)).collect();
        assert_eq!(found(&with_first), [(19, 2), (21, 2)]);
        let pairs: Vec<u64> = (0..24).map(|n| n / 2 % 2).collect();
        assert_eq!(found(&pairs), [(20, 4), (24, 4)]);
    }

    #[test]
    fn other_words_end_it() {
        let mut words: Vec<u64> = (0..30).map(|n| n % 3).collect();
        words.extend([50, 51, 52, 53]);
        words.extend((0..32).map(|n| 10 + n % 5));
        let last = found(&words).into_iter().filter(|(at, _)| *at > 30);
        assert_eq!(last.collect::<Vec<_>>(), [(59, 5), (64, 5)].to_vec());
        assert_eq!(found(&(0..2000).collect::<Vec<_>>()), []);
        // What comes next is what came a period before.
        let mut periods = Periods::default();
        (0..40).for_each(|n| _ = periods.add(n % 3));
        assert_eq!((periods.expected(), periods.last(3)), (Some(1), &[1, 2, 0][..]));
        assert_eq!(Periods::default().expected(), None);
        // Older words are forgotten.
        assert!(found(&(0..5000).map(|n| n % 7).collect::<Vec<_>>()).len() > 600);
    }
}
