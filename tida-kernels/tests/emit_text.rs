//! Emitted text: as it stands, and that compilers take it.

mod emit_support;

use emit_support::{host, nvrtc, pocl, samples};
use tida_kernels::analysis::analyse;
use tida_kernels::codec::{Codec, Format};
use tida_kernels::emit::Source;
use tida_kernels::emit::copies::{Kind, copies};
use tida_kernels::emit::fold::{fold_tree_twice, fold_values};
use tida_kernels::emit::link;
use tida_kernels::ir::{Access, Coded, Kernel, coded};
use tida_kernels::plan::auto::Latency;
use tida_kernels::plan::{Dialect, FoldOp, Goal, Math, Plan};
use tida_kernels::{ElementType, ScalarType};

fn of(sample: &samples::Sample, dialect: Dialect, many: bool, narrow: bool) -> Source {
    // The form of few boxes where the dialect has it; tests on devices run the other one too.
    let by_value = if many && narrow && dialect == Dialect::Cuda { 4 } else { 0 };
    let rank = sample.kernel.rank;
    let block = match sample.goal {
        Goal::Segments(_) => [256, 1, 1],
        _ => sample.kernel.group.as_ref().map_or_else(|| Plan::mapping(&vec![512; rank], 8), |group| group.block()),
    };
    let groups = vec![0; sample.kernel.args.len()];
    let plan = Plan {
        dialect,
        math: Math::Exact,
        goal: sample.goal,
        block,
        many,
        by_value,
        narrow,
        joint: false,
        // Both forms compile.
        stream: !narrow,
        checked: sample.checked,
        groups,
        march: None,
        side: 1,
        rows: 0,
        fused: None,
        cache: Vec::new(),
        width: 1,
        cells: [1, 1],
        registers: 64,
        latency: Latency::TYPICAL,
        ghosts: Vec::new(),
        along: None,
        colours: None,
    };
    host::source(&sample.kernel, &plan)
}

/// Those of cells, and that of groups.
fn samples() -> Vec<samples::Sample> {
    let groups = samples::Sample { name: "groups", kernel: samples::groups(), goal: Goal::Sweep, checked: false };
    samples::all().into_iter().chain([groups]).collect()
}

#[test]
fn texts_stay_as_they_are() {
    for sample in samples() {
        for (dialect, name) in [(Dialect::Cuda, "cuda"), (Dialect::OpenCl, "opencl")] {
            let source = of(&sample, dialect, false, true);
            let params: Vec<String> = source.params.iter().map(|p| format!("{p:?}")).collect();
            let text = format!("// {}\n{}", params.join(", "), source.text);
            insta::assert_snapshot!(format!("{}.{name}", sample.name), text);
        }
    }
}

/// Few boxes or many, and how wide indices are: each of both.
const FORMS: [(bool, bool); 2] = [(false, true), (true, false)];

#[test]
fn cuda_compiles() {
    for sample in samples() {
        for (many, narrow) in FORMS {
            nvrtc::compile(&of(&sample, Dialect::Cuda, many, narrow).text);
        }
    }
}

#[test]
fn opencl_compiles_and_mentions_doubles_only_where_there_are_some() {
    for sample in samples() {
        for (many, narrow) in FORMS {
            let source = of(&sample, Dialect::OpenCl, many, narrow);
            pocl::MACHINE.build(&source.text);
            let doubles = sample.kernel.to_string().contains("f64");
            assert_eq!(source.text.contains("double") || source.text.contains("fp64"), doubles, "{}", source.text);
        }
    }
}

#[test]
fn lines_come_from_statements() {
    for sample in samples() {
        let source = of(&sample, Dialect::Cuda, false, true);
        for (text, place) in source.text.lines().zip(&source.lines) {
            let Some((_, note)) = text.split_once("// ") else { continue };
            let Some((file, span)) = place else { panic!("{text}") };
            assert!(
                file.ends_with(note.split(':').next().unwrap()) && note.ends_with(&span.line.to_string()),
                "{text}"
            );
        }
        assert!(source.lines.iter().any(Option::is_some));
        assert!(analyse(&sample.kernel).complete);
    }
}

#[test]
fn folding_kernels_compile() {
    use FoldOp::*;
    for &scalar in ScalarType::ALL.iter().filter(|ty| **ty != ScalarType::Bool) {
        for op in [Sum, Product, Min, Max, ArgMin, ArgMax] {
            for make in [fold_values, fold_tree_twice] {
                nvrtc::compile(&make(Dialect::Cuda, scalar, op).text);
                let text = make(Dialect::OpenCl, scalar, op).text;
                pocl::MACHINE.build(&text);
                assert_eq!(text.contains("double") || text.contains("fp64"), scalar == ScalarType::F64);
            }
        }
    }
}

/// The kernel with every float component of its arrays in a format, or rounded to it.
fn in_format(kernel: &Kernel, rounded: bool, format: impl Fn(ScalarType) -> Format) -> Kernel {
    let stored = |ty, codec: &Option<Codec>| {
        ElementType::Scalar(codec.as_ref().filter(|_| !rounded).map_or(ty, |codec| codec.code()))
    };
    let args: Vec<Option<Coded>> = (kernel.args.iter())
        .map(|arg| match arg.element {
            ElementType::Scalar(ty) if ty.is_float() && !matches!(arg.access, Access::Table | Access::Shared) => {
                let codec = Codec::new(ty, &format(ty)).unwrap();
                let (element, counted) = (stored(ty, &codec), arg.access == Access::Write);
                Some(Coded { element, codecs: vec![codec], counted, rounded })
            }
            _ => None,
        })
        .collect();
    coded(kernel, &args, &vec![false; args.len()], &[]).unwrap()
}

#[test]
fn kernels_of_codes_compile() {
    let range = |bits| Format::Range { bits, min: -0.5, max: 2.0 };
    let formats: [fn(ScalarType) -> Format; 3] = [
        |ty| Format::Range { bits: if ty == ScalarType::F32 { 8 } else { 32 }, min: -0.5, max: 2.0 },
        |ty| if ty == ScalarType::F32 { Format::Bfloat } else { Format::F32 },
        |_| Format::ScaledHalf { scale: 0.1 },
    ];
    let samples: Vec<_> = samples::all().into_iter().filter(|sample| sample.goal == Goal::Sweep).collect();
    for (n, sample) in samples.iter().enumerate() {
        let in_memory = sample.kernel.clone();
        let kernel = in_format(&in_memory, false, formats[n % 3]);
        let sample = samples::Sample { kernel, ..*sample };
        let cuda = of(&sample, Dialect::Cuda, n % 2 == 0, true);
        nvrtc::compile(&cuda.text);
        if n < 3 {
            let opencl = of(&sample, Dialect::OpenCl, false, true);
            pocl::MACHINE.build(&opencl.text);
            insta::assert_snapshot!(format!("{}.coded", sample.name), opencl.text + "\n// CUDA\n\n" + &cuda.text);
            // Memory holds values, and stores round.
            let kernel = in_format(&in_memory, true, formats[n % 3]);
            let sample = samples::Sample { kernel, ..sample };
            let cuda = of(&sample, Dialect::Cuda, n % 2 == 0, true);
            nvrtc::compile(&cuda.text);
            if n == 0 {
                insta::assert_snapshot!(format!("{}.rounded", sample.name), cuda.text);
            }
        }
    }
    let of = |ty, format: &Format| Codec::new(ty, format).unwrap().unwrap();
    for format in [range(8), range(16), Format::Half, Format::ScaledHalf { scale: 3.0 }, Format::Bfloat] {
        for ty in [ScalarType::F32, ScalarType::F64] {
            nvrtc::compile(&copies(Dialect::Cuda, &Kind::Codes(of(ty, &format))).text);
            nvrtc::compile(&copies(Dialect::Cuda, &Kind::Rounded(of(ty, &format))).text);
            nvrtc::compile(&link::codes(Dialect::Cuda, &of(ty, &format)).text);
        }
    }
    for format in [range(32), Format::F32] {
        let codec = of(ScalarType::F64, &format);
        for kind in [Kind::Codes(codec), Kind::Rounded(codec)] {
            nvrtc::compile(&copies(Dialect::Cuda, &kind).text);
            pocl::MACHINE.build(&copies(Dialect::OpenCl, &kind).text);
        }
        pocl::MACHINE.build(&link::codes(Dialect::OpenCl, &codec).text);
    }
}

/// What packs and unpacks for the link.
#[test]
fn kernels_of_the_link_compile() {
    for bytes in [4, 8] {
        nvrtc::compile(&link::frames(bytes).text);
    }
    insta::assert_snapshot!("link.frames", link::frames(8).text);
    let codec = Codec::new(ScalarType::F64, &Format::Range { bits: 16, min: 1.0, max: 2.0 }).unwrap().unwrap();
    let (cuda, opencl) = (link::codes(Dialect::Cuda, &codec).text, link::codes(Dialect::OpenCl, &codec).text);
    nvrtc::compile(&cuda);
    insta::assert_snapshot!("link.codes", opencl + "\n// CUDA\n\n" + &cuda);
}

#[test]
fn stores_go_past_the_caches_where_they_should() {
    for sample in samples() {
        let stores = |narrow: bool, dialect: Dialect| of(&sample, dialect, false, narrow).text.contains("tida_stream<");
        let sweep = sample.goal == Goal::Sweep;
        assert!(!stores(true, Dialect::Cuda) && !stores(false, Dialect::OpenCl), "{}", sample.name);
        assert!(!stores(false, Dialect::Cuda) || sweep, "{}", sample.name);
    }
    let heat = samples::all().into_iter().find(|sample| sample.name == "heat_3d").unwrap();
    assert!(of(&heat, Dialect::Cuda, false, false).text.contains("tida_stream<f64>(&"));
}
