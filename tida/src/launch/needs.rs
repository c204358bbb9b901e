//! Why the arrays of a kernel do not stream plane by plane: what errors say of arrays that have no room on a device.

use tida_kernels::ir::Access;

use super::prepare::{Prepared, cell_text};

/// What keeps the arrays of a kernel from streaming.
#[derive(Debug)]
pub(crate) struct Needs {
    /// They have to be on the device as a whole; else whole regions of them.
    pub whole: bool,
    found: String,
    /// What would let them stream.
    pub advice: String,
    /// Why an array that is read as a whole has no room, if it is that: what is said where no windows have it.
    why: Option<&'static str>,
}

/// The read that no launch could prove: its argument, and its number there.
pub(crate) type Unproven = Option<(usize, usize)>;

impl Needs {
    /// What a kernel needs over these tiles; nothing if its arrays may stream, but for their cuts.
    pub fn of(prepared: &Prepared, grown: bool, unproven: Unproven) -> Option<Needs> {
        let place = |arg: usize| place_of(prepared, (arg, 0));
        let args = || prepared.kernel.args.iter().enumerate();
        if let Some((number, arg)) = args().find(|(_, arg)| arg.access == Access::All) {
            let found = format!(
                "arrays have to be there as a whole because of `{}`, which is read as a whole array (`all`) at {}, and ",
                arg.name,
                place(number)
            );
            let advice = "make it smaller, or read it around `at` if it has the cuts of the tiles; or run these tiles on \
                          the CPU (`.device(Device::Cpu)`), or raise the memory limit";
            let why = Some("takes half of the memory or is an argument twice");
            return Some(Needs { whole: true, found, advice: advice.into(), why });
        }
        if let Some((number, read)) = unproven {
            let read = checked_read(prepared, (number, read))?;
            let found = format!("{read}, which is checked as it runs");
            let found = format!("arrays have to be there region by region because of {found}");
            let advice = "write the index as `at` plus constants, so that planes stream, cut the arrays into smaller regions, or \
                          raise the memory limit";
            return Some(Needs { whole: false, found, advice: advice.into(), why: None });
        }
        let what = match prepared.kernel.group {
            Some(_) => "the kernel over groups",
            None if grown => "tiles that were grown over ghosts, for the kernel",
            None => return None,
        };
        let found = format!("arrays have to be there region by region because of {what} at {}", prepared.place());
        let advice = "cut the arrays into smaller regions, or raise the memory limit";
        Some(Needs { whole: false, found, advice: advice.into(), why: None })
    }
}

impl Needs {
    /// What asks for that, and where. An array that is read as a whole may have room by itself: then it is the others
    /// that lack it, or `windows`, as many bytes, that have it.
    pub fn found(&self, windows: Option<u64>) -> String {
        let why = match (self.why, windows) {
            (None, _) => String::new(),
            (Some(why), None) => why.into(),
            (Some(_), Some(0)) => "is too large beside the other arguments".into(),
            (Some(_), Some(bytes)) => {
                format!("does not fit beside windows of arrays that stream, which hold {bytes} bytes")
            }
        };
        format!("{}{why}", self.found)
    }

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
        Needs { whole: false, found, advice: advice.into(), why: None }
    }

    /// What a kernel needs whose cells run backward along the first axis: planes stream upwards.
    pub fn downwards(prepared: &Prepared) -> Needs {
        let found = format!(
            "arrays have to be there two regions at a time because the kernel at {} runs backward along the first axis",
            prepared.place()
        );
        let advice = "cut the arrays into smaller regions, run these tiles on the CPU (`.device(Device::Cpu)`), or raise the \
                      memory limit";
        Needs { whole: false, found, advice: advice.into(), why: None }
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
