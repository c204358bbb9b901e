//! `.npy` files and checkpoints.

use std::fs;
use std::path::{Path, PathBuf};

use ndarray::{Array2, Array3};
use proptest::prelude::*;
use tida::__private::{ElementType, Place};
use tida::prelude::*;

fn acc() -> TileAcc {
    TileAcc::builder().threads(2).build().unwrap()
}

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        use std::sync::atomic::{AtomicU32, Ordering};
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let n = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tida-test-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, header: &str, data: &[u8]) -> PathBuf {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        fs::write(self.file(name), bytes).unwrap();
        self.file(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn header(descr: &str, fortran: bool, shape: &str) -> String {
    let fortran = if fortran { "True" } else { "False" };
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}   \n")
}

#[test]
fn files_of_both_byte_orders_and_both_axis_orders_are_read() {
    let (acc, folder) = (acc(), Folder::new());
    let value = |k: usize, j: usize, i: usize| (k * 10000 + j * 1000 + i) as f32 + 0.5;
    let expected = Array3::from_shape_fn((3, 2, 70), |(k, j, i)| value(k, j, i));
    for big in [false, true] {
        for fortran in [false, true] {
            let order: Vec<f32> =
                if fortran { expected.t().iter().copied().collect() } else { expected.iter().copied().collect() };
            let data: Vec<u8> =
                order.iter().flat_map(|v| if big { v.to_be_bytes() } else { v.to_le_bytes() }).collect();
            let descr = if big { ">f4" } else { "<f4" };
            let path = folder.write("a.npy", &header(descr, fortran, "(3, 2, 70)"), &data);
            let shape = TileArray::<f32, 3>::npy_shape(&path).unwrap();
            assert_eq!(shape, [3, 2, 70]);
            let u = TileArray::<f32, 3>::builder(shape).regions([2, 1, 2]).ghost(1).build_npy(&acc, &path).unwrap();
            assert_eq!(u.to_ndarray().unwrap(), expected, "big {big}, fortran {fortran}");
        }
    }
}

#[test]
fn written_files_are_what_numpy_writes() {
    let (acc, folder) = (acc(), Folder::new());
    let mut u = TileArray::<i32, 1>::builder([130]).regions([2]).build(&acc).unwrap();
    u.fill(|[i]| i as i32 - 5).unwrap();
    u.save_npy(folder.file("u.npy")).unwrap();
    let bytes = fs::read(folder.file("u.npy")).unwrap();
    assert_eq!(bytes.len(), 128 + 130 * 4);
    let text = "\u{93}NUMPY\u{1}\u{0}v\u{0}{'descr': '<i4', 'fortran_order': False, 'shape': (130,), }";
    let start: Vec<u8> = text.chars().map(|c| c as u8).collect();
    assert_eq!(bytes[..start.len()], start[..]);
    assert!(bytes[start.len()..127].iter().all(|b| *b == b' ') && bytes[127] == b'\n');
    assert_eq!(bytes[128..132], (-5i32).to_le_bytes());
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn components_take_a_last_axis() {
    let (acc, folder) = (acc(), Folder::new());
    let mut u = TileArray::<[f64; 3], 2>::builder([4, 70]).regions([2, 2]).ghost(1).build(&acc).unwrap();
    u.fill(|[j, i]| [j as f64, i as f64, -1.0]).unwrap();
    u.save_npy(folder.file("u.npy")).unwrap();
    assert_eq!(TileArray::<f64, 3>::npy_shape(folder.file("u.npy")).unwrap(), [4, 70, 3]);
    assert_eq!(TileArray::<[f64; 3], 2>::npy_shape(folder.file("u.npy")).unwrap(), [4, 70]);
    let flat = TileArray::<f64, 3>::builder([4, 70, 3]).build_npy(&acc, folder.file("u.npy")).unwrap();
    assert_eq!(flat.to_ndarray().unwrap()[[3, 69, 1]], 69.0);
    let mut v = u.like().unwrap();
    v.load_npy(folder.file("u.npy")).unwrap();
    assert_eq!(v.to_ndarray().unwrap(), u.to_ndarray().unwrap());
    // First axis contiguous: components outermost.
    let data: Vec<u8> = (0..12).flat_map(|n| (n as f64).to_le_bytes()).collect();
    let path = folder.write("f.npy", &header("<f8", true, "(2, 2, 3)"), &data);
    let w = TileArray::<[f64; 3], 2>::builder([2, 2]).build_npy(&acc, path).unwrap();
    let expected = Array2::from_shape_fn((2, 2), |(j, i)| [0, 4, 8].map(|c| (c + 2 * i + j) as f64));
    assert_eq!(w.to_ndarray().unwrap(), expected);
}

#[test]
fn bools_in_files_are_bytes() {
    let (acc, folder) = (acc(), Folder::new());
    let path = folder.write("b.npy", &header("|b1", false, "(3,)"), &[0, 1, 7]);
    let u = TileArray::<bool, 1>::builder([3]).build_npy(&acc, &path).unwrap();
    assert_eq!(u.to_ndarray().unwrap().to_vec(), [false, true, true]);
    u.save_npy(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap()[128..], [0, 1, 1]);
}

#[test]
fn bad_files_are_errors_and_set_nothing() {
    let (acc, folder) = (acc(), Folder::new());
    let mut u = TileArray::<f64, 2>::builder([2, 3]).build(&acc).unwrap();
    u.fill_value(4.0).unwrap();
    let data = [1u8; 48];
    let cases = [
        (folder.write("type.npy", &header("<f4", false, "(2, 3)"), &data[..24]), "f32"),
        (folder.write("odd.npy", &header("<c16", false, "(2, 3)"), &data), "c16"),
        (
            folder.write("record.npy", "{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (2, 3)}", &data),
            "str",
        ),
        (folder.write("shape.npy", &header("<f8", false, "(3, 2)"), &data), "[3, 2]"),
        (folder.write("rank.npy", &header("<f8", false, "(6,)"), &data), "[6]"),
        (folder.write("short.npy", &header("<f8", false, "(2, 3)"), &data[..47]), "47 bytes"),
        (folder.write("long.npy", &header("<f8", false, "(2, 3)"), &[data, data].concat()), "96 bytes"),
        (folder.write("huge.npy", &header("<f8", false, "(18446744073709551615, 9)"), &data), "18446744073709551615"),
        (folder.write("header.npy", "{'descr': '<f8'", &data), "header"),
    ];
    for (path, found) in &cases {
        let e = u.load_npy(path).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Format, "{e}");
        assert!(e.to_string().contains(found) && !e.advice().is_empty(), "{e}");
    }
    fs::write(folder.file("magic.npy"), b"\x89PNG and so on").unwrap();
    assert_eq!(u.load_npy(folder.file("magic.npy")).unwrap_err().kind(), ErrorKind::Format);
    fs::write(folder.file("empty.npy"), b"").unwrap();
    assert_eq!(u.load_npy(folder.file("empty.npy")).unwrap_err().kind(), ErrorKind::Format);
    assert_eq!(u.load_npy(folder.file("none.npy")).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(u.save_npy(folder.file("no/such.npy")).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(TileArray::<f64, 1>::npy_shape(folder.file("shape.npy")).unwrap_err().kind(), ErrorKind::Format);
    assert_eq!(TileArray::<f64, 3>::npy_shape(folder.file("shape.npy")).unwrap_err().kind(), ErrorKind::Format);
    assert_eq!(u.to_ndarray().unwrap(), Array2::from_elem((2, 3), 4.0));
}

fn flip(path: &Path, byte: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[byte] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn checkpoints_come_back() {
    let (acc, folder) = (acc(), Folder::new());
    let path = folder.file("step.npz");
    let mut u = TileArray::<f64, 3>::builder([5, 4, 130]).regions([2, 2, 2]).ghost(1).build(&acc).unwrap();
    let mut v = TileArray::<[u8; 2], 1>::builder([9]).build(&acc).unwrap();
    u.fill(|[k, j, i]| (k * 1000 + j * 100 + i) as f64).unwrap();
    v.fill(|[i]| [i as u8, 255 - i as u8]).unwrap();
    tida::save(&path, &[("u", &u), ("v", &v)]).unwrap();
    let (saved_u, saved_v) = (u.to_ndarray().unwrap(), v.to_ndarray().unwrap());
    let mut other = TileArray::<f64, 3>::builder([5, 4, 130]).regions([5, 1, 1]).build(&acc).unwrap();
    v.fill_value([0; 2]).unwrap();
    tida::restore(&path, &mut [("u", &mut other), ("v", &mut v)]).unwrap();
    assert_eq!(other.to_ndarray().unwrap(), saved_u);
    assert_eq!(v.to_ndarray().unwrap(), saved_v);
    // Over itself.
    u.fill_value(1.0).unwrap();
    tida::save(&path, &[("u", &u)]).unwrap();
    tida::restore(&path, &mut [("u", &mut other)]).unwrap();
    assert!(other.to_ndarray().unwrap().iter().all(|x| *x == 1.0));
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[test]
fn a_checkpoint_that_is_not_right_leaves_all_arrays_alone() {
    let (acc, folder) = (acc(), Folder::new());
    let path = folder.file("step.npz");
    let mut u = TileArray::<f64, 1>::builder([300]).build(&acc).unwrap();
    let mut v = TileArray::<f64, 1>::builder([300]).build(&acc).unwrap();
    u.fill_value(1.0).unwrap();
    v.fill_value(2.0).unwrap();
    tida::save(&path, &[("u", &u), ("v", &v)]).unwrap();
    u.fill_value(-1.0).unwrap();
    v.fill_value(-2.0).unwrap();
    let mut long = TileArray::<f64, 1>::builder([301]).build(&acc).unwrap();
    let mut float = TileArray::<f32, 1>::builder([300]).build(&acc).unwrap();
    let kind = |r: tida::Result<()>| r.unwrap_err().kind();
    assert_eq!(kind(tida::restore(&path, &mut [("u", &mut u), ("w", &mut v)])), ErrorKind::Format);
    assert_eq!(kind(tida::restore(&path, &mut [("u", &mut u), ("v", &mut long)])), ErrorKind::Format);
    assert_eq!(kind(tida::restore(&path, &mut [("u", &mut u), ("v", &mut float)])), ErrorKind::Format);
    let good = fs::read(&path).unwrap();
    // A byte of the second array's values: only the checksum can tell.
    let value = 2.0f64.to_le_bytes();
    let place = good.windows(16).rposition(|w| w[..8] == value && w[8..] == value).unwrap();
    flip(&path, place);
    assert_eq!(kind(tida::restore(&path, &mut [("u", &mut u), ("v", &mut v)])), ErrorKind::Format);
    fs::write(&path, &good[..good.len() / 2]).unwrap();
    assert_eq!(kind(tida::restore(&path, &mut [("u", &mut u), ("v", &mut v)])), ErrorKind::Format);
    fs::write(&path, b"not a checkpoint").unwrap();
    assert_eq!(kind(tida::restore(&path, &mut [("u", &mut u), ("v", &mut v)])), ErrorKind::Format);
    assert_eq!(kind(tida::restore(folder.file("none"), &mut [("u", &mut u)])), ErrorKind::Io);
    assert!(u.to_ndarray().unwrap().iter().all(|x| *x == -1.0));
    assert!(v.to_ndarray().unwrap().iter().all(|x| *x == -2.0));
    for names in [["u", "u"], ["", "v"], ["../u", "v"]] {
        assert_eq!(kind(tida::save(&path, &[(names[0], &u), (names[1], &v)])), ErrorKind::Argument);
    }
}

/// An element of components of several sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mixed {
    flag: bool,
    mass: f64,
    kind: [u8; 2],
}

struct MixedPlace {
    flag: <bool as Element>::Place,
    mass: <f64 as Element>::Place,
    kind: <[u8; 2] as Element>::Place,
}

impl Place for MixedPlace {
    type Value = Mixed;
    fn load(&self) -> Mixed {
        Mixed { flag: self.flag.load(), mass: self.mass.load(), kind: self.kind.load() }
    }
    fn store(&self, value: Mixed) {
        self.flag.store(value.flag);
        self.mass.store(value.mass);
        self.kind.store(value.kind);
    }
}

// SAFETY: each field's planes follow those of the fields before it.
unsafe impl Element for Mixed {
    const TYPE: ElementType = ElementType::Struct {
        name: "Mixed",
        fields: &[("flag", bool::TYPE), ("mass", f64::TYPE), ("kind", <[u8; 2]>::TYPE)],
    };
    type Place = MixedPlace;
    unsafe fn place(base: *mut u8, cells: usize, index: usize) -> MixedPlace {
        // SAFETY: the caller's promise.
        unsafe {
            MixedPlace {
                flag: bool::place(base, cells, index),
                mass: f64::place(base.add(cells), cells, index),
                kind: <[u8; 2]>::place(base.add(9 * cells), cells, index),
            }
        }
    }
}

#[test]
fn components_of_several_types_are_filled_and_saved_apart() {
    let (acc, folder) = (acc(), Folder::new());
    let path = folder.file("step.npz");
    let outside = Mixed { flag: true, mass: -3.5, kind: [8, 9] };
    let mut u = TileArray::<Mixed, 2>::builder([3, 100])
        .regions([1, 2])
        .ghost(1)
        .boundary(Boundary::Fixed(outside))
        .build(&acc)
        .unwrap();
    u.fill(|[j, i]| Mixed { flag: (i + j) % 2 == 0, mass: i as f64, kind: [j as u8, i as u8] }).unwrap();
    u.fill_ghosts().unwrap();
    for (component, ghost, inner) in [(0, 1.0, 0.0), (1, -3.5, 64.0), (2, 8.0, 1.0), (3, 9.0, 64.0)] {
        let pick = |corner: f64, inside: f64| assert_eq!((corner, inside), (ghost, inner), "component {component}");
        match component {
            0 => u.with_grown_component::<bool, _>(0, 0, |v| pick(v[[0, 0]] as u8 as f64, v[[2, 65]] as u8 as f64)),
            1 => u.with_grown_component::<f64, _>(0, 1, |v| pick(v[[0, 0]], v[[2, 65]])),
            c => u.with_grown_component::<u8, _>(0, c, |v| pick(v[[0, 0]] as f64, v[[2, 65]] as f64)),
        }
        .unwrap();
    }
    assert_eq!(u.save_npy(folder.file("u.npy")).unwrap_err().kind(), ErrorKind::Format);
    assert_eq!(u.load_npy(folder.file("u.npy")).unwrap_err().kind(), ErrorKind::Io);
    tida::save(&path, &[("u", &u)]).unwrap();
    let mut v = TileArray::<Mixed, 2>::builder([3, 100]).build(&acc).unwrap();
    tida::restore(&path, &mut [("u", &mut v)]).unwrap();
    assert_eq!(v.to_ndarray().unwrap(), u.to_ndarray().unwrap());
    assert_eq!(u.clone().to_ndarray().unwrap(), u.to_ndarray().unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_saved_is_loaded(
        shape in [1usize..5, 1usize..5, 1usize..150],
        regions in [1usize..4, 1usize..4, 1usize..4],
        faces in any::<[bool; 3]>(),
        salt in any::<u64>(),
    ) {
        let (acc, folder) = (acc(), Folder::new());
        let most = [shape[0], shape[1], shape[2].div_ceil(64)];
        let build = || TileArray::<[u64; 2], 3>::builder(shape)
            .centering(faces.map(|f| if f { Centering::Face } else { Centering::Cell }));
        let mut u = build().regions(std::array::from_fn(|d| regions[d].min(most[d]))).build(&acc).unwrap();
        u.fill(|[k, j, i]| [salt.wrapping_mul((k * 77 + j * 7 + i) as u64), i as u64]).unwrap();
        u.save_npy(folder.file("u.npy")).unwrap();
        let v = build().ghost([0, 0, 1]).build_npy(&acc, folder.file("u.npy")).unwrap();
        prop_assert_eq!(u.to_ndarray().unwrap(), v.to_ndarray().unwrap());
        prop_assert_eq!(TileArray::<[u64; 2], 3>::npy_shape(folder.file("u.npy")).unwrap(), u.shape());
    }
}
