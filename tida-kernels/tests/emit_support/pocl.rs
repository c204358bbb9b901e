//! Runs emitted OpenCL on whatever device the machine has.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::LazyLock;

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device, get_all_devices};
use opencl3::kernel::set_kernel_arg;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::program::Program;
use tida_kernels::emit::{FaultRecord, Param, Source};
use tida_kernels::ir::Kernel;
use tida_kernels::plan::{Goal, Plan};
use tida_kernels::scalar::Fault;

use super::host::Launch;

pub struct Machine {
    context: Context,
    queue: CommandQueue,
}

// SAFETY: contexts and queues of OpenCL may be used from any thread.
unsafe impl Sync for Machine {}
// SAFETY: as above.
unsafe impl Send for Machine {}

pub static MACHINE: LazyLock<Machine> = LazyLock::new(|| {
    let devices = get_all_devices(CL_DEVICE_TYPE_ALL).expect("a platform of OpenCL (Debian: pocl-opencl-icd)");
    let context = Context::from_device(&Device::new(devices[0])).unwrap();
    #[allow(deprecated)]
    let queue = CommandQueue::create_default(&context, 0).unwrap();
    Machine { context, queue }
});

/// An argument of a launch.
pub enum Given {
    Bytes(Vec<u8>),
    Memory(usize),
}

impl Machine {
    pub fn build(&self, text: &str) -> Program {
        self.build_with(text, "")
    }

    /// The same with more options.
    pub fn build_with(&self, text: &str, more: &str) -> Program {
        let options = &format!("-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt {more}");
        Program::create_and_build_from_source(&self.context, text, options)
            .unwrap_or_else(|log| panic!("{log}\n{}", numbered(text)))
    }

    /// Runs one kernel over a grid of blocks; what it wrote is in `memories` afterwards.
    pub fn run(
        &self,
        program: &Program,
        entry: &str,
        given: &[Given],
        memories: &mut [Vec<u8>],
        block: [u32; 3],
        grid: [u64; 3],
    ) {
        let kernel = opencl3::kernel::Kernel::create(program, entry).unwrap();
        // SAFETY: buffers are created from sizes alone and filled before the kernel runs; every argument has the size
        // of its parameter, or OpenCL refuses it; reads wait.
        unsafe {
            let mut buffers: Vec<Buffer<u8>> = memories
                .iter()
                .map(|m| Buffer::create(&self.context, CL_MEM_READ_WRITE, m.len().max(1), null_mut()).unwrap())
                .collect();
            for (buffer, memory) in buffers.iter_mut().zip(memories.iter()).filter(|(_, m)| !m.is_empty()) {
                self.queue.enqueue_write_buffer(buffer, 1, 0, memory, &[]).unwrap();
            }
            for (n, given) in given.iter().enumerate() {
                match given {
                    Given::Bytes(bytes) => {
                        set_kernel_arg(kernel.get(), n as u32, bytes.len(), bytes.as_ptr().cast::<c_void>()).unwrap();
                    }
                    Given::Memory(m) => {
                        let handle = buffers[*m].get();
                        set_kernel_arg(kernel.get(), n as u32, 8, (&raw const handle).cast::<c_void>()).unwrap();
                    }
                }
            }
            let local: Vec<usize> = block.iter().map(|n| *n as usize).collect();
            let global: Vec<usize> = local.iter().zip(grid).map(|(n, blocks)| n * blocks as usize).collect();
            let (global, local) = (global.as_ptr(), local.as_ptr());
            self.queue.enqueue_nd_range_kernel(kernel.get(), 3, std::ptr::null(), global, local, &[]).unwrap();
            self.queue.finish().unwrap();
            for (buffer, memory) in buffers.iter().zip(memories.iter_mut()).filter(|(_, m)| !m.is_empty()) {
                self.queue.enqueue_read_buffer(buffer, 1, 0, memory, &[]).unwrap();
            }
        }
    }
}

/// Runs a launch as `source` says. The arrays are what it left; gives what it wrote to `Out` (of `out` bytes) and the
/// fault.
pub fn run(kernel: &Kernel, plan: &Plan, source: &Source, launch: &mut Launch, out: usize) -> (Vec<u8>, Option<Fault>) {
    // Steps in one launch are long texts, which are compiled for one launch here.
    let more = if plan.fused.is_some() { "-cl-opt-disable" } else { "" };
    let program = MACHINE.build_with(&source.text, more);
    let mut memories: Vec<Vec<u8>> = launch.grids.0.iter().map(|g| g.bytes.clone()).collect();
    let arrays = memories.len();
    memories.push(vec![0; out]);
    memories.push(vec![0; size_of::<FaultRecord>()]);
    let groups: Vec<Vec<_>> = match plan.many {
        true => vec![launch.boxes.clone()],
        false => launch.boxes.iter().map(|b| vec![b.clone()]).collect(),
    };
    for boxes in groups {
        let blocks = |b: &(Vec<i64>, Vec<i64>)| {
            let extent: Vec<i64> = b.0.iter().zip(&b.1).map(|(lo, hi)| hi - lo).collect();
            match plan.goal {
                Goal::Segments(_) => plan.segment_blocks(b.0[b.0.len() - 1], &extent),
                _ => plan.blocks(&extent),
            }
        };
        let mut grid = boxes.iter().map(blocks).fold([1; 3], |a, b| [a[0].max(b[0]), a[1].max(b[1]), a[2].max(b[2])]);
        // Blocks past a box's end do nothing: their number is made a power of two.
        let tiles = if plan.many { grid[2].next_power_of_two() } else { grid[2] };
        grid[2] = tiles * boxes.len() as u64;
        let words: Vec<u8> =
            boxes.iter().flat_map(|b| launch.geometry(source, plan, b)).flat_map(|w| w.to_le_bytes()).collect();
        let mut given = Vec::new();
        let mut own = |bytes: Vec<u8>| {
            memories.push(bytes);
            Given::Memory(memories.len() - 1)
        };
        for param in &source.params {
            given.push(match *param {
                Param::Array(n) => Given::Memory(n as usize),
                Param::Capture(n) => Given::Bytes(launch.capture(kernel, n)),
                Param::Geometry => Given::Bytes(words.clone()),
                Param::Boxes => own(words.clone()),
                Param::LogTiles => Given::Bytes(tiles.ilog2().to_le_bytes().to_vec()),
                Param::March => Given::Bytes((plan.march.unwrap() as i32).to_le_bytes().to_vec()),
                Param::Whole(n) => {
                    own(launch.grids.0[n as usize].words().iter().flat_map(|w| w.to_le_bytes()).collect())
                }
                // CUDA alone has them.
                Param::Map(_) => unreachable!(),
                Param::Length(n) => Given::Bytes(launch.grids.0[n as usize].hi[0].to_le_bytes().to_vec()),
                Param::Fault => Given::Memory(arrays + 1),
                Param::Out => Given::Memory(arrays),
            });
        }
        MACHINE.run(&program, &source.entry, &given, &mut memories, plan.block, grid);
    }
    for (grid, bytes) in launch.grids.0.iter_mut().zip(&memories) {
        grid.bytes.clone_from(bytes);
    }
    // SAFETY: the record has as many bytes, any of which make one.
    let record = unsafe { memories[arrays + 1].as_ptr().cast::<FaultRecord>().read_unaligned() };
    assert!(record.lock == 0 && record.version.is_multiple_of(2), "{record:?}");
    (memories[arrays].clone(), record.fault())
}

/// The text with its lines' numbers.
pub fn numbered(text: &str) -> String {
    text.lines().enumerate().map(|(n, line)| format!("{:4} {line}\n", n + 1)).collect()
}
