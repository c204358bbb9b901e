//! Why the arrays of a kernel do not stream plane by plane: what errors say of arrays that have no room on a device.

use tida_kernels::ir::Access;

use super::prepare::{Prepared, cell_text};

/// What keeps the arrays of a kernel from streaming.
#[derive(Debug)]
pub(crate) struct Needs {
    /// They have to be on the device as a whole; else whole regions of them.
    pub whole: bool,
    /// What asks for that, and where.
    pub found: String,
    /// What would let them stream.
    pub advice: String,
}

/// The read that no launch could prove: its argument, and its number there.
pub(crate) type Unproven = Option<(usize, usize)>;

impl Needs {
    /// What a kernel needs over these tiles; nothing if its arrays may stream, but for their cuts.
    pub fn of(prepared: &Prepared, grown: bool, unproven: Unproven) -> Option<Needs> {
        let place = |arg: usize| place_of(prepared, (arg, 0));
        let whole = |found: String, advice: &str| {
            let advice =
                format!("{advice}; or run these tiles on the CPU (`.device(Device::Cpu)`), or raise the memory limit");
            let found = format!("arrays have to be there as a whole because of {found}");
            Some(Needs { whole: true, found, advice })
        };
        let args = || prepared.kernel.args.iter().enumerate();
        if let Some((number, arg)) = args().find(|(_, arg)| arg.access == Access::All) {
            let found = format!(
                "`{}`, which is read as a whole array (`all`) at {}, and takes half of the memory or is an argument \
                 twice",
                arg.name,
                place(number)
            );
            return whole(found, "make it smaller, or read it around `at` if it has the cuts of the tiles");
        }
        if let Some((number, read)) = unproven {
            let read = checked_read(prepared, (number, read))?;
            let found = format!("{read}, which is checked as it runs");
            let found = format!("arrays have to be there region by region because of {found}");
            let advice = "write the index as `at` plus constants, so that planes stream, cut the arrays into smaller regions, or \
                          raise the memory limit";
            return Some(Needs { whole: false, found, advice: advice.into() });
        }
        let what = match prepared.kernel.group {
            Some(_) => "the kernel over groups",
            None if grown => "tiles that were grown over ghosts, for the kernel",
            None => return None,
        };
        let found = format!("arrays have to be there region by region because of {what} at {}", prepared.place());
        let advice = "cut the arrays into smaller regions, or raise the memory limit";
        Some(Needs { whole: false, found, advice: advice.into() })
    }
}

impl Needs {
    /// The same because of an argument of another resolution whose index does not move along with the cell.
    pub fn of_level(prepared: &Prepared, arg: usize) -> Needs {
        let name = prepared.kernel.args.get(arg).map_or("", |arg| arg.name.as_str());
        let found = format!(
            "arrays have to be there region by region because of `{name}`, an array of another resolution whose index does \
             not move along with the cell ({})",
            place_of(prepared, (arg, 0))
        );
        let advice = "write the index along the first axis as half of `at` or its double plus constants, so that planes \
                      stream, cut the arrays into smaller regions, or raise the memory limit";
        Needs { whole: false, found, advice: advice.into() }
    }

    /// What a kernel needs whose cells run backward along the first axis: planes stream upwards.
    pub fn downwards(prepared: &Prepared) -> Needs {
        let found = format!(
            "arrays have to be there two regions at a time because the kernel at {} runs backward along the first axis",
            prepared.place()
        );
        let advice = "cut the arrays into smaller regions, run these tiles on the CPU (`.device(Device::Cpu)`), or raise the \
                      memory limit";
        Needs { whole: false, found, advice: advice.into() }
    }
}

/// Where a read stands.
fn place_of(prepared: &Prepared, (arg, read): (usize, usize)) -> String {
    let access = prepared.analysis.args.get(arg).and_then(|usage| usage.accesses.get(read));
    access.map_or_else(
        || prepared.place(),
        |access| format!("{}:{}:{}", prepared.kernel.file, access.span.line, access.span.column),
    )
}

/// A read that no launch could prove, in words.
pub(crate) fn checked_read(prepared: &Prepared, (arg, read): (usize, usize)) -> Option<String> {
    let access = prepared.analysis.args.get(arg).and_then(|usage| usage.accesses.get(read))?;
    let name = prepared.kernel.args.get(arg).map_or("", |arg| arg.name.as_str());
    let cell = cell_text(&prepared.analysis, &prepared.kernel, name, access);
    Some(format!("the read of {cell} ({})", place_of(prepared, (arg, read))))
}
