//! `.npy` files and checkpoints.
#![cfg(all(feature = "ndarray", feature = "npz"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ndarray::{Array2, Array3};
use proptest::prelude::*;
use tida::__private::{ElementType, Place};
use tida::prelude::*;
use tida_tests::folder::Folder;

fn acc() -> TileAcc {
    TileAcc::builder().threads(2).build().unwrap()
}

/// Writes a `.npy` file with this header.
fn write(folder: &Folder, name: &str, header: &str, data: &[u8]) -> PathBuf {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    fs::write(folder.file(name), bytes).unwrap();
    folder.file(name)
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
            let path = write(&folder, "a.npy", &header(descr, fortran, "(3, 2, 70)"), &data);
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
    assert_eq!(folder.names(), ["u.npy"], "no temporary file is left");
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
    let path = write(&folder, "f.npy", &header("<f8", true, "(2, 2, 3)"), &data);
    let w = TileArray::<[f64; 3], 2>::builder([2, 2]).build_npy(&acc, path).unwrap();
    let expected = Array2::from_shape_fn((2, 2), |(j, i)| [0, 4, 8].map(|c| (c + 2 * i + j) as f64));
    assert_eq!(w.to_ndarray().unwrap(), expected);
}

#[test]
fn bools_in_files_are_bytes() {
    let (acc, folder) = (acc(), Folder::new());
    let path = write(&folder, "b.npy", &header("|b1", false, "(3,)"), &[0, 1, 7]);
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
        (write(&folder, "type.npy", &header("<f4", false, "(2, 3)"), &data[..24]), "f32"),
        (write(&folder, "odd.npy", &header("<c32", false, "(2, 3)"), &data), "c32"),
        (write(&folder, "complex.npy", &header("<c16", false, "(2, 3)"), &[data, data].concat()), "complex numbers"),
        (
            write(&folder, "record.npy", "{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (2, 3)}", &data),
            "str",
        ),
        (write(&folder, "shape.npy", &header("<f8", false, "(3, 2)"), &data), "[3, 2]"),
        (write(&folder, "rank.npy", &header("<f8", false, "(6,)"), &data), "[6]"),
        (write(&folder, "short.npy", &header("<f8", false, "(2, 3)"), &data[..47]), "47 bytes"),
        (write(&folder, "long.npy", &header("<f8", false, "(2, 3)"), &[data, data].concat()), "96 bytes"),
        (write(&folder, "huge.npy", &header("<f8", false, "(18446744073709551615, 9)"), &data), "18446744073709551615"),
        (write(&folder, "header.npy", "{'descr': '<f8'", &data), "header"),
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

#[test]
fn shapes_are_those_of_whole_files() {
    let folder = Folder::new();
    let data = [1u8; 48];
    let shape = |path: &Path| TileArray::<f64, 2>::npy_shape(path);
    assert_eq!(shape(&write(&folder, "good.npy", &header("<f8", false, "(2, 3)"), &data)).unwrap(), [2, 3]);
    let cases = [
        ("(2, 3)", 40, "8 are missing"),
        ("(2, 3)", 0, "48 are missing"),
        ("(2, 2)", 48, "16 left over"),
        ("(2, 1000000000000)", 48, "15999999999952 are missing"),
        ("(18446744073709551615, 9)", 48, "18446744073709551615 x 9 values, more than any file holds"),
        ("(18446744073709551616, 9)", 48, "not whole numbers"),
        ("(4294967296, 536870912)", 48, "more than any file holds"),
        ("(-2, 3)", 48, "not whole numbers"),
        ("(6,)", 48, "[6]"),
    ];
    for (says, bytes, found) in cases {
        let path = write(&folder, "bad.npy", &header("<f8", false, says), &data[..bytes]);
        let e = shape(&path).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Format, "{e}");
        assert!(e.found().contains(found) && !e.advice().is_empty(), "{e}");
        let mut u = TileArray::<f64, 2>::builder([2, 3]).build(&acc()).unwrap();
        assert_eq!(u.load_npy(&path).unwrap_err().kind(), ErrorKind::Format);
    }
    // An array without values is one to NumPy, and none here.
    let path = write(&folder, "none.npy", &header("<f8", false, "(0, 18446744073709551615)"), &[]);
    assert_eq!(shape(&path).unwrap(), [0, usize::MAX]);
    let path = write(&folder, "none.npy", &header("<f8", false, "(3, 0)"), &[]);
    let e = TileArray::<f64, 2>::builder(shape(&path).unwrap()).build_npy(&acc(), &path).unwrap_err();
    assert!(e.kind() == ErrorKind::Shape && e.found().contains("0 cells on axis 1"), "{e}");
    let path = write(&folder, "none.npy", &header("<f8", false, "(3, 0)"), &[0]);
    assert!(shape(&path).unwrap_err().found().contains("1 left over"));
}

/// What comes of something that must not wait for ever.
fn soon<R: Send + 'static>(does: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(does()));
    is_done.recv_timeout(std::time::Duration::from_secs(60)).expect("it does not wait")
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_read() {
    let folder = Folder::new();
    let name = std::ffi::CString::new(folder.file("pipe").to_str().unwrap()).unwrap();
    // SAFETY: the path ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o644) }, 0);
    std::os::unix::fs::symlink("pipe", folder.file("link")).unwrap();
    fs::create_dir(folder.file("dir")).unwrap();
    let zero = PathBuf::from("/dev/zero");
    for (path, found) in [
        (folder.file("pipe"), "a pipe"),
        (folder.file("link"), "a pipe"),
        (folder.file("dir"), "a folder"),
        (zero, "a device"),
    ] {
        let errors = soon(move || {
            let (acc, arrays) = (acc(), TileArray::<f64, 1>::builder([3]));
            let mut u = arrays.build(&acc).unwrap();
            [
                TileArray::<f64, 1>::npy_shape(&path).unwrap_err(),
                u.load_npy(&path).unwrap_err(),
                arrays.build_npy(&acc, &path).unwrap_err(),
                tida::restore(&path, &mut [("u", &mut u)]).unwrap_err(),
            ]
        });
        for e in errors {
            assert!(e.kind() == ErrorKind::Io && e.found().starts_with(found), "{e}");
            assert!(e.advice().contains("file"), "{e}");
        }
    }
    // A link to a file is as good as the file.
    write(&folder, "u.npy", &header("<f8", false, "(3,)"), &[0; 24]);
    std::os::unix::fs::symlink("u.npy", folder.file("to u")).unwrap();
    assert_eq!(TileArray::<f64, 1>::npy_shape(folder.file("to u")).unwrap(), [3]);
}

/// What `numpy.savez_compressed(.., u=[[1., 2., 3.], [4., 5., 6.]])` writes.
const COMPRESSED: &str = "504b03042d000000080000002100397109daffffffffffffffff05001400752e6e70790100\
    1000b0000000000000005a000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a1aea3a09e965f54529498179f5f949\
    20a12774bcc294e058a17672416a402f91a463a0ac69a3a0ab50a64032e0630f8600fa1191c201407941680d222505ac20100504b01022d032d\
    000000080000002100397109da5a000000b0000000050000000000000000000000800100000000752e6e7079504b05060000000001000100330\
    00000910000000000";

#[test]
fn files_of_another_kind_are_named() {
    let (acc, folder) = (acc(), Folder::new());
    let mut u = TileArray::<f64, 2>::builder([2, 3]).build(&acc).unwrap();
    u.fill_value(4.0).unwrap();
    let digits: Vec<u8> = COMPRESSED.bytes().map(|digit| (digit as char).to_digit(16).unwrap() as u8).collect();
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    fs::write(folder.file("small.npz"), bytes).unwrap();
    let e = tida::restore(folder.file("small.npz"), &mut [("u", &mut u)]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Format, "{e}");
    assert!(
        e.found().contains("compressed (Deflated)") && e.advice().contains("`numpy.savez`, not `savez_compressed`"),
        "{e}"
    );
    // One for the other.
    tida::save(folder.file("u.npz"), &[("u", &u), ("v", &u)]).unwrap();
    u.save_npy(folder.file("u.npy")).unwrap();
    let e = u.load_npy(folder.file("u.npz")).unwrap_err();
    assert!(e.kind() == ErrorKind::Format && e.found().contains("zip") && e.advice().contains("`restore`"), "{e}");
    let e = tida::restore(folder.file("u.npy"), &mut [("u", &mut u)]).unwrap_err();
    assert!(e.kind() == ErrorKind::Format && e.found().contains(".npy") && e.advice().contains("load_npy"), "{e}");
    // What is there.
    let e = tida::restore(folder.file("u.npz"), &mut [("w", &mut u)]).unwrap_err();
    assert!(e.found().contains("no \"w.npy\"") && e.found().contains("\"u.npy\", \"v.npy\""), "{e}");
    let e = u.load_npy(folder.file("none.npy")).unwrap_err();
    assert!(e.kind() == ErrorKind::Io && e.found().starts_with("no file of that name"), "{e}");
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
    assert_eq!(folder.names(), ["step.npz"]);
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
    unsafe fn load(&self) -> Mixed {
        // SAFETY: the caller's promise, for each field.
        unsafe { Mixed { flag: self.flag.load(), mass: self.mass.load(), kind: self.kind.load() } }
    }
    unsafe fn store(&self, value: Mixed) {
        // SAFETY: as above.
        unsafe {
            self.flag.store(value.flag);
            self.mass.store(value.mass);
            self.kind.store(value.kind);
        }
    }
}

// SAFETY: each field's planes follow those of the fields before it.
unsafe impl Element for Mixed {
    const TYPE: ElementType = ElementType::Struct {
        name: "Mixed",
        fields: &[("flag", bool::TYPE), ("mass", f64::TYPE), ("kind", <[u8; 2]>::TYPE)],
    };
    type Place = MixedPlace;
    fn values(of: &Mixed, to: &mut tida::__private::Values<'_>) {
        bool::values(&of.flag, to);
        f64::values(&of.mass, to);
        <[u8; 2]>::values(&of.kind, to);
    }
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

#[test]
fn values_that_a_format_cannot_hold_keep_no_other_array_from_being_restored() {
    let (acc, folder) = (acc(), Folder::new());
    let path = folder.file("step.npz");
    let mut u = TileArray::<f64, 1>::builder([100]).build(&acc).unwrap();
    u.fill_value(9.0).unwrap();
    tida::save(&path, &[("u", &u), ("v", &u)]).unwrap();
    let narrow = Format::Range { bits: 16, min: -1.0, max: 1.0 };
    let mut v = TileArray::<f64, 1>::builder([100]).storage(narrow).build(&acc).unwrap();
    u.fill_value(0.0).unwrap();
    let e = tida::restore(&path, &mut [("v", &mut v), ("u", &mut u)]).unwrap_err();
    assert!(e.kind() == ErrorKind::OutOfRange && e.found().contains("100 values"), "{e}");
    assert!(v.to_ndarray().unwrap().iter().all(|x| (0.999..=1.0).contains(x)), "the nearest");
    assert!(u.to_ndarray().unwrap().iter().all(|x| *x == 9.0));
}

#[test]
fn a_field_without_components_is_no_hindrance() {
    #[derive(Clone, Copy, Debug, PartialEq, Element)]
    struct State {
        before: [u8; 0],
        mass: f64,
        tracers: [f64; 0],
    }
    let (acc, folder) = (acc(), Folder::new());
    let state = |mass| State { before: [], mass, tracers: [] };
    let mut u = TileArray::<State, 1>::builder([100]).regions([2]).ghost(1).build(&acc).unwrap();
    u.fill(|[i]| state(i as f64)).unwrap();
    for tile in u.tiles() {
        tida::compute(&tile, &mut u, kernel!(|u, at| u[at].mass = u[at].mass + 1.0)).unwrap();
    }
    tida::save(folder.file("u.npz"), &[("u", &u)]).unwrap();
    u.save_npy(folder.file("u.npy")).unwrap();
    let mut v = TileArray::<State, 1>::builder([100]).build(&acc).unwrap();
    tida::restore(folder.file("u.npz"), &mut [("u", &mut v)]).unwrap();
    assert_eq!(v.to_ndarray().unwrap()[99], state(100.0));
    v.fill_value(state(0.0)).unwrap();
    v.load_npy(folder.file("u.npy")).unwrap();
    assert_eq!(v.to_ndarray().unwrap(), u.to_ndarray().unwrap());
}

/// Damage to a file.
#[derive(Clone, Debug)]
enum Damage {
    Bit(prop::sample::Index, u8),
    Byte(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Lost(prop::sample::Index, usize),
    More(prop::sample::Index, Vec<u8>),
}

impl Damage {
    fn any() -> impl Strategy<Value = Damage> {
        let at = any::<prop::sample::Index>;
        prop_oneof![
            4 => (at(), 0u8..8).prop_map(|(at, bit)| Damage::Bit(at, bit)),
            2 => (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
            1 => at().prop_map(Damage::Cut),
            1 => (at(), 1usize..20).prop_map(|(at, count)| Damage::Lost(at, count)),
            1 => (at(), prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, more)| Damage::More(at, more)),
        ]
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let length = bytes.len();
        match self {
            Damage::Bit(at, bit) => bytes[at.index(length)] ^= 1 << bit,
            Damage::Byte(at, byte) => bytes[at.index(length)] = *byte,
            Damage::Cut(at) => bytes.truncate(at.index(length)),
            Damage::Lost(at, count) => drop(bytes.drain(at.index(length)..length.min(at.index(length) + count))),
            Damage::More(at, more) => drop(bytes.splice(at.index(length)..at.index(length), more.iter().copied())),
        }
    }
}

/// Arrays that are saved, the files of them, and arrays of other values to read these into.
struct Saved {
    acc: TileAcc,
    u: TileArray<f64, 2>,
    v: TileArray<Mixed, 1>,
    w: TileArray<[u8; 2], 1>,
    files: [Vec<u8>; 3],
}

fn saved() -> &'static Saved {
    static SAVED: OnceLock<Saved> = OnceLock::new();
    SAVED.get_or_init(|| {
        let (acc, folder) = (acc(), Folder::new());
        let mut u = TileArray::builder([3, 70]).regions([1, 2]).ghost(1).build(&acc).unwrap();
        u.fill(|[j, i]| (100 * j + i) as f64).unwrap();
        let mut v = TileArray::builder([4]).build(&acc).unwrap();
        v.fill(|[i]| Mixed { flag: i % 2 == 0, mass: i as f64 + 0.5, kind: [7, i as u8] }).unwrap();
        let mut w = TileArray::builder([5]).build(&acc).unwrap();
        w.fill(|[i]| [i as u8, 9]).unwrap();
        u.save_npy(folder.file("u.npy")).unwrap();
        w.save_npy(folder.file("w.npy")).unwrap();
        tida::save(folder.file("all.npz"), &[("u", &u), ("v", &v), ("w", &w)]).unwrap();
        let files = ["u.npy", "w.npy", "all.npz"].map(|name| fs::read(folder.file(name)).unwrap());
        Saved { acc, u, v, w, files }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_are_errors_and_set_nothing(
        which in 0usize..3,
        damages in prop::collection::vec(Damage::any(), 1..4),
        header_alone in any::<bool>(),
    ) {
        let Saved { acc, u: right_u, v: right_v, w: right_w, files } = saved();
        let mut bytes = files[which].clone();
        if header_alone && which < 2 {
            let data = bytes.split_off(128);
            damages.iter().for_each(|damage| damage.apply(&mut bytes));
            bytes.extend(data);
        } else {
            damages.iter().for_each(|damage| damage.apply(&mut bytes));
        }
        let folder = Folder::new();
        let path = folder.file("damaged");
        fs::write(&path, bytes).unwrap();
        let (mut u, mut v, mut w) = (right_u.like().unwrap(), right_v.like().unwrap(), right_w.like().unwrap());
        u.fill_value(-1.0).unwrap();
        w.fill_value([3, 4]).unwrap();
        let restored = tida::restore(&path, &mut [("w", &mut w), ("v", &mut v), ("u", &mut u)]);
        // A checksum covers all values: they are all right, or none was set.
        match restored {
            Ok(()) => {
                prop_assert_eq!(u.to_ndarray().unwrap(), right_u.to_ndarray().unwrap());
                prop_assert_eq!(v.to_ndarray().unwrap(), right_v.to_ndarray().unwrap());
                prop_assert_eq!(w.to_ndarray().unwrap(), right_w.to_ndarray().unwrap());
            }
            Err(e) => {
                prop_assert!(!e.found().is_empty() && !e.advice().is_empty());
                prop_assert!(u.to_ndarray().unwrap().iter().all(|x| *x == -1.0));
                let zero = Mixed { flag: false, mass: 0.0, kind: [0; 2] };
                prop_assert!(v.to_ndarray().unwrap().iter().all(|x| *x == zero));
                prop_assert!(w.to_ndarray().unwrap().iter().all(|x| *x == [3, 4]));
            }
        }
        u.fill_value(-1.0).unwrap();
        w.fill_value([3, 4]).unwrap();
        let shape = TileArray::<f64, 2>::npy_shape(&path);
        if let Err(e) = u.load_npy(&path) {
            prop_assert_eq!(e.kind(), ErrorKind::Format);
            prop_assert!(u.to_ndarray().unwrap().iter().all(|x| *x == -1.0));
        } else {
            prop_assert_eq!(shape.clone().unwrap(), u.shape());
        }
        if w.load_npy(&path).is_err() {
            prop_assert!(w.to_ndarray().unwrap().iter().all(|x| *x == [3, 4]));
        } else {
            prop_assert_eq!(TileArray::<[u8; 2], 1>::npy_shape(&path).unwrap(), w.shape());
        }
        // What has a shape can be read into an array of it.
        if let Ok(shape) = shape && !shape.contains(&0) {
            prop_assert!(TileArray::<f64, 2>::builder(shape).build_npy(acc, &path).is_ok());
        }
        if let Ok([cells]) = TileArray::<u8, 1>::npy_shape(&path) && cells > 0 {
            prop_assert!(TileArray::<u8, 1>::builder([cells]).build_npy(acc, &path).is_ok());
        }
        prop_assert!(TileArray::<Mixed, 1>::npy_shape(&path).is_err());
    }
}
