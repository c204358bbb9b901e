//! Device fills and copies against those of the host, all bytes of all regions compared.

use std::sync::OnceLock;

use proptest::prelude::*;
use tida_kernels::element::ScalarType;
use tida_kernels::plan::{Dialect, Math};

use super::*;
use crate::acc::TileAcc;
use crate::array::{Element, Side, TileArray};
use crate::backend::sim::SimDevice;
use crate::backend::{self, cuda::compile_only};
use crate::device::core::Opened;
use crate::device::plans::PlansAsked;
use crate::error::ErrorKind;
use crate::memory::layout::{Boundary, Centering};
use crate::memory::storage::{Storage, device_offsets};

#[derive(Clone, Copy, Debug, PartialEq, tida_derive::Element)]
struct Mixed {
    flag: u8,
    speed: [f32; 2],
    mass: f64,
    mark: i32,
}

#[derive(Clone, Debug)]
struct Case {
    shape: [usize; 4],
    regions: [usize; 4],
    ghost: [[usize; 2]; 4],
    faces: [bool; 4],
    kinds: [[u8; 2]; 4],
    salt: u64,
    wild: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let sizes = (any::<[u8; 4]>(), any::<[u8; 4]>(), any::<[[u8; 2]; 4]>());
    let kinds = (any::<[bool; 4]>(), any::<[[u8; 2]; 4]>(), any::<u64>(), any::<bool>());
    (sizes, kinds).prop_map(|((shape, regions, ghost), (faces, kinds, salt, wild))| Case {
        shape: shape.map(usize::from),
        regions: regions.map(usize::from),
        ghost: ghost.map(|g| g.map(|g| usize::from(g % 4))),
        faces,
        kinds: kinds.map(|k| k.map(|k| k % 7)),
        salt,
        wild,
    })
}

/// Boundary number `kind`; even where values of that type, or so few, cannot be computed with.
fn boundary<T>(kind: u8, value: T, computes: bool, cells: usize) -> Boundary<T> {
    match kind {
        0 => Boundary::Periodic,
        1 => Boundary::Fixed(value),
        3 if computes => Boundary::ReflectOdd,
        2 | 3 => Boundary::ReflectEven,
        5 if computes && cells > 1 => Boundary::Extrapolate(1),
        4 | 5 => Boundary::Extrapolate(0),
        _ => Boundary::Open,
    }
}

/// The array of a case, `turn` cells and regions on.
fn array<T: Element, const D: usize>(case: &Case, acc: &TileAcc, value: T, turn: usize) -> TileArray<T, D> {
    let largest = |d: usize| match (D, d + 1 == D) {
        (_, false) => 6,
        (4, true) => 70,
        (1, true) => 4000,
        _ => 150,
    };
    let shape: [usize; D] = std::array::from_fn(|d| 1 + case.shape[d] * (1 + largest(d) / 256) % largest(d));
    let regions: [usize; D] = std::array::from_fn(|d| {
        let most = if d + 1 < D { shape[d] } else { shape[d].div_ceil(64) };
        1 + (case.regions[d] + turn) % most
    });
    let cut = TileArray::<u8, D>::builder(shape).regions(regions).build(acc).unwrap();
    let ghost: [[usize; 2]; D] =
        std::array::from_fn(|d| case.ghost[d].map(|g| (g + turn).min(cut.layout.cuts.thinnest(d))));
    let centering = std::array::from_fn(|d| if case.faces[d] { Centering::Face } else { Centering::Cell });
    let mut builder = TileArray::<T, D>::builder(shape).regions(regions).ghost(ghost).centering(centering);
    let computes = !T::TYPE.component_types().contains(&ScalarType::Bool);
    for (axis, (kinds, n)) in case.kinds.into_iter().zip(shape).enumerate() {
        for (side, kind) in [Side::Low, Side::High].into_iter().zip(kinds) {
            let kind = if kinds[0] == 0 { 0 } else { kind.max(1) };
            builder = builder.boundary_face(axis, side, boundary(kind, value, computes, n));
        }
    }
    builder.build(acc).unwrap()
}

fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let x = (*seed ^ (*seed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

/// Sets every byte of an array: any bits if `wild`, else those of ordinary numbers.
fn poison<T: Element, const D: usize>(array: &TileArray<T, D>, wild: bool, seed: &mut u64) {
    for (number, region) in array.layout.regions.iter().enumerate() {
        for (ty, before) in T::TYPE.placed_components() {
            let size = ty.size();
            for i in 0..region.cells {
                let bits = next(seed);
                let value = (bits % 20_001) as f64 / 7.0 - 1000.0;
                let bytes = match ty {
                    ScalarType::Bool => bits & 1,
                    ScalarType::F32 if !wild => u64::from((value as f32).to_bits()),
                    ScalarType::F64 if !wild => value.to_bits(),
                    _ => bits,
                }
                .to_le_bytes();
                // SAFETY: this plane of the region has `cells` values of that size, and no one else uses the array.
                unsafe {
                    let base = array.storage.base(number).add(region.cells * before);
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), base.add(i * size), size);
                }
            }
        }
    }
}

/// All bytes of an array, as they lie on a device; 0xa5 between regions.
fn bytes<const D: usize>(layout: &Layout<D>, storage: &Storage, element: &ElementType) -> Vec<u8> {
    let offsets = device_offsets(layout.regions.iter().map(|region| region.cells * element.bytes()));
    let mut all = vec![0xa5; *offsets.last().unwrap()];
    for (number, region) in layout.regions.iter().enumerate() {
        let length = region.cells * element.bytes();
        assert!(offsets[number].is_multiple_of(256) && offsets[number] + length <= offsets[number + 1]);
        // SAFETY: the region has as many bytes, and no one else uses them.
        let block = unsafe { std::slice::from_raw_parts(storage.base(number), length) };
        all[offsets[number]..][..length].copy_from_slice(block);
    }
    all
}

/// The same of an array that lies in a row.
fn bytes_in_row(row: &Row, storage: &Storage) -> Vec<u8> {
    let mut all = vec![0xa5; row.bytes()];
    for region in 0..storage.regions() {
        for piece in row.pieces(region, false) {
            // SAFETY: the region has these bytes, and no one else uses them.
            let from = unsafe { std::slice::from_raw_parts(storage.base(region).add(piece.host), piece.bytes) };
            all[piece.device..][..piece.bytes].copy_from_slice(from);
        }
    }
    all
}

/// Places of the bytes of all cells in a row.
fn valid_in_row<'a, const D: usize>(
    row: &'a Row,
    layout: &'a Layout<D>,
    element: &'a ElementType,
) -> impl Iterator<Item = usize> + 'a {
    layout.regions.iter().enumerate().flat_map(move |(number, region)| {
        region.valid.points().flat_map(move |at| {
            element.placed_components().flat_map(move |(ty, before)| {
                let first = row.place(number, before, ty.size(), region.position(at));
                first..first + ty.size()
            })
        })
    })
}

/// A device, if one opens here.
fn opencl() -> Option<&'static DeviceCore> {
    static DEVICE: OnceLock<Option<DeviceCore>> = OnceLock::new();
    let open = || match backend::opencl::open(true, backend::chosen::Opening::default(), None, 0) {
        Ok(backend) => Some(DeviceCore::new(
            Arc::new(Opened::new(backend)),
            PlansAsked { math: Math::Exact, ..PlansAsked::default() },
            None,
        )),
        Err(e) if std::env::var_os("TIDA_REQUIRE_OPENCL").is_some() => panic!("TIDA_REQUIRE_OPENCL is set: {e}"),
        Err(e) => {
            eprintln!("SKIPPED: {e}");
            None
        }
    };
    DEVICE.get_or_init(open).as_ref()
}

fn sim() -> &'static DeviceCore {
    static DEVICE: OnceLock<DeviceCore> = OnceLock::new();
    let open = || backend::sim::open(SimDevice::new(), None).unwrap();
    DEVICE.get_or_init(|| {
        DeviceCore::new(Arc::new(Opened::new(open())), PlansAsked { math: Math::Exact, ..PlansAsked::default() }, None)
    })
}

/// Memory that holds these bytes.
fn upload(device: &DeviceCore, bytes: &[u8]) -> Memory {
    let memory = Memory::new(device.backend(), bytes.len()).unwrap();
    if !bytes.is_empty() {
        // SAFETY: the memory has as many bytes, and the copy is done when this returns.
        unsafe { device.upload_now(&memory, 0, bytes.as_ptr(), bytes.len()).unwrap() };
    }
    memory
}

/// The memory `to` after the copies; `from` is the same unless given.
fn run(device: &DeviceCore, copies: &DeviceCopies, mut to: Vec<u8>, from: Option<&[u8]>) -> Vec<u8> {
    let target = upload(device, &to);
    let source = from.map(|from| upload(device, from));
    // SAFETY: the memories are laid out as the copies were made for, and waited for before anything is dropped.
    unsafe { copies.run(1, &target, source.as_ref().unwrap_or(&target)).unwrap() };
    device.backend().record(1).unwrap().finish().unwrap();
    if !to.is_empty() {
        // SAFETY: as for the upload.
        unsafe { device.download_now(&target, 0, to.as_mut_ptr(), to.len()).unwrap() };
    }
    to
}

#[track_caller]
fn same(device: &[u8], host: &[u8], what: &dyn std::fmt::Debug) {
    let first = device.iter().zip(host).position(|(a, b)| a != b);
    assert!(first.is_none() && device.len() == host.len(), "byte {first:?} of {}: {what:?}", host.len());
}

fn check<T: Element, const D: usize>(case: &Case, value: T) {
    for device in opencl().into_iter().chain([sim()]) {
        check_on::<T, D>(device, case, value);
    }
}

fn check_on<T: Element, const D: usize>(device: &DeviceCore, case: &Case, value: T) {
    let acc = TileAcc::builder().device(crate::acc::Device::Cpu).threads(1).build().unwrap();
    let u = array::<T, D>(case, &acc, value, 0);
    let (plan, made) = (GhostPlan::new(&u.layout, &u.boundaries.kinds), Fills::default());
    let mut seed = case.salt;
    // The payload of a NaN that was computed is no one's promise.
    let lines = u.boundaries().iter().flatten().any(|b| matches!(b, Boundary::Extrapolate(1)));
    for fixed in [true, false] {
        poison(&u, case.wild && !lines, &mut seed);
        let before = bytes(&u.layout, &u.storage, &T::TYPE);
        let which = if fixed { super::super::Which::All } else { super::super::Which::Moving };
        // SAFETY: the plan is of this layout, and no one else uses the array.
        unsafe { super::super::host::OnHost::new(&plan, &u.storage) }.fill(which);
        let host = bytes(&u.layout, &u.storage, &T::TYPE);
        let what = (case, u.layout.cuts.clone(), u.boundaries());
        let copies = made.get(device, &plan, fixed).unwrap();
        same(&run(device, &copies, before.clone(), None), &host, &what);
        // They are kept.
        assert!(Arc::ptr_eq(&copies, &made.get(device, &plan, fixed).unwrap()));
        // A grid so small that a phase takes several launches.
        let small = DeviceCopies::with_blocks(device, plan.fill_jobs(fixed, &plan.sites()), 1).unwrap();
        same(&run(device, &small, before, None), &host, &what);
    }
    // Another cut, other ghosts.
    let mut v = array::<T, D>(case, &acc, value, 1);
    poison(&u, case.wild, &mut seed);
    poison(&v, case.wild, &mut seed);
    let (before, source) = (bytes(&v.layout, &v.storage, &T::TYPE), bytes(&u.layout, &u.storage, &T::TYPE));
    v.copy_from(&u).unwrap();
    acc.sync().unwrap();
    let host = bytes(&v.layout, &v.storage, &T::TYPE);
    let copies =
        DeviceCopies::between(device, (&v.layout, None), (&u.layout, None), &T::TYPE, &u.layout.domain()).unwrap();
    let what = (case, u.layout.cuts.clone(), v.layout.cuts.clone());
    same(&run(device, &copies, before, Some(&source)), &host, &what);
    // Into a row of planes, from regions, and from a row.
    let Some(row) = Row::new(&v.layout, &T::TYPE) else { return };
    let host = bytes_in_row(&row, &v.storage);
    let from_row = Row::new(&u.layout, &T::TYPE);
    for from in [None, from_row.as_ref()] {
        let source = from.map_or_else(|| source.clone(), |row| bytes_in_row(row, &u.storage));
        let copies =
            DeviceCopies::between(device, (&v.layout, Some(&row)), (&u.layout, from), &T::TYPE, &u.layout.domain())
                .unwrap();
        let mut before = host.clone();
        valid_in_row(&row, &v.layout, &T::TYPE).for_each(|byte| before[byte] = 0x5a);
        same(&run(device, &copies, before, Some(&source)), &host, &what);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scalars_are_as_on_the_host(case in case()) {
        check::<f64, 1>(&case, -0.0);
        check::<f64, 2>(&case, 1.5);
        check::<f64, 3>(&case, f64::NAN);
        check::<f32, 4>(&case, 2.5);
        check::<u8, 2>(&case, 200);
        check::<i8, 3>(&case, -128);
        check::<u16, 2>(&case, 65_535);
        check::<i16, 1>(&case, -32_768);
        check::<i32, 3>(&case, i32::MIN);
        check::<u64, 1>(&case, u64::MAX - 1);
        check::<i64, 4>(&case, -3);
    }

    #[test]
    fn components_are_as_on_the_host(case in case()) {
        check::<[f64; 3], 2>(&case, [0.5, f64::INFINITY, -1.0]);
        check::<Mixed, 3>(&case, Mixed { flag: 9, speed: [-0.5, 7.0], mass: 1e300, mark: -9 });
        check::<[[bool; 2]; 2], 2>(&case, [[true, false], [false, true]]);
    }
}

#[test]
fn kernels_compile_for_cuda() {
    for scalar in [ScalarType::U8, ScalarType::U16, ScalarType::U32, ScalarType::U64, ScalarType::F32, ScalarType::F64]
    {
        let source = copies::copies(Dialect::Cuda, &Kind::Scalar(scalar));
        // Contraction would show even where it is asked for.
        for math in [Math::Exact, Math::Fast] {
            match compile_only(&source.text, source.entry, math, "compute_90") {
                Ok((ptx, _)) => {
                    let ptx = String::from_utf8(ptx).unwrap();
                    assert!(ptx.contains(".entry tida_copies") && !ptx.contains("fma."), "{ptx}");
                }
                Err(e) if e.kind() == ErrorKind::Device && std::env::var_os("TIDA_REQUIRE_NVRTC").is_none() => {
                    return eprintln!("SKIPPED: {e}");
                }
                Err(e) => panic!("{e}\n{}", source.text),
            }
        }
        if let Ok((_, facts)) = compile_only(&source.text, source.entry, Math::Exact, "sm_90") {
            eprintln!("{scalar:?}: {facts:?}");
            // Eight blocks of a multiprocessor's 64 K registers at once would need 32; four are enough.
            assert!(facts.registers.is_some_and(|n| n <= 64) && facts.spilled == Some(0), "{facts:?}");
        }
    }
}

/// Eight slabs of a periodic array: one launch for the inner ghosts and one for each axis.
#[test]
fn a_fill_takes_few_launches() {
    let Some(device) = opencl() else { return };
    let acc = TileAcc::builder().device(crate::acc::Device::Cpu).threads(1).build().unwrap();
    let builder = TileArray::<[f64; 2], 3>::builder([64, 32, 96]).regions([8, 1, 1]).ghost(1);
    let u = builder.boundary(Boundary::Periodic).build(&acc).unwrap();
    let plan = GhostPlan::new(&u.layout, &u.boundaries.kinds);
    let copies = Fills::default().get(device, &plan, false).unwrap();
    assert_eq!(copies.launches.len(), 4);
}
