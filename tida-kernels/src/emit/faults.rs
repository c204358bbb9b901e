//! What a cell does that raises a fault: it puts it into the record of the launch, if that has none of an earlier cell.
//!
//! Threads come in any order, so the record keeps the fault of the first cell in row-major order: the error is the same
//! in each run and on each device. Who finds an earlier one there is done; the others take turns by a lock. What the
//! record holds is whole if its version is even and did not change while it was read.

use super::helpers::Helper;
use super::shared::Shared;
use super::text::Text;
use crate::plan::Dialect;

/// Axes that a record has the coordinates of.
const AXES: usize = 4;

/// The type of a record, with counters of values that saturate or without.
pub(super) fn record(text: &mut Text, counters: bool) {
    let more = if counters { format!(" u32 saturated[{}];", super::COUNTERS) } else { String::new() };
    let fields = format!("u32 lock; u32 version; u32 kind; u32 unused; i64 data[7]; i64 cell[{AXES}];{more}");
    text.line(format!("typedef struct {{ {fields} }} FaultRecord;"));
    text.line("");
}

/// The type of what a cell raises faults with, and the function that does.
pub(super) fn raising(text: &mut Text, dialect: Dialect) {
    let (device, record) = (dialect.device(), dialect.pointer("FaultRecord", true));
    let seen = format!("volatile {record}");
    let cells: Vec<String> = (0..AXES).map(|d| format!("c{d}")).collect();
    text.line(format!("typedef struct {{ {record} record; i64 {}; }} Fault;", cells.join(", ")));
    text.line("");
    text.block(format!("{device} bool tida_is_first(Fault fault)"), |text| {
        text.line(format!("{seen} record = fault.record;"));
        for (d, cell) in cells.iter().enumerate() {
            text.line(format!("if (fault.{cell} != record->cell[{d}]) return fault.{cell} < record->cell[{d}];"));
        }
        text.line("return false;");
    });
    text.line("");
    let (fence, claim, release) = match dialect {
        Dialect::Cuda => {
            ("__threadfence();", "atomicCAS(&fault.record->lock, 0u, 1u)", "atomicExch(&fault.record->lock, 0u);")
        }
        Dialect::OpenCl => (
            "mem_fence(CLK_GLOBAL_MEM_FENCE);",
            "atomic_cmpxchg(&fault.record->lock, 0u, 1u)",
            "atomic_xchg(&fault.record->lock, 0u);",
        ),
    };
    let head = format!("{device} void tida_raise(Fault fault, u32 kind, i64 a, i64 b, i64 c, i64 d, i64 e)");
    text.block(head, |text| {
        text.line(format!("{seen} record = fault.record;"));
        text.line("const u32 version = record->version;");
        text.line(fence);
        text.block("if (version > 0 && version % 2 == 0 && !tida_is_first(fault))", |text| {
            text.line(fence);
            text.line("if (record->version == version) return;");
        });
        // Threads that run in step leave the lock before the others try again.
        text.block("for (bool waits = true; waits;)", |text| {
            text.block(format!("if ({claim} == 0u)"), |text| {
                text.line(fence);
                text.block("if (record->version == 0 || tida_is_first(fault))", |text| {
                    text.line("record->version = record->version + 1;");
                    text.line(fence);
                    text.line("record->kind = kind;");
                    for (n, value) in ["a", "b", "c", "d", "e"].iter().enumerate() {
                        text.line(format!("record->data[{n}] = {value};"));
                    }
                    for (d, cell) in cells.iter().enumerate() {
                        text.line(format!("record->cell[{d}] = fault.{cell};"));
                    }
                    text.line(fence);
                    text.line("record->version = record->version + 1;");
                });
                text.line(fence);
                text.line(release);
                text.line("waits = false;");
            });
        });
    });
    text.line("");
}

/// The functions that raise a fault of one kind, and what checks an entry.
pub(super) fn helper(text: &mut Text, dialect: Dialect, helper: Helper) {
    let (device, name) = (dialect.device(), helper.name());
    match helper {
        Helper::RaiseDivision => text.block(format!("{device} void {name}(Fault fault)"), |text| {
            text.line("tida_raise(fault, 1u, 0, 0, 0, 0, 0);");
        }),
        Helper::RaiseEntry => text.block(format!("{device} void {name}(Fault fault, u64 index, u64 len)"), |text| {
            text.line("tida_raise(fault, 2u, (i64)index, (i64)len, 0, 0, 0);");
        }),
        Helper::RaiseRange => {
            let head = format!("{device} void {name}(Fault fault, i64 arg, i64 i0, i64 i1, i64 i2, i64 i3)");
            text.block(head, |text| text.line("tida_raise(fault, 3u, arg, i0, i1, i2, i3);"));
        }
        Helper::Entry => text.block(format!("{device} u64 {name}(u64 index, u64 len, Fault fault)"), |text| {
            text.line("if (index < len) return index;");
            text.line("tida_raise_entry(fault, index, len);");
            text.line("return 0;");
        }),
        _ => {}
    }
}

/// What faults of the cell at hand are raised with, once its coordinates are known.
pub(super) fn of_cell(shared: &mut Shared<'_>, text: &mut Text) {
    let rank = shared.kernel.rank;
    let cell: Vec<String> =
        (0..AXES).map(|d| (d + rank).checked_sub(AXES).map_or("0".into(), |axis| shared.coordinate(axis))).collect();
    text.line(format!("const Fault fault = {{{}, {}}};", shared.record_name(), cell.join(", ")));
}
