//! Programs that once failed, and others that are run each time.

use tida::SimDevice;

use crate::configuration::{Configuration, Place};
use crate::program::Program;
use crate::run::{Outcome, run};
use crate::soak::places;

/// Runs a program so often in each of these configurations.
fn holds(text: &str, rounds: usize, configurations: &[Configuration]) {
    let program: Program = text.parse().unwrap();
    for round in 0..rounds {
        for configuration in configurations {
            let program = Program { configuration: configuration.clone(), ..program.clone() };
            let outcome = run(&program, &SimDevice::new());
            assert!(!matches!(outcome, Outcome::Wrong(_)), "round {round}: {outcome:?} of\n{program}");
        }
    }
}

/// Runs a program so often in each of the places that there are beside the CPU.
fn holds_on_devices(text: &str, rounds: usize) {
    let program: Program = text.parse().unwrap();
    let with = |place| Configuration { place, ..program.configuration.clone() };
    let there = places().into_iter().filter(|place| *place != Place::Cpu).map(with);
    holds(text, rounds, &there.collect::<Vec<_>>());
}

/// Once wrong: the first kernel of a tile loop took a tile while the second was open, and what the second reads was
/// forgotten, so that the next loop overwrote it.
#[test]
fn a_sweep_that_grows_late_forgets_nothing() {
    let text = "
        program of=f64 shape=9,130 regions=3,1 seed=5
        on place=cpu threads=1 ahead=5 room=1 fuse=1
        array ghost=1:1,1:1 faces=periodic:periodic,periodic:periodic
        array ghost=1:1,1:1 faces=periodic:periodic,periodic:periodic
        array ghost=1:1,1:1 faces=periodic:periodic,periodic:periodic
        array ghost=1:1,1:1 faces=periodic:periodic,periodic:periodic
        two to=3 via=2 from=1 tile=4,72
        scale arrays=1 value=3
        two to=0 via=2 from=1 tile=4,72
    ";
    let with = |(threads, look_ahead)| Configuration { threads, look_ahead, ..Configuration::default() };
    holds(text, 30, &[(1, 5), (2, 3), (1, 256), (2, 256)].map(with));
}

/// Once wrong on GPUs: plans had found where a cell reads, the text that ran had not, since the program says it by an
/// expression.
#[test]
fn lines_whose_axis_is_an_expression_run_as_on_a_gpu() {
    let text = "
        program of=f64 shape=9,130 regions=2,1 seed=5
        on place=opencl threads=1 ahead=256 room=1 fuse=1 gpu=1
        array ghost=1:1,1:1 faces=periodic:periodic,fixed:near
        array ghost=1:1,1:1 faces=periodic:periodic,fixed:near
        ghosts of=0
        line to=0 from=1 axis=1 named=1
        ghosts of=0
        line to=0 from=1 axis=1 backward=1 named=1
        ghosts of=0
        line to=0 from=1 axis=0 named=1
        ghosts of=0
        line to=0 from=1 axis=0 backward=1 named=1
    ";
    holds_on_devices(text, 1);
}

/// A chain gives its room back at any time: one that ends while work that needs whole arrays is recorded once left that
/// work without room for them.
#[test]
fn a_chain_that_ends_while_work_is_recorded_leaves_its_room_to_it() {
    let text = "
        program of=f64 shape=34,104 regions=4,1 seed=7
        on place=sim threads=2 ahead=2 room=4 fuse=1
        array ghost=2:2,2:2 faces=periodic:periodic,near:near
        array ghost=2:2,2:2 faces=periodic:periodic,near:near
        array ghost=2:2,2:2 faces=periodic:periodic,near:near
        array ghost=2:2,2:2 faces=periodic:periodic,near:near nodes=0,1
        array ghost=2:2,2:2 faces=periodic:periodic,near:near nodes=1,0
        checked arrays=0,1 value=0
        scale arrays=2 value=1
        tilt arrays=0,3 value=0
        ghosts of=2
        star arrays=0,2 value=0 within=9:16,8:13
        checked arrays=2,0 value=0
        tilt arrays=4,0 value=0
    ";
    let with = |place| Configuration { place, room: 4, look_ahead: 2, ..Configuration::default() };
    holds(text, 30, &places().into_iter().filter(|place| *place != Place::Cpu).map(with).collect::<Vec<_>>());
}

/// Planes that arrive end where the memory of the array on the device ends: it has no padding after the last one, which
/// the host's regions may have.
#[test]
fn planes_that_arrive_stay_in_the_memory_of_their_array() {
    let text = "
        program of=f64 shape=20,78 regions=2,1 seed=1
        on place=sim threads=1 ahead=256 room=1 fuse=1 streams=1
        array ghost=0:0,0:0 faces=fixed:fixed,fixed:fixed
        array ghost=0:0,0:0 faces=fixed:fixed,fixed:fixed
        array ghost=2:1,2:1 faces=fixed:fixed,fixed:fixed nodes=1,0
        tilt arrays=1,2 value=0
        look of=1
    ";
    let program: Program = text.parse().unwrap();
    holds(text, 3, &[program.configuration]);
}

/// A loop on both sides takes the regions of an array apart once it runs. Steps recorded behind it were fused all the
/// same, as if the regions lay in a row.
#[test]
fn steps_behind_a_loop_on_both_sides_are_not_fused() {
    let text = "
        program of=f32 shape=2,39 regions=2,1 seed=2081788972
        on place=opencl threads=2 ahead=256 room=8 fuse=3 join=1 slow=1
        array ghost=1:1,1:1 faces=fixed:fixed,fixed:fixed
        array ghost=1:1,1:1 faces=fixed:fixed,fixed:fixed
        array ghost=0:1,0:1 faces=fixed:fixed,fixed:fixed
        weights arrays=0,2 value=0 side=both
        repeat times=5
          choose arrays=1,0 value=0
          swap a=0 b=1
        end
    ";
    holds_on_devices(text, 30);
}

/// Once an error of too little room (decision 0044), whose cause was not found.
#[test]
fn what_was_replaced_gives_its_room_to_others() {
    let text = "
        program of=i32 shape=8,7,93 regions=4,1,1 seed=893400424
        on place=sim threads=1 ahead=256 room=4 fuse=1 join=1 beside=1 unhurried=1
        array ghost=2:2,2:2,2:2 faces=fixed:fixed,fixed:fixed,fixed:fixed
        array ghost=2:2,2:2,2:2 faces=fixed:fixed,fixed:fixed,fixed:fixed
        array ghost=2:2,2:2,2:2 faces=fixed:fixed,fixed:fixed,fixed:fixed
        some arrays=1,0 value=0 side=both
        clone to=0 from=2
        sum of=2
        weights arrays=0,1 value=0
    ";
    holds_on_devices(text, 10);
}

/// Once an error: the fill of one array's ghosts took the room that another array of the same call had been found.
#[test]
fn fills_of_one_call_find_their_room_after_each_other() {
    let text = "
        program of=f32 shape=6,6,65 regions=3,2,2 seed=1
        on place=sim threads=1 ahead=256 room=4 fuse=1
        array ghost=1:0,0:0,1:0 faces=fixed:fixed,fixed:fixed,fixed:fixed
        array ghost=1:0,0:0,0:1 faces=fixed:fixed,fixed:fixed,fixed:fixed
        tilt arrays=0,1 value=0
        later to=1 from=0
        bothghosts a=0 b=1
    ";
    holds_on_devices(text, 3);
}

/// Once an error: an array that was dropped right after its ghosts were filled gave its memory back while the copies
/// that the fill had brought it with were under way.
#[test]
fn an_array_whose_ghosts_are_filled_keeps_its_memory() {
    let text = "
        program of=u8 shape=2,1 regions=1,1 seed=2825048213
        on place=sim threads=2 ahead=256 room=1 fuse=1
        array ghost=0:0,0:0 faces=fixed:fixed,fixed:fixed
        array ghost=1:1,1:1 faces=periodic:periodic,fixed:fixed
        array ghost=0:0,0:0 faces=fixed:fixed,fixed:fixed
        corners arrays=2,1 value=0
        write to=1 part=0:16,0:16
        ghosts of=1
        clone to=1 from=2
    ";
    holds_on_devices(text, 50);
}

/// Once an error of OpenCL's compiler, which has a function by the name that the function of a step had.
#[test]
fn a_step_that_reads_two_numbers_compiles() {
    let text = "
        program of=f64 shape=1,1 regions=1,1 seed=1
        on place=opencl threads=1 ahead=256 room=1 fuse=5
        array ghost=0:0,0:0 faces=fixed:fixed,fixed:fixed
        array ghost=1:0,1:1 faces=fixed:fixed,near:fixed
        array ghost=1:0,1:1 faces=fixed:fixed,near:fixed
        repeat times=5
          tilt arrays=2,1 value=0
          swap a=1 b=2
        end
    ";
    holds_on_devices(text, 3);
}

/// Once without end: the last of the steps still took tiles when a sweep on both sides was recorded that waits for it.
/// The step was then held back, and a thread waited for the sweep alone.
#[test]
fn nothing_waits_for_a_step_that_is_held_back() {
    let text = "
        program of=i32 shape=2,6,4 regions=1,1,1 seed=228735514
        on place=sim threads=4 ahead=4 room=1 fuse=3 unhurried=1 slow=1
        array ghost=2:2,2:2,2:2 faces=near:even,fixed:even,periodic:periodic packed=1
        array ghost=2:2,2:2,2:2 faces=near:even,fixed:even,periodic:periodic packed=1
        array ghost=2:2,2:2,2:2 faces=near:even,fixed:even,periodic:periodic packed=1
        repeat times=15
          choose arrays=0,2 value=16
          swap a=2 b=0
        end
        blend arrays=2,1,1 value=18 tile=4,2,46 march=4 side=both
    ";
    holds_on_devices(text, 1);
}

/// Once wrong: a part as thin as its ghosts gave all of it twice in one message, and its regions were on both sides.
/// The ghosts on the one side of the other part were zeros.
#[test]
fn a_thin_part_on_both_sides_is_given_twice() {
    let text = "
        program of=f64 shape=10,130 regions=3,2 seed=1
        on place=sim threads=1 ahead=256 room=1 fuse=1 parts=2 overlap=0
        array ghost=3:3,2:2 faces=periodic:periodic,even:even
        array ghost=3:3,2:2 faces=periodic:periodic,even:even
        scale arrays=0 value=1 side=both
        corners arrays=1,0 value=0
    ";
    holds_on_devices(text, 3);
}

/// Once wrong now and then: the ghosts of both parts were filled in chains, and what was left to fill on the host was
/// noted once for all parts. The first part that the host read took the note, and the other one kept zeros.
#[test]
fn each_part_is_filled_on_the_host_after_its_chain() {
    let text = "
        program of=f64 shape=8,52 regions=3,1 seed=1
        on place=sim threads=1 ahead=256 room=8 fuse=0 parts=2 overlap=3
        array ghost=0:0,0:0 faces=fixed:fixed,fixed:fixed
        array ghost=1:0,1:0 faces=fixed:fixed,fixed:fixed
        array ghost=0:0,0:0 faces=fixed:fixed,fixed:fixed
        repeat times=20
          clone to=2 from=1
        end
        add arrays=1,0 value=0
    ";
    holds_on_devices(text, 20);
}

/// Once wrong: a clone said that no plane of its neighbours was good. It was given them before it was read, and the
/// ghosts beside these planes were those of before.
#[test]
fn a_clone_has_the_planes_of_neighbours_and_their_ghosts() {
    let text = "
        program of=f64 shape=8,5,68 regions=2,1,1 seed=1461996278
        on place=sim threads=1 ahead=256 room=64 fuse=0 parts=2 overlap=2
        array ghost=1:1,1:1,1:1 faces=near:near,near:near,near:near
        array ghost=1:1,1:1,1:1 faces=near:near,near:near,near:near
        array ghost=1:1,1:1,1:1 faces=near:near,near:near,near:near
        tilt arrays=0,2 value=18
        swap a=2 b=0
        corners arrays=1,2 value=15
        clone to=0 from=2
        corners arrays=1,0 value=27
    ";
    holds_on_devices(text, 1);
}

/// Once wrong: a chain was chosen for a sweep, and then ended, since steps that were held back had to give their room.
/// The sweep opened another chain, which read ghosts that the first one had filled on the unwrapped axis alone, as the
/// host had them.
#[test]
fn ghosts_of_a_chain_that_ends_too_early_are_there() {
    let text = "
        program of=f32 shape=13,36 regions=3,1 seed=4176946623
        on place=sim threads=4 ahead=256 room=4 fuse=5 unhurried=1 one_engine=1
        array ghost=2:2,1:1 faces=periodic:periodic,fixed:fixed
        array ghost=2:2,1:1 faces=periodic:periodic,fixed:fixed
        array ghost=2:2,2:2 faces=periodic:periodic,periodic:periodic
        array ghost=2:2,2:2 faces=periodic:periodic,periodic:periodic
        recut of=1 regions=1
        repeat times=2
          star arrays=2,1 value=0
          swap a=1 b=2
        end
        corners arrays=0,3 value=0
        tilt arrays=2,0 value=0
    ";
    holds_on_devices(text, 1);
}

/// Once wrong: a sweep that writes an array with fixed faces and reads a periodic one computed its edges first, but not
/// those where the periodic array alone has a neighbour. These waited for no strips.
#[test]
fn edges_are_those_of_all_arrays_of_a_sweep() {
    let text = "
        program of=wave shape=8,1 regions=2,1 seed=906652086
        on place=sim threads=2 ahead=256 room=1 fuse=1 edges=1 parts=3 overlap=0
        array ghost=1:1,1:1 faces=periodic:periodic,fixed:fixed
        array ghost=1:1,1:1 faces=fixed:fixed,fixed:fixed
        repeat times=4
          star arrays=0,1 value=0
          swap a=1 b=0
        end
    ";
    holds_on_devices(text, 3);
}
