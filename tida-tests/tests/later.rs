//! Values that are taken later, and fields that are set from bytes.

use std::sync::mpsc::channel;

use tida::array::Field;
use tida::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Cell {
    mass: f64,
    wet: [bool; 2],
}

fn fields() -> Vec<Field> {
    TileArray::<Cell, 2>::fields()
}

fn array(acc: &TileAcc) -> TileArray<Cell, 2> {
    let mut u = TileArray::<Cell, 2>::builder([6, 130]).regions([2, 2]).ghost(1).build(acc).unwrap();
    u.fill(|[j, i]| Cell { mass: (j * 1000 + i) as f64, wet: [i % 2 == 0, j % 2 == 0] }).unwrap();
    u
}

#[test]
fn a_box_of_several_regions_is_taken_as_it_was() {
    let acc = TileAcc::auto().unwrap();
    let mut u = array(&acc);
    let cells = GridBox::new([2, 60], [5, 70]);
    let (send, receive) = channel();
    let mut recorded = Vec::new();
    for step in 0..3 {
        for tile in u.tiles() {
            compute(&tile, &mut u, kernel!(|u, at| u[at].mass = u[at].mass + 1.0)).unwrap();
        }
        let send = send.clone();
        let take = u.with_box_later(cells, move |values| {
            assert_eq!(values.cells(), cells);
            let [mass, wet] = &fields()[..] else { panic!("two fields") };
            let (mut masses, mut wets) = (vec![0; 30 * 8], vec![9; 30 * 2]);
            values.copy(mass, &mut masses).unwrap();
            values.copy(wet, &mut wets).unwrap();
            send.send((step, masses, wets)).unwrap();
        });
        recorded.push(take.unwrap());
    }
    acc.sync().unwrap();
    assert!(recorded.iter().all(|recorded| recorded.is_done() && recorded.wait().is_ok()));
    drop(send);
    let mut taken: Vec<_> = receive.iter().collect();
    taken.sort();
    assert_eq!(taken.len(), 3);
    for (step, masses, wets) in taken {
        let at = |n: usize| (2 + n / 10, 60 + n % 10);
        let wanted = (0..30).map(at).map(|(j, i)| (j * 1000 + i + step + 1) as f64);
        assert_eq!(masses, wanted.flat_map(f64::to_ne_bytes).collect::<Vec<_>>());
        let wanted = (0..30).map(at).flat_map(|(j, i)| [u8::from(i % 2 == 0), u8::from(j % 2 == 0)]);
        assert_eq!(wets, wanted.collect::<Vec<_>>());
    }
}

/// More than a thread copies at once, with layers along each axis, on several regions; and takes that wait for others.
#[test]
fn all_threads_take_what_one_does() {
    let shape = [37, 90, 130];
    let acc = TileAcc::builder().device(Device::Cpu).threads(3).build().unwrap();
    let mut u = TileArray::<f64, 3>::builder(shape).regions([3, 1, 1]).ghost(1).build(&acc).unwrap();
    u.fill(|[k, j, i]| (k * 100_000 + j * 1000 + i) as f64).unwrap();
    let boxes = [
        GridBox::new([0, 0, 0], [37, 90, 130]),
        GridBox::new([5, 3, 7], [30, 88, 129]),
        GridBox::new([9, 0, 0], [10, 90, 130]),
        GridBox::new([9, 4, 3], [10, 5, 9]),
        GridBox::new([9, 4, 3], [9, 4, 3]),
    ];
    let (send, receive) = channel();
    for (number, cells) in boxes.into_iter().enumerate() {
        let send = send.clone();
        let take = move |values: &tida::array::BoxView<'_, 3>| {
            let field = TileArray::<f64, 3>::fields().remove(0);
            let mut bytes = vec![1; cells.cells() * 8];
            let taken = values.copy_together(&field, &mut bytes).map(|()| bytes);
            let wrong = values.copy_together(&field, &mut [0; 7]).is_err();
            send.send((number, taken, wrong)).unwrap();
        };
        u.with_box_later(cells, take).unwrap();
    }
    u.fill_value(0.0).unwrap();
    acc.sync().unwrap();
    drop(send);
    let mut count = 0;
    for (number, taken, wrong) in receive {
        let GridBox { lo, hi } = boxes[number];
        let row = |k: i64, j: i64| (lo[2]..hi[2]).map(move |i| (k * 100_000 + j * 1000 + i) as f64);
        let values = (lo[0]..hi[0]).flat_map(|k| (lo[1]..hi[1]).flat_map(move |j| row(k, j)));
        let known: Vec<u8> = values.flat_map(f64::to_ne_bytes).collect();
        assert!(taken.unwrap() == known && wrong, "box {number}");
        count += 1;
    }
    assert_eq!(count, boxes.len());
}

#[test]
fn what_takes_values_may_not_wait() {
    let acc = TileAcc::auto().unwrap();
    let (u, other) = (array(&acc), array(&acc));
    let (send, receive) = channel();
    let inside = acc.clone();
    let recorded = u.with_box_later(u.domain(), move |_| {
        let read = other.read_box(other.domain()).map(|_| ());
        let later = other.with_box_later(other.domain(), |_| {}).map(|_| ());
        send.send([read, later, inside.sync()]).unwrap();
    });
    recorded.unwrap().wait().unwrap();
    for refused in receive.recv().unwrap() {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Kernel);
    }
    assert_eq!(u.read_box(GridBox::new([0, 0], [1, 1])).unwrap()[0].mass, 0.0);
}

#[test]
fn failures_are_told() {
    let acc = TileAcc::auto().unwrap();
    let mut u = TileArray::<i32, 1>::builder([64]).build(&acc).unwrap();
    let panics = u.with_box_later(u.domain(), |_| std::panic::panic_any("on purpose")).unwrap();
    assert_eq!(panics.wait().unwrap_err().kind(), ErrorKind::Panic);
    for tile in u.tiles() {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = 1 / u[at])).unwrap();
    }
    let (send, receive) = channel();
    let recorded = u.with_box_later(u.domain(), move |_| send.send(()).unwrap()).unwrap();
    assert_eq!(recorded.wait().unwrap_err().kind(), ErrorKind::Division);
    // It was dropped.
    assert!(receive.recv().is_err());
    assert_eq!(u.with_box_later(GridBox::new([0], [65]), |_| {}).unwrap_err().kind(), ErrorKind::OutOfRange);
    acc.sync().unwrap();
}

#[test]
fn fields_are_set_from_bytes() {
    let acc = TileAcc::auto().unwrap();
    let mut u = array(&acc);
    let [mass, wet] = &fields()[..] else { panic!("two fields") };
    let cells = GridBox::new([2, 63], [4, 65]);
    u.write_box_field(cells, mass, &[7.0, 8.0, 9.0, 10.0].map(f64::to_ne_bytes).concat()).unwrap();
    u.write_box_field(cells, wet, &[1, 1, 0, 0, 1, 0, 0, 1]).unwrap();
    let found = u.read_box(cells).unwrap();
    assert_eq!(found[0], Cell { mass: 7.0, wet: [true, true] });
    assert_eq!(found[3], Cell { mass: 10.0, wet: [false, true] });
    assert_eq!(u.read_box(GridBox::new([2, 62], [3, 63])).unwrap()[0].mass, 2062.0);
    let mut refused = |cells, field: &Field, bytes: &[u8]| u.write_box_field(cells, field, bytes).unwrap_err();
    assert_eq!(refused(cells, wet, &[1, 1, 0, 0, 1, 0, 0, 2]).kind(), ErrorKind::Argument);
    assert_eq!(refused(cells, wet, &[1, 1, 0]).kind(), ErrorKind::Shape);
    assert_eq!(refused(GridBox::new([5, 0], [7, 1]), wet, &[0; 4]).kind(), ErrorKind::OutOfRange);
    let other = TileArray::<[f32; 4], 2>::fields().remove(0);
    assert_eq!(refused(cells, &other, &[0; 64]).kind(), ErrorKind::Argument);
    // A box without cells holds no bytes.
    u.write_box_field(GridBox::new([1, 1], [1, 5]), mass, &[]).unwrap();
}
