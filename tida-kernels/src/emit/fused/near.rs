//! What the threads of a warp tell each other by shuffles.
//!
//! A warp has a row of the tile. What its threads read of each other on one plane they ask for when a step reads it;
//! what they read on several planes they ask for when it is the highest of them, and keep.

use super::{Streams, moved_down};
use crate::emit::shared::Shared;
use crate::emit::text::Text;
use crate::plan::Dialect;
use crate::plan::fuse::Place;

impl Streams<'_> {
    /// A value of another thread of the warp on a plane: kept of a step, or asked for by the step that reads it.
    pub(super) fn told(&self, shared: &mut Shared<'_>, step: i64, place: &Place) -> Option<String> {
        let asked = self.fused.at_once(place).then_some((place.cell, place.thread[1]))?;
        let planes = *self.shuffles.get(&asked)?;
        let names = self.told_names(shared, step, (self.shuffles.range(..asked).count(), planes));
        names.into_iter().nth((place.plane - planes[0]) as usize)
    }

    /// The variables of what is told, of each of its planes: those of several are kept of each step.
    fn told_names(&self, shared: &mut Shared<'_>, step: i64, (number, [lo, hi]): (usize, [i64; 2])) -> Vec<String> {
        match lo < hi {
            true => (0..=hi - lo).map(|plane| shared.own(&format!("told_{step}_{number}_{plane}"))).collect(),
            false => vec![shared.own(&format!("told_{number}"))],
        }
    }

    /// Variables for what is kept.
    pub(super) fn told_before(&self, shared: &mut Shared<'_>, text: &mut Text) {
        for step in 0..self.depth() {
            for one in self.shuffles.values().copied().enumerate().filter(|(_, [lo, hi])| lo < hi) {
                let names: Vec<String> =
                    self.told_names(shared, step, one).into_iter().map(|name| name + self.zero()).collect();
                text.line(format!("{} {};", self.ty, names.join(", ")));
            }
        }
    }

    /// Room for shuffles of devices that have none.
    pub(super) fn board(&self, shared: &mut Shared<'_>, text: &mut Text) {
        let furthest = self.shuffles.keys().map(|(_, by)| by.abs()).max().unwrap_or(0);
        if furthest == 0 || shared.dialect() == Dialect::Cuda {
            return;
        }
        let [x, y, _] = self.block.map(i64::from);
        let (board, mine, dialect) = (shared.own("board"), shared.own("mine_on_board"), shared.dialect());
        text.line(format!("{} {} {board}[{}];", dialect.shared(), self.ty, x * y + 2 * furthest));
        let rows = if y > 1 { format!(" + (i32){} * {x}", dialect.thread(1)) } else { String::new() };
        text.line(format!("const i32 {mine} = {furthest} + (i32){}{rows};", dialect.thread(0)));
    }

    /// Asks for what a step reads of the step before it.
    pub(super) fn ask(&self, shared: &mut Shared<'_>, text: &mut Text, step: i64) {
        for (number, ((cell, by), [lo, hi])) in self.shuffles.iter().enumerate() {
            let value = self.kept(shared, step - 1, *cell, hi - self.stream.lowest);
            let names = self.told_names(shared, step - 1, (number, [*lo, *hi]));
            if lo < hi {
                text.line(moved_down(&names).trim_end());
            }
            let newest = &names[names.len() - 1];
            let head = if lo < hi { newest.clone() } else { format!("const {} {newest}", self.ty) };
            match shared.dialect() {
                Dialect::Cuda => {
                    let way = if *by < 0 { "up" } else { "down" };
                    text.line(format!("{head} = __shfl_{way}_sync(0xffffffffu, {value}, {});", by.abs()));
                }
                Dialect::OpenCl => {
                    let (board, mine) = (shared.own("board"), shared.own("mine_on_board"));
                    text.line(format!("{board}[{mine}] = {value};"));
                    text.line(shared.dialect().barrier());
                    let sign = if *by < 0 { '-' } else { '+' };
                    text.line(format!("{head} = {board}[{mine} {sign} {}];", by.abs()));
                    text.line(shared.dialect().barrier());
                }
            }
        }
    }
}
