//! Boxes of tensor maps: one thread orders those of a strip, and all wait at the barrier that counts their bytes (TMA
//! of sm_90, Lashgar ch. 7).

use super::cache::{Strip, ranges, single_names};
use super::helpers::Helper;
use super::shared::Shared;
use super::text::Text;
use crate::plan::maps::Map;

/// The map that a tile is fetched by.
fn map_of<'a>(shared: &'a Shared<'_>, at: (usize, usize)) -> Option<&'a Map> {
    let arg = shared.tile(at).arg;
    shared.maps.iter().find(|map| map.arg == arg)
}

/// Whether a tile is fetched so.
pub(super) fn by_map(shared: &Shared<'_>, at: (usize, usize)) -> bool {
    map_of(shared, at).is_some()
}

/// The parameter of an argument's map.
pub(super) fn name(shared: &mut Shared<'_>, arg: usize) -> String {
    let name = format!("{}_map", shared.args[arg]);
    shared.own(&name)
}

/// The tiles of a walk that are fetched so.
fn tiles(shared: &Shared<'_>, scope: usize) -> Vec<(usize, usize)> {
    let tiles = (0..shared.scopes[scope].tiles.len()).map(|tile| (scope, tile));
    tiles.filter(|at| by_map(shared, *at)).collect()
}

/// The walks that have some.
fn walks(shared: &Shared<'_>) -> Vec<usize> {
    (0..shared.scopes.len()).filter(|scope| !tiles(shared, *scope).is_empty()).collect()
}

/// Declares a barrier for each half of a walk's tiles, and what says how often each was waited at: a bit each.
pub(super) fn declare(shared: &mut Shared<'_>, text: &mut Text) {
    for scope in walks(shared) {
        let [filled, phase] = ["filled", "phase"].map(|word| shared.of_walk(scope, word));
        text.line(format!("__shared__ __align__(8) u64 {filled}[2];"));
        text.line(format!("u32 {phase} = 0u;"));
    }
}

/// Makes the barriers ready, before any thread comes to one.
pub(super) fn ready(shared: &mut Shared<'_>, text: &mut Text) {
    let walks = walks(shared);
    if walks.is_empty() {
        return;
    }
    let thread = shared.own("thread");
    text.block(format!("if ({thread} == 0)"), |text| {
        for scope in walks {
            let (filled, helper) = (shared.of_walk(scope, "filled"), shared.helper(Helper::MapReady));
            text.line(format!("{helper}({filled});"));
        }
    });
    text.line(shared.dialect().barrier());
}

/// Orders the boxes of a strip. They are whole ones always: what they hold beyond the strip or the array nobody reads.
pub(super) fn order(shared: &mut Shared<'_>, text: &mut Text, scope: usize, strip: &Strip) {
    let tiles = tiles(shared, scope);
    if tiles.is_empty() {
        return;
    }
    let half = strip.half.clone().unwrap_or_else(|| "0".into());
    let (thread, filled) = (shared.own("thread"), shared.of_walk(scope, "filled"));
    let all: i64 = tiles.iter().filter_map(|at| map_of(shared, *at)).map(Map::bytes).sum();
    text.block(format!("if ({thread} == 0)"), |text| {
        let helper = shared.helper(Helper::MapBytes);
        text.line(format!("{helper}(&{filled}[{half}], {all}u);"));
        for at in tiles {
            let Some(map) = map_of(shared, at).cloned() else { continue };
            let (cells, rank) = (shared.shape(at).cells, map.extent.len());
            shared.used.single.insert(map.arg);
            shared.extra(map.arg);
            let (origins, map_name) = (single_names(shared, map.arg), name(shared, map.arg));
            let ranges = ranges(shared, at, strip).into_iter().enumerate();
            // From the last axis on.
            let from: Vec<String> =
                ranges.map(|(axis, (low, _))| format!("(i32)({low} - {})", origins[1 + axis])).rev().collect();
            let place = if half == "0" { "0".into() } else { format!("{half} * {cells}") };
            let helper = shared.helper(Helper::MapBox(map.rank() as u8));
            for component in shared.tile(at).components.clone() {
                let tile = shared.tile_name(at, component);
                let mut from = from.clone();
                from.extend((map.rank() > rank).then(|| component.to_string()));
                text.line(format!("{helper}(&{tile}[{place}], &{map_name}, {}, &{filled}[{half}]);", from.join(", ")));
            }
        }
    });
}

/// Waits for the boxes of the half that comes next.
pub(super) fn wait(shared: &mut Shared<'_>, text: &mut Text, scope: usize) {
    if tiles(shared, scope).is_empty() {
        return;
    }
    let [filled, phase, half] = ["filled", "phase", "half"].map(|word| shared.of_walk(scope, word));
    let helper = shared.helper(Helper::MapWait);
    text.line(format!("{helper}(&{filled}[{half}], ({phase} >> {half}) & 1u);"));
    text.line(format!("{phase} ^= 1u << {half};"));
}

/// The text of a function for these boxes.
pub(super) fn helper(text: &mut Text, helper: Helper) {
    let (name, address) = (helper.name(), |of: &str| format!("(u32)__cvta_generic_to_shared({of})"));
    let asm = |what: &str, given: &str| format!("asm volatile(\"{what}\" :: {given} : \"memory\");");
    let filled = |text: &mut Text| text.line(format!("const u32 place = {};", address("filled")));
    match helper {
        Helper::MapReady => text.block(format!("static __device__ void {name}(u64* filled)"), |text| {
            filled(text);
            // One thread comes to each, with the bytes that are on their way.
            text.line(asm("mbarrier.init.shared::cta.b64 [%0], 1;", "\"r\"(place)"));
            text.line(asm("mbarrier.init.shared::cta.b64 [%0], 1;", "\"r\"(place + 8u)"));
            text.line("asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");");
            text.line("asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");");
        }),
        Helper::MapBytes => text.block(format!("static __device__ void {name}(u64* filled, u32 bytes)"), |text| {
            filled(text);
            let what = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;";
            text.line(asm(what, "\"r\"(place), \"r\"(bytes)"));
        }),
        Helper::MapBox(axes) => {
            let params: String = (0..axes).map(|n| format!(", i32 c{n}")).collect();
            let head = format!("static __device__ void {name}(void* to, const TensorMap* map{params}, u64* filled)");
            text.block(head, |text| {
                filled(text);
                let from: Vec<String> = (0..axes).map(|n| format!("%{}", n + 3)).collect();
                let what = format!(
                    "cp.async.bulk.tensor.{axes}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes \
                     [%0], [%1, {{{}}}], [%2];",
                    from.join(", ")
                );
                let given: String = (0..axes).map(|n| format!(", \"r\"(c{n})")).collect();
                text.line(asm(&what, &format!("\"r\"({}), \"l\"(map), \"r\"(place){given}", address("to"))));
            });
        }
        _ => text.block(format!("static __device__ void {name}(u64* filled, u32 phase)"), |text| {
            filled(text);
            text.line("u32 done = 0u;");
            text.block("while (done == 0u)", |text| {
                let what =
                    "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }";
                let given = "\"=r\"(done) : \"r\"(place), \"r\"(phase) : \"memory\"";
                text.line(format!("asm volatile(\"{what}\" : {given});"));
            });
        }),
    }
}
