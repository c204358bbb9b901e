//! A thread that takes the cells of a line one after the other.

use super::Field;
use super::kernel::{coordinates, pointers, positions};
use super::shared::Shared;
use super::text::Text;

/// The body of a thread for each cell of its line, in order. What one cell has written the next one reads from memory:
/// no other thread writes there.
pub(super) fn along(shared: &mut Shared<'_>, text: &mut Text, body: Text) {
    let Some(along) = shared.plan.along else { return };
    let (t, n) = (shared.own(&format!("t{}", along.axis)), shared.own("cells"));
    let extent = shared.field(Field::Extent(along.axis));
    pointers(shared, text);
    text.line(format!("const i32 {n} = (i32){extent};"));
    let turns = match along.backward {
        false => format!("for (i32 {t} = 0; {t} < {n}; {t}++)"),
        true => format!("for (i32 {t} = {n} - 1; {t} >= 0; {t}--)"),
    };
    text.block(turns, |text| {
        let first = shared.own("t0");
        positions(shared, text, "const ", &first);
        coordinates(shared, text);
        if shared.used.leaves {
            text.line("{");
            text.append(body.deeper(2));
            text.line("}");
            text.line(format!("{}:;", shared.own("next_cell")));
        } else {
            text.append(body.deeper(1));
        }
    });
}
