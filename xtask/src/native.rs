//! What `explain` says of kernels' native form, against what the compiler made of it.
//!
//! `benches/native` is compiled as users compile their programs. Each of its kernels is a function whose name is in the
//! symbols of what was made of it, for each instruction set. All that kernels are made of is compiled there, so the
//! library is the one that the tests have, with little optimisation.

use std::fs;

use crate::Result;
use crate::shell::{command, libraries, read, run, target};

/// The forms with vectors that are longer than those of every processor.
const FORMS: [&str; 2] = ["with_avx2", "with_avx512"];

/// What `explain` says of a kernel for which it is the compiler that weighs whether vectors pay.
const WEIGHED: &str = "where the compiler finds that they pay";

/// Builds the kernels with the library that this call of cargo builds, and compares each.
pub fn compare(build: &str) -> Result<()> {
    if !cfg!(target_arch = "x86_64") {
        println!("   not on this processor: the forms that are looked at are those of x86-64");
        return Ok(());
    }
    let tida = libraries(build, &["tida"])?;
    let (program, file) = (target().join("native"), target().join("native.s"));
    let mut rustc = command("rustc --edition 2024 --crate-name native benches/native/main.rs");
    rustc.args(AS_RELEASED).arg("-o").arg(&program).arg(format!("--emit=link,asm={}", file.display()));
    run(rustc.args(tida))?;
    let assembly = fs::read_to_string(&file).map_err(|e| format!("tried to read {}; found: {e}", file.display()))?;
    let told = read(&mut std::process::Command::new(program))?;
    for line in told.lines() {
        let Some((name, said)) = line.split_once(": ") else { return Err(format!("what is `{line}`?")) };
        println!("   {}", judge(&assembly, name, said)?);
    }
    Ok(())
}

/// As programs of users are compiled for use, with names in symbols, and as one text: parts of it would overwrite one
/// another's. (Debug assertions are off without being told so, and so are checks for overflow.)
const AS_RELEASED: [&str; 3] = ["-Copt-level=3", "-Csymbol-mangling-version=v0", "-Ccodegen-units=1"];

/// Whether a kernel has what `explain` says of it, in each form.
fn judge(assembly: &str, name: &str, said: &str) -> Result<String> {
    let vectors = !said.contains("vectors: none");
    for form in FORMS {
        let found = count(assembly, form, name);
        let Count { functions: 1.., packed, single } = found else {
            return Err(format!("the assembly has no `{form}` of the kernel `{name}`"));
        };
        if !said.contains(WEIGHED) && vectors != (packed > 0) {
            let word = if vectors { "vectors" } else { "no vectors" };
            return Err(format!(
                "explain promises {word} for the kernel `{name}` ({said}), but its {form} has {packed} operations of vectors and \
                 {single} of single values"
            ));
        }
    }
    let word = match said.contains(WEIGHED) {
        true => "vectors where they pay",
        false if vectors => "vectors",
        false => "cell by cell",
    };
    Ok(format!("{name}: {word}"))
}

/// What functions are made of.
#[derive(Debug, Default, PartialEq)]
struct Count {
    functions: usize,
    /// Floating-point operations on vectors, and on single values.
    packed: usize,
    single: usize,
}

/// Counts the operations of a form of a kernel.
fn count(assembly: &str, form: &str, name: &str) -> Count {
    // As symbols have names: with their lengths before them.
    let [form, name] = [form, name].map(|name| format!("{}{name}", name.len()));
    let mut count = Count::default();
    let mut inside = false;
    for line in assembly.lines() {
        if let Some(symbol) = line.strip_suffix(':').filter(|symbol| symbol.starts_with("_R")) {
            inside = symbol.contains(&form) && symbol.contains(&name);
            count.functions += usize::from(inside);
        }
        let word = line.split_whitespace().next().unwrap_or_default();
        let operation =
            ["vadd", "vsub", "vmul", "vdiv", "vsqrt", "vmin", "vmax"].iter().find_map(|op| word.strip_prefix(op));
        match operation {
            Some("pd" | "ps") if inside => count.packed += 1,
            Some("sd" | "ss") if inside => count.single += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "_RINvNt3isa11with_avx512NCNv6native4star:\n\tvmulpd\t%zmm0, %zmm1, %zmm2\n\tvaddsd\t%xmm0, %xmm1\n\
                        _RINvNt3isa9with_avx2NCNv6native4star:\n\tvmulpd\t%ymm0, %ymm1, %ymm2\n\
                        _RINvNt3isa9with_avx2NCNv6native4near:\n\tvmulsd\t%xmm0, %xmm1\n\
                        _RINvNt3isa11with_avx512NCNv6native4near:\n.LBB1:\n\tvmulsd\t%xmm0, %xmm1\n";

    #[test]
    fn a_kernel_that_is_not_as_told_is_caught() {
        assert_eq!(count(TEXT, "with_avx512", "star"), Count { functions: 1, packed: 1, single: 1 });
        assert!(judge(TEXT, "star", "vectors: AVX-512; checks: none needed").is_ok());
        assert!(judge(TEXT, "star", "vectors: none, cells run").is_err());
        assert!(judge(TEXT, "near", "vectors: none, cells run").is_ok());
        assert!(judge(TEXT, "near", "vectors: AVX-512; checks: none needed").is_err());
        assert!(judge(TEXT, "near", "vectors: AVX-512 where the compiler finds that they pay: the cells").is_ok());
        assert!(judge(TEXT, "gone", "vectors: AVX-512").is_err());
    }
}
