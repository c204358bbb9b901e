//! Arrays as text in, the copies of their fills as text out.

use std::fmt::Write;

use super::*;
use crate::acc::{Device, TileAcc};
use crate::array::TileArrayBuilder;
use crate::array::{Element, TileArray};
use crate::memory::layout::Boundary;

/// An array as `cells ROWSxCOLUMNS regions ROWSxCOLUMNS ghost N faces AXIS AXIS`, with the boundary of both axes:
/// `periodic`, `even`, `odd`, `line`, `nearest`, `open`, or a number that is fixed.
fn array<T: Element>(text: &str, value: impl Fn(i32) -> T) -> TileArray<T, 2> {
    let acc = TileAcc::builder().device(Device::Cpu).threads(1).build().unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    let pair = |at: usize| <[usize; 2]>::try_from(words[at].split('x').map(|n| n.parse().unwrap()).collect::<Vec<_>>());
    let builder: TileArrayBuilder<T, 2> = TileArray::builder(pair(1).unwrap()).regions(pair(3).unwrap());
    let boundary = |word: &str| match word {
        "periodic" => Boundary::Periodic,
        "even" => Boundary::ReflectEven,
        "odd" => Boundary::ReflectOdd,
        "line" => Boundary::Extrapolate(1),
        "nearest" => Boundary::Extrapolate(0),
        "open" => Boundary::Open,
        number => Boundary::Fixed(value(number.parse().unwrap())),
    };
    let builder = builder.ghost(words[5].parse::<usize>().unwrap());
    builder.boundary_axis(0, boundary(words[7])).boundary_axis(1, boundary(words[8])).build(&acc).unwrap()
}

fn plan(text: &str) -> GhostPlan {
    let array = array(text, f64::from);
    GhostPlan::new(&array.layout, &array.boundaries.kinds)
}

fn cells(cells: &GridBox<4>) -> String {
    format!("[{}..{}, {}..{}]", cells.lo[2], cells.hi[2], cells.lo[3], cells.hi[3])
}

fn from<P: Copy>(from: &From<P>, of: impl Fn(P) -> String) -> String {
    match *from {
        From::Box(source) => of(source),
        From::Negated(source) => format!("-{}", of(source)),
        From::Line { near, far, distance } => format!("{} + {distance} * (that - {})", of(near), of(far)),
        From::Constant(bits) => format!("constant {bits}"),
    }
}

fn copy(copy: &GhostCopy) -> String {
    let of = |source: Source| format!("R{}{}", source.region, cells(&copy.read_by(&source)));
    format!("R{}{} = {}", copy.region, cells(&copy.cells), from(&copy.from, of))
}

/// The copies of a plan, phase by phase.
fn copies(plan: &GhostPlan) -> String {
    let mut text = String::new();
    for phase in &plan.phases {
        writeln!(text, "{}", phase.axis.map_or("inside".into(), |axis| format!("beyond axis {}", axis - 2))).unwrap();
        phase.moving.iter().chain(&phase.fixed).for_each(|one| writeln!(text, "  {}", copy(one)).unwrap());
    }
    text
}

/// Copies of boxes: where the first value is and how far along each axis the next one, of axes with more than one.
fn boxes(jobs: &[Job]) -> String {
    let mut text = String::new();
    for (kind, list) in jobs {
        for one in list {
            let axes: Vec<usize> = (0..4).filter(|axis| one.extent[*axis] > 1).collect();
            let place = |place: Place| {
                let steps: Vec<String> = axes.iter().map(|axis| format!("+{}", place.steps[*axis])).collect();
                format!("{}{}", place.first, steps.concat())
            };
            let extent: Vec<String> = axes.iter().map(|axis| one.extent[*axis].to_string()).collect();
            let (extent, to) = (if axes.is_empty() { "1".into() } else { extent.join("x") }, place(one.to));
            writeln!(text, "{kind:?} {extent}: {to} = {}", from(&one.from, place)).unwrap();
        }
    }
    text
}

#[track_caller]
fn check(found: &str, expected: &str) {
    let lines = |text| -> Vec<&str> { str::lines(text).map(str::trim).filter(|line| !line.is_empty()).collect() };
    assert!(lines(found) == lines(expected), "found:\n{found}\nexpected:\n{expected}");
}

#[test]
fn plans_as_text() {
    check(
        &copies(&plan("cells 4x3 regions 2x1 ghost 1 faces periodic 7")),
        "
        inside
          R0[2..3, 0..3] = R1[2..3, 0..3]
          R1[1..2, 0..3] = R0[1..2, 0..3]
        beyond axis 1
          R0[0..3, -1..0] = constant 0
          R0[0..3, 3..4] = constant 1
          R1[1..4, -1..0] = constant 0
          R1[1..4, 3..4] = constant 1
        beyond axis 0
          R0[-1..0, -1..4] = R1[3..4, -1..4]
          R1[4..5, -1..4] = R0[0..1, -1..4]
        ",
    );
}

#[test]
fn mirrors_as_text() {
    check(
        &copies(&plan("cells 3x2 regions 1x1 ghost 2 faces odd even")),
        "
        beyond axis 1
          R0[0..3, -2..-1] = R0[0..3, 1..2]
          R0[0..3, -1..0] = R0[0..3, 0..1]
          R0[0..3, 2..3] = R0[0..3, 1..2]
          R0[0..3, 3..4] = R0[0..3, 0..1]
        beyond axis 0
          R0[-2..-1, -2..4] = -R0[1..2, -2..4]
          R0[-1..0, -2..4] = -R0[0..1, -2..4]
          R0[3..4, -2..4] = -R0[2..3, -2..4]
          R0[4..5, -2..4] = -R0[1..2, -2..4]
        ",
    );
}

#[test]
fn lines_and_ghosts_of_the_user_as_text() {
    check(
        &copies(&plan("cells 3x2 regions 3x1 ghost 1 faces line open")),
        "
        inside
          R0[1..2, 0..2] = R1[1..2, 0..2]
          R1[0..1, 0..2] = R0[0..1, 0..2]
          R1[2..3, 0..2] = R2[2..3, 0..2]
          R2[1..2, 0..2] = R1[1..2, 0..2]
        beyond axis 1
          R0[1..2, -1..0] = R1[1..2, -1..0]
          R0[1..2, 2..3] = R1[1..2, 2..3]
          R1[0..1, -1..0] = R0[0..1, -1..0]
          R1[2..3, -1..0] = R2[2..3, -1..0]
          R1[0..1, 2..3] = R0[0..1, 2..3]
          R1[2..3, 2..3] = R2[2..3, 2..3]
          R2[1..2, -1..0] = R1[1..2, -1..0]
          R2[1..2, 2..3] = R1[1..2, 2..3]
        beyond axis 0
          R0[-1..0, -1..3] = R0[0..1, -1..3] + 1 * (that - R0[1..2, -1..3])
          R2[3..4, -1..3] = R2[2..3, -1..3] + 1 * (that - R2[1..2, -1..3])
        ",
    );
}

#[test]
fn a_fill_where_regions_lie_one_after_the_other() {
    let plan = plan("cells 4x3 regions 2x1 ghost 1 faces periodic 7");
    check(
        &boxes(&plan.fill_jobs(true, &plan.sites())),
        "
        Scalar(U64) 3: 64+1 = 160+1
        Scalar(U64) 3: 144+1 = 48+1
        Scalar(U64) 3: 31+16 = constant 4619567317775286272
        Scalar(U64) 3: 35+16 = constant 4619567317775286272
        Scalar(U64) 3: 143+16 = constant 4619567317775286272
        Scalar(U64) 3: 147+16 = constant 4619567317775286272
        Scalar(U64) 5: 15+1 = 175+1
        Scalar(U64) 5: 191+1 = 31+1
        ",
    );
}

#[test]
fn components_of_one_size_go_in_one_launch() {
    let array = array("cells 2x3 regions 2x1 ghost 1 faces open odd", |n| [n as f32, -n as f32]);
    let plan = GhostPlan::new(&array.layout, &array.boundaries.kinds);
    check(
        &boxes(&plan.fill_jobs(false, &plan.sites())),
        "
        Scalar(U32) 3: 96+1 = 320+1
        Scalar(U32) 3: 288+1 = 64+1
        Scalar(U32) 3: 224+1 = 448+1
        Scalar(U32) 3: 416+1 = 192+1
        Scalar(F32) 2: 63+32 = -64+32
        Scalar(F32) 2: 67+32 = -66+32
        Scalar(F32) 2: 287+32 = -288+32
        Scalar(F32) 2: 291+32 = -290+32
        Scalar(F32) 2: 191+32 = -192+32
        Scalar(F32) 2: 195+32 = -194+32
        Scalar(F32) 2: 415+32 = -416+32
        Scalar(F32) 2: 419+32 = -418+32
        ",
    );
}

#[test]
fn a_window_has_its_planes_elsewhere() {
    let plan = plan("cells 4x3 regions 1x1 ghost 1 faces periodic even");
    let Some(phase) = plan.part(crate::memory::ghosts::planes::FillPart::Edges).next() else { panic!("no edges") };
    let within: Vec<GhostCopy> = phase.moving.iter().filter_map(|copy| copy.within(2, &[1..3, -1..4])).collect();
    let site = Site { start: 0, cells: 1024, shift: -16 };
    check(
        &boxes(&plan.jobs(&within, |_, _| Where::Region(site))),
        "
        Scalar(U64) 2: 31+16 = 32+16
        Scalar(U64) 2: 35+16 = 34+16
        ",
    );
}

#[test]
fn what_is_elsewhere_comes_in_strips() {
    let plan = plan("cells 4x3 regions 2x1 ghost 1 faces periodic 7");
    let mut copies: Vec<GhostCopy> = plan.phases[0].moving.iter().filter(|copy| copy.region == 1).cloned().collect();
    let strips = plan.through_strips(&mut copies, |region| (region == 0).then_some(region));
    assert_eq!(strips.as_slice(), [(0, 32)]);
    let at = |region: usize, packed: Option<usize>| match packed {
        Some(start) => Where::Strip(8192 + start),
        None => Where::Region(plan.sites()[region]),
    };
    // Those who have the region pack the boxes, those who lack it read them.
    check(
        &boxes(&plan.jobs(&packs(&copies, |region| region == 0), at)),
        "
        Scalar(U64) 3: 1024+1 = 48+1
        ",
    );
    check(
        &boxes(&plan.jobs(&copies, at)),
        "
        Scalar(U64) 3: 144+1 = 1024+1
        ",
    );
    assert!(packs(&copies, |region| region == 1).is_empty());
}
