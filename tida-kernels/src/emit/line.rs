//! A thread that takes the cells of a line one after the other.

use super::Field;
use super::ahead;
use super::chunks::Chunks;
use super::kernel::{coordinates, pointers, positions};
use super::shared::Shared;
use super::text::Text;
use crate::analysis::Analysis;
use crate::plan::lines::{Staged, staged};

/// The body of a thread for each cell of its line, in order. What one cell has written the next one reads from memory:
/// no other thread writes there.
pub(super) fn along(shared: &mut Shared<'_>, text: &mut Text, body: Text, analysis: &Analysis) {
    let Some(along) = shared.plan.along else { return };
    let (t, n) = (shared.own(&format!("t{}", along.axis)), shared.own("cells"));
    let extent = shared.field(Field::Extent(along.axis));
    pointers(shared, text);
    text.line(format!("const i32 {n} = (i32){extent};"));
    if let Some(staged) = staged(shared.kernel, analysis, &along).filter(|_| along.columns > 0) {
        let staged: Vec<Staged> = staged.into_iter().filter(|one| shared.used.args.contains(&one.arg)).collect();
        return Chunks::of(shared, along, &staged).write(shared, text, body);
    }
    // A label is one of its function: bodies that leave loops are written once.
    let ahead = staged(shared.kernel, analysis, &along).filter(|_| along.ahead > 0 && !shared.used.leaves);
    if let Some(staged) = ahead {
        let staged: Vec<Staged> = staged.into_iter().filter(|one| shared.used.args.contains(&one.arg)).collect();
        return ahead::write(shared, text, &body, along, &staged);
    }
    let turns = match along.backward {
        false => format!("for (i32 {t} = 0; {t} < {n}; {t}++)"),
        true => format!("for (i32 {t} = {n} - 1; {t} >= 0; {t}--)"),
    };
    text.block(turns, |text| {
        let first = shared.own("t0");
        positions(shared, text, "const ", &first);
        coordinates(shared, text);
        cell(shared, text, body);
    });
}

/// Where a line along an axis starts in the memory of a group: the thread's own, or the one whose number along another
/// axis is given.
pub(super) fn start(shared: &mut Shared<'_>, group: u8, run: usize, other: Option<(usize, String)>) -> String {
    let (rank, cast) = (shared.kernel.rank, if shared.plan.narrow { "(i32)" } else { "" });
    let mut place = format!("{cast}{}", shared.field(Field::First(group.into())));
    for axis in (0..rank).filter(|axis| *axis != run) {
        let number = match &other {
            Some((of, number)) if *of == axis => number.clone(),
            _ => shared.own(&format!("t{axis}")),
        };
        place += &if axis + 1 == rank {
            format!(" + {number}")
        } else {
            format!(" + {number} * {}", shared.stride(group, axis))
        };
    }
    place
}

/// The body of one cell.
pub(super) fn cell(shared: &mut Shared<'_>, text: &mut Text, body: Text) {
    let depth = text.depth;
    if shared.used.leaves {
        text.line("{");
        text.append(body.deeper(depth));
        text.line("}");
        text.line(format!("{}:;", shared.own("next_cell")));
    } else {
        text.append(body.deeper(depth - 1));
    }
}
