//! Which work has to wait for which, and why: from what each reads and writes.

use smallvec::SmallVec;

use crate::grid::GridBox;
use crate::grid::boxes::BoxList;

/// What work needs of work before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// To come after it.
    Order,
    /// The data that it leaves in an array.
    Data,
    /// The value that the host takes from it.
    Value,
}

/// What work does with a region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before<'a> {
    pub read: Option<&'a BoxList>,
    pub write: Option<&'a BoxList>,
    /// It runs on the other side than the work that comes after it: between host and device a region moves as a whole.
    pub apart: bool,
}

/// What later work that reads and writes these boxes of the region needs of it; nothing if either may come first.
pub(crate) fn need(before: Before<'_>, read: Option<&GridBox<4>>, write: Option<&GridBox<4>>) -> Option<Need> {
    let overlaps = |cells: Option<&BoxList>, with: Option<&GridBox<4>>| {
        cells.zip(with).is_some_and(|(cells, with)| cells.overlaps(with))
    };
    if overlaps(before.write, read) {
        return Some(Need::Data);
    }
    let wrote = before.write.is_some_and(|cells| !cells.is_empty());
    let moves = before.apart && (wrote || write.is_some());
    (moves || overlaps(before.write, write) || overlaps(before.read, write)).then_some(Need::Order)
}

/// Who wrote some values last, by number, and who has read them since.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    writer: Option<usize>,
    readers: SmallVec<[usize; 8]>,
}

impl Seen {
    /// Adds who reads them; gives whose data that is.
    pub fn read(&mut self, reader: usize) -> Option<usize> {
        self.readers.push(reader);
        self.writer
    }

    /// Adds who writes them; gives all that it comes after.
    pub fn write(&mut self, writer: usize) -> impl Iterator<Item = usize> {
        self.writer.replace(writer).into_iter().chain(self.readers.drain(..))
    }
}

#[cfg(test)]
mod tests {
    use super::{Before, Need, Seen, need};
    use crate::grid::GridBox;
    use crate::grid::boxes::BoxList;

    fn cells(from: i64, to: i64) -> GridBox<4> {
        GridBox::new([0, 0, 0, from], [1, 1, 1, to])
    }

    /// A piece of work as words: `r0-4` reads those cells, `w0-4` writes them.
    fn boxes(words: &str) -> [Option<GridBox<4>>; 2] {
        ['r', 'w'].map(|kind| {
            let (from, to) = words.split(' ').find_map(|word| word.strip_prefix(kind))?.split_once('-')?;
            Some(cells(from.parse().ok()?, to.parse().ok()?))
        })
    }

    #[test]
    fn work_waits_for_what_it_conflicts_with() {
        for (first, later, together, apart) in [
            // Readers need nothing of each other.
            ("r0-4", "r0-4", None, None),
            ("r0-4", "r4-8", None, None),
            // Data, where cells are read that were written; only order, where none are.
            ("w0-4", "r3-8", Some(Need::Data), Some(Need::Data)),
            ("w0-4", "r4-8", None, Some(Need::Order)),
            ("w0-4", "w3-8", Some(Need::Order), Some(Need::Order)),
            ("w0-4", "w4-8", None, Some(Need::Order)),
            ("r0-4", "w3-8", Some(Need::Order), Some(Need::Order)),
            ("r0-4", "w4-8", None, Some(Need::Order)),
            // Both at once.
            ("r0-4 w8-9", "r8-9 w0-1", Some(Need::Data), Some(Need::Data)),
            ("r0-4 w8-9", "r9-10 w3-4", Some(Need::Order), Some(Need::Order)),
            ("r0-4 w8-9", "r9-10 w4-8", None, Some(Need::Order)),
        ] {
            let lists = boxes(first).map(|cells| {
                cells.map(|cells| {
                    let mut list = BoxList::default();
                    list.add(cells);
                    list
                })
            });
            let [read, write] = boxes(later);
            for (apart, expected) in [(false, together), (true, apart)] {
                let before = Before { read: lists[0].as_ref(), write: lists[1].as_ref(), apart };
                assert_eq!(need(before, read.as_ref(), write.as_ref()), expected, "{first}, {later}, {apart}");
            }
        }
    }

    #[test]
    fn writers_come_after_all_that_read_the_values_before() {
        let mut seen = Seen::default();
        assert_eq!(seen.read(0), None);
        assert_eq!(seen.write(1).collect::<Vec<_>>(), [0]);
        assert_eq!([seen.read(2), seen.read(3)], [Some(1), Some(1)]);
        assert_eq!(seen.write(4).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(seen.write(5).collect::<Vec<_>>(), [4]);
    }
}
