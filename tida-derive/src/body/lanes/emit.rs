//! Rust for blocks of cells, from phases and loops.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote_spanned;
use tida_quote::quote::{ExprKind, LocalId};

use super::{Again, Form, Loaded, Maker, Part, Phase, Turns, UNROLLED, block, lane_of, out};
use crate::body::nest::Class;
use crate::expand::own;

/// Turns of a loop that run at once; as `tida` has them.
const TURNS: usize = 4;

/// What a phase does around its statements.
struct Around<'a> {
    /// Locals that are made again.
    again: Vec<&'a TokenStream>,
    /// What the cell has kept.
    loads: TokenStream,
    /// What it keeps.
    stores: TokenStream,
}

impl<'a> Maker<'a> {
    pub(super) fn emit(&self, parts: &[Part<'a>], form: &Form<'_>) -> TokenStream {
        let part = |part: &Part<'a>| match part {
            Part::Once(native) => (*native).clone(),
            Part::Phase(phase) => self.phase(phase, form),
            Part::Loop(turns, parts) => self.turns(turns, parts, form),
        };
        parts.iter().map(part).collect()
    }

    /// A loop: some turns at once where there is one phase in it, so that what a cell keeps stays in registers for
    /// them.
    fn turns(&self, turns: &Turns, parts: &[Part<'a>], form: &Form<'_>) -> TokenStream {
        let Turns { variable, range, .. } = turns;
        let one = self.emit(parts, form);
        let Some((once, phase)) = alone(parts).filter(|(_, phase)| self.may_unroll(phase, form)) else {
            return quote_spanned!(own()=> for #variable in #range { #one });
        };
        let private = |name: &str| self.body.private(name, own());
        let (some, near_turns, (block, at)) = (private("turns"), private("near_turns"), (block(), form.at));
        let Around { again, loads, stores } = self.around(phase, form);
        let steps = phase.steps.iter().map(|step| &step.native);
        let body = quote_spanned!(own()=> #(#once)* #(#again)* #(#steps)*);
        let each = (0..TURNS).map(|n| {
            let n = Literal::usize_unsuffixed(n);
            quote_spanned!(own()=> { let #variable = __tida_turns[#n]; #body })
        });
        let cells = self.each_cell(form, &quote_spanned!(own()=> #loads #(#each)* #stores));
        let all = self.each_row(&cells);
        let near = self.near(phase);
        let found = near.iter().map(|(name, indexes)| {
            quote_spanned!(own()=> #near_turns(
                #name, #block, __tida_turns, #[inline(always)] |#variable, #at| { #(#once)* #(#again)* [#(#indexes),*] }
            ))
        });
        let names: Vec<_> = near.iter().map(|(name, _)| name).collect();
        let none = names.iter().map(|_| quote_spanned!(own()=> ::core::option::Option::None));
        quote_spanned! {own()=> {
            let mut __tida_range = #range;
            loop {
                let (__tida_turns, __tida_count) = #some(&mut __tida_range);
                let __tida_whole = __tida_count == __tida_turns.len();
                let __tida_near = if __tida_whole { (true, #(#found,)*) } else { (false, #(#none,)*) };
                if let (true, #(::core::option::Option::Some(#names),)*) = __tida_near {
                    #(let #names = &#names;)*
                    #all
                } else {
                    for #variable in __tida_turns.into_iter().take(__tida_count) { #one }
                    if !__tida_whole {
                        break;
                    }
                }
            }
        }}
    }

    /// Whether some turns of a loop around this phase can run at once.
    fn may_unroll(&self, phase: &Phase<'a>, form: &Form<'_>) -> bool {
        phase.nodes <= UNROLLED && !phase.bound.iter().any(|local| form.held.contains(local))
    }

    /// A phase: rows, and the cells of each.
    fn phase(&self, phase: &Phase<'a>, form: &Form<'_>) -> TokenStream {
        let private = |name: &str| self.body.private(name, own());
        let (put, block, out, at) = (private("put"), block(), out(), form.at);
        let Around { again, loads, stores } = self.around(phase, form);
        let count = phase.steps.len() - usize::from(phase.gives);
        let steps = phase.steps[..count].iter().map(|step| &step.native);
        let value = phase.steps[count..].iter().map(|step| {
            let native = &step.native;
            quote_spanned!(own()=> {
                let __tida_value = { #native };
                // SAFETY: the row and the column are of the block.
                unsafe { #put(#out, __tida_row, __tida_column, __tida_value) };
            })
        });
        let body = quote_spanned!(own()=> #(#again)* #loads #(#steps)* #stores #(#value)*);
        let each = self.each_cell(form, &body);
        let near = self.near(phase);
        if near.is_empty() {
            return self.each_row(&each);
        }
        let find = |of: &TokenStream| {
            let one = |(name, indexes): &(&Ident, Vec<&TokenStream>)| {
                quote_spanned!(own()=>
                    #of(#name, #block, __tida_row, #[inline(always)] |#at| { #(#again)* [#(#indexes),*] }))
            };
            near.iter().map(one).collect::<Vec<_>>()
        };
        let (of_block, of_row) = (find(&private("near_block")), find(&private("near_row")));
        let names: Vec<_> = near.iter().map(|(name, _)| name).collect();
        let some = names.iter().map(|_| quote_spanned!(own()=> ::core::option::Option::Some(_)));
        let rows = self.each_row(&quote_spanned! {own()=>
            let __tida_near = if let (#(#some,)*) = __tida_all { __tida_all } else { (#(#of_row,)*) };
            if let (#(::core::option::Option::Some(#names),)*) = __tida_near {
                #(let #names = &#names;)*
                #each
            } else {
                #each
            }
        });
        quote_spanned! {own()=> {
            let __tida_row = 0;
            let __tida_all = (#(#of_block,)*);
            #rows
        }}
    }

    fn each_row(&self, inner: &TokenStream) -> TokenStream {
        let (rows, block) = (self.body.private("rows", own()), block());
        quote_spanned!(own()=> for __tida_row in 0..#rows(#block) { #inner })
    }

    /// The cells of a row.
    fn each_cell(&self, form: &Form<'_>, inner: &TokenStream) -> TokenStream {
        let (columns, cell) = (self.body.private("columns", own()), self.body.private("cell", own()));
        let (block, at, lanes) = (block(), form.at, Literal::usize_unsuffixed(form.columns));
        quote_spanned! {own()=>
            for __tida_column in 0..#columns(#block) {
                let __tida_lane = __tida_row * #lanes + __tida_column;
                let #at = #cell(#block, __tida_row, __tida_column);
                #inner
            }
        }
    }

    fn around(&self, phase: &Phase<'a>, form: &Form<'_>) -> Around<'a> {
        let (lane, put_lane) = (self.body.private("lane", own()), self.body.private("put_lane", own()));
        let sorted = |locals: &mut dyn Iterator<Item = LocalId>| {
            let mut list: Vec<LocalId> = locals.filter(|local| form.held.contains(local)).collect();
            list.sort_unstable();
            list.dedup();
            list
        };
        let loaded = sorted(&mut phase.named.iter().copied().filter(|local| !phase.bound.contains(local)));
        let loads = loaded.into_iter().map(|local| {
            let (name, lanes, mutable) = (self.ident(local), lane_of(local), self.mutable(local));
            // SAFETY: the lane is one of so many as the block has cells; a phase before this has put the local's value
            // there.
            quote_spanned!(own()=> let #mutable #name = unsafe { #lane(&#lanes, __tida_lane) };)
        });
        let stored = sorted(&mut phase.bound.iter().chain(&phase.assigned).copied());
        let stores = stored.into_iter().map(|local| {
            let (name, lanes) = (self.ident(local), lane_of(local));
            // SAFETY: the lane is one of so many as the block has cells.
            quote_spanned!(own()=> unsafe { #put_lane(&mut #lanes, __tida_lane, #name) };)
        });
        let again = self.needed_again(phase).map(|again| again.native).collect();
        Around { again, loads: loads.collect(), stores: stores.collect() }
    }

    /// The views whose reads in a phase all change evenly from cell to cell, with the indexes of these.
    fn near(&self, phase: &Phase<'a>) -> Vec<(&'a Ident, Vec<&'a TokenStream>)> {
        let mut views: Vec<(&'a Ident, Vec<&'a Loaded>)> = Vec::new();
        for load in phase.steps.iter().flat_map(|step| &step.loads) {
            match views.iter_mut().find(|(view, _)| **view == load.view) {
                Some((_, loads)) => loads.push(load),
                None => views.push((&load.view, vec![load])),
            }
        }
        let even = |load: &&Loaded| self.classes.of_expr(&load.index) != Class::Own;
        // Arrays with the tiles' cuts, which are in one region anyway, are indexed around `at`.
        let far = |load: &&Loaded| match load.index.kind {
            ExprKind::Array(_) | ExprKind::Repeat(..) | ExprKind::RepeatOf(..) | ExprKind::Unit(_) => true,
            ExprKind::Local(local) => self.classes.of(local) != Class::Same,
            _ => false,
        };
        views.retain(|(_, loads)| {
            let read = loads.iter().all(|load| !self.written.contains(&load.arg));
            read && loads.iter().all(even) && loads.iter().any(far)
        });
        views.into_iter().map(|(view, loads)| (view, loads.into_iter().map(|load| &load.native).collect())).collect()
    }

    /// The `let`s that a phase needs of those that are made again, in their order.
    fn needed_again(&self, phase: &Phase<'a>) -> impl Iterator<Item = &Again<'a>> {
        let mut named = phase.named.clone();
        for again in self.again.iter().rev() {
            if again.binds.iter().any(|local| named.contains(local)) {
                named.extend(&again.named);
            }
        }
        self.again.iter().filter(move |again| again.binds.iter().any(|local| named.contains(local)))
    }

    pub(super) fn ident(&self, local: LocalId) -> Option<&Ident> {
        self.body.scope.idents.get(local as usize)
    }

    fn mutable(&self, local: LocalId) -> Option<TokenStream> {
        let mutable = self.body.scope.locals.get(local as usize).is_some_and(|local| local.mutable);
        mutable.then(|| quote_spanned!(own()=> mut))
    }
}

/// The one phase of a loop that has no more, and what is the same for all cells beside it.
fn alone<'p, 'a>(parts: &'p [Part<'a>]) -> Option<(Vec<&'a TokenStream>, &'p Phase<'a>)> {
    let (mut once, mut alone) = (Vec::new(), None);
    for part in parts {
        match part {
            Part::Once(native) => once.push(*native),
            Part::Phase(phase) if alone.is_none() => alone = Some(phase),
            _ => return None,
        }
    }
    Some((once, alone?))
}
