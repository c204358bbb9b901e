#!/usr/bin/env bash
# Runs a folder of `cargo xtask gpu-bundle` on a machine with a GPU and without Rust. There are several folders, each
# with a part of the programs; `ls bin/*` shows which.
#
#   ./run.sh test cuda|opencl|cpu [PATTERN..]   every test program on that device; with patterns, those whose
#                                               PACKAGE/NAME matches one
#   ./run.sh smoke cuda|opencl|cpu              every example, small, compared with plain loops
#   ./run.sh ranks cuda|opencl|cpu              ranks of this host: random programs, also under memcheck, and failures; by
#                                               its `mpirun`, or where it has none, or MPI=bundle, by that of the bundle
#                                               (`. bin/mpi/env.sh` has a shell take it for other programs)
#   ./run.sh sanitize [TEST..]                  compute-sanitizer over small runs of the examples and of some tests
#   ./run.sh bench [FLAGS..]                    tida against hand-written CUDA; `./run.sh bench --help`
#   ./run.sh ooc [FLAGS..]                      arrays larger than memory and the figures of TiDA-acc, against hand-written
#                                               programs where nvcc is there to compile them; same flags
#
# LIMIT sets the seconds that one program may take (default 300).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ -d "$here/bin" ] || tar -xJf "$here/programs.tar.xz" -C "$here" || exit 1
limit=${LIMIT:-300}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
table=

for folder in /usr/local/cuda/lib64 /usr/local/cuda/targets/x86_64-linux/lib; do
    [ -d "$folder" ] && export LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    [ -e "$folder/libnvrtc.so.13" ] && export TIDA_NVRTC="${TIDA_NVRTC:-$folder/libnvrtc.so.13}"
done
PATH=$PATH:/usr/local/cuda/bin
# Kernels of this bundle alone, compiled here.
export TIDA_CACHE_DIR="${TIDA_CACHE_DIR:-$scratch/cache}"

# Ends unless this folder has the program.
has() {
    [ -x "$here/bin/$1" ] && return
    echo "tried to run $1; found no such program in $here/bin; it is in another folder of the bundle" >&2
    exit 1
}

usage() {
    sed -n '2,/^set/s/^#\{0,1\} \{0,1\}//p' "$0" | sed '$d' >&2
    exit 2
}

# Fails unless the word names a device; everything that follows runs on it and must not skip it.
choose() {
    case ${1:-} in
        cuda) export TIDA_REQUIRE_CUDA=1 TIDA_REQUIRE_NVRTC=1 ;;
        opencl)
            export TIDA_REQUIRE_OPENCL=1
            # Where the driver of a GPU is registered, it is the one to test; PoCL may be there as well.
            if [ -e /etc/OpenCL/vendors/nvidia.icd ]; then
                export OCL_ICD_VENDORS=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors/nvidia.icd}
            elif ldconfig -p | grep -q libnvidia-opencl.so.1 || [ -e /usr/lib/libnvidia-opencl.so.1 ]; then
                # Installed, but not registered.
                mkdir -p "$scratch/vendors"
                echo libnvidia-opencl.so.1 >"$scratch/vendors/nvidia.icd"
                export OCL_ICD_VENDORS=${OCL_ICD_VENDORS:-$scratch/vendors}
            fi
            ;;
        cpu) ;;
        *) usage ;;
    esac
    export TIDA_DEVICE=$1
}

# try NAME COMMAND..: runs it, prints a line, and on failure the end of what it printed.
try() {
    local name=$1 start=$EPOCHREALTIME status=0 word
    shift
    "$@" >"$scratch/log" 2>&1 </dev/null || status=$?
    case $status in
        0) word=ok ;;
        124 | 137) word="FAILED (over $limit s)" ;;
        *) word="FAILED ($status)" ;;
    esac
    local line
    line=$(awk -v n="$name" -v w="$word" -v a="$start" -v b="$EPOCHREALTIME" \
        'BEGIN { printf "%8.2f s  %-18s %s", b - a, w, n }')
    local summary
    summary=$(grep -E '^test result:|^========= (ERROR|RACECHECK) SUMMARY' "$scratch/log" | tail -n 1)
    echo "$line${summary:+  [$summary]}"
    if [ "$status" -ne 0 ]; then
        failed=$((failed + 1))
        tail -n "${TAIL:-60}" "$scratch/log" | sed 's/^/    | /'
    fi
    table+=$line$'\n'
}

summary() {
    echo
    echo "== summary"
    printf '%s' "$table"
    local count
    count=$(printf '%s' "$table" | grep -c .)
    echo "== $((count - failed)) of $count passed"
    [ "$count" -gt 0 ] && [ "$failed" -eq 0 ]
}

# in_package PACKAGE COMMAND..: as cargo would run it, with the package's folder as the current one.
in_package() {
    local package=$1 folder
    shift
    folder=$here/data
    [ "$package" = root ] || folder=$here/data/$package
    mkdir -p "$folder"
    # insta finds its snapshots below the root of the workspace, and would ask cargo for it.
    (cd "$folder" && CARGO_MANIFEST_DIR=$folder INSTA_WORKSPACE_ROOT=$here/data INSTA_UPDATE=no limited "$@")
}

limited() {
    timeout --kill-after=10 "$limit" "$@"
}

wanted() {
    local name=$1 pattern
    shift
    [ $# -eq 0 ] && return 0
    for pattern in "$@"; do
        [[ $name == *$pattern* ]] && return 0
    done
    return 1
}

tests() {
    choose "${1:-}"
    shift
    has tests
    local program name
    for program in "$here"/bin/tests/*/*; do
        name=${program#"$here"/bin/tests/}
        wanted "$name" "$@" && try "$name" in_package "${name%%/*}" "$program"
    done
    summary
}

# One example, which compares itself with plain loops and fails if it differs; it must have run on the device asked for.
# What stands before `--` runs it.
example() {
    local runner=() device name
    while [ "$1" != -- ]; do
        runner+=("$1")
        shift
    done
    device=$2 name=$3
    shift 3
    limited "${runner[@]}" "$here/bin/examples/$name" "$@" --device "$device" --verify --json | tee "$scratch/json"
    [ "${PIPESTATUS[0]}" -eq 0 ] || return 1
    grep -q "\"device\":\"$device\"" "$scratch/json" || { echo "it did not run on $device" && return 1; }
}

smoke() {
    choose "${1:-}"
    has examples/heat
    local device=$1 line
    while read -r line; do
        # shellcheck disable=SC2086
        try "$line" example -- "$device" $line
    done <"$here/smoke.txt"
    summary
}

# ranks_of COUNT COMMAND..: so many ranks of this host.
ranks_of() {
    local count=$1
    shift
    limited mpirun --oversubscribe --allow-run-as-root -n "$count" "$@"
}

# fails WORDS COMMAND..: it ends by itself, as a failure that says these words.
fails() {
    local words=$1 status=0
    shift
    "$@" >"$scratch/failure" 2>&1 || status=$?
    cat "$scratch/failure"
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ] && grep -qF -- "$words" "$scratch/failure"
}

ranks() {
    choose "${1:-}"
    has examples/ranks
    local program=$here/bin/examples/ranks count how words
    if [ "${MPI:-}" = bundle ] || ! command -v mpirun >/dev/null; then
        # shellcheck source=/dev/null
        . "$here/bin/mpi/env.sh" || exit 1
    fi
    # In containers a process may not read the memory of another.
    export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    for count in 1 2 3 5; do
        try "$count ranks" ranks_of "$count" "$program" bits 4
    done
    if [ "$TIDA_DEVICE" = cuda ] && command -v compute-sanitizer >/dev/null; then
        try "2 ranks, memcheck" ranks_of 2 compute-sanitizer --tool memcheck --report-api-errors no \
            --error-exitcode 1 "$program" bits 1
    fi
    while IFS='|' read -r how words; do
        TIDA_RANKS_TIMEOUT=$([ "$how" = slow ] && echo 2 || echo 60) \
            try "3 ranks: $how" fails "$words" ranks_of 3 "$program" fails "$how"
    done <<<"error|a domain of 0..[24, 64]
panic|on purpose
kill|rank 1
exit|non-zero
skip|rank 1 ended
check|ghost width 1
fault|an integer division by zero
slow|TIDA_RANKS_TIMEOUT"
    summary
}

# Small enough for tools that slow a kernel down a hundredfold.
sanitized='heat --dims 3 --size 20 --steps 3 --regions 2 --boundary periodic
heat --dims 2 --size 33 --steps 4 --regions 3x1 --boundary reflect --dtype f32
heat --dims 2 --size 130 --steps 3 --regions 2x2 --tile 16x8 --boundary fixed
heat --dims 1 --size 300 --steps 4 --regions 3 --boundary periodic
heat --dims 3 --size 24 --steps 5 --regions 3 --boundary fixed --memory-limit 150000
heat --dims 2 --size 90 --steps 6 --regions 3x1 --boundary reflect --memory-limit 60000
sincos --size 12 --steps 2 --regions 2
life --size 40 --steps 4 --regions 3
jacobi --size 10 --steps 20 --regions 2
wave --size 32 --steps 4 --regions 3'

sanitize() {
    choose cuda
    [ $# -gt 0 ] || set -- tida-tests/tile tida-tests/reduce
    local tool line test tests=()
    [ -d "$here/bin/examples" ] || sanitized=
    for test in "$@"; do
        if [ -x "$here/bin/tests/$test" ]; then tests+=("$test"); else echo "no $test in this folder" >&2; fi
    done
    if ! command -v compute-sanitizer >/dev/null; then
        echo "tried to run compute-sanitizer; found none; install the CUDA toolkit" >&2
        exit 1
    fi
    local flags
    for tool in memcheck racecheck initcheck; do
        # The driver is asked for parameters of a kernel until it says that there are no more: no error of ours.
        flags=
        [ "$tool" = memcheck ] && flags="--report-api-errors no"
        while read -r line; do
            [ -n "$line" ] || continue
            # Planes are stored whole, with ghosts at their edges that nothing has set and no one looks at.
            [[ $tool = initcheck && $line = *reflect*--memory-limit* ]] && continue
            # shellcheck disable=SC2086
            try "$tool $line" example compute-sanitizer --tool "$tool" $flags --error-exitcode 1 -- cuda $line
        done <<<"$sanitized"
        for test in "${tests[@]}"; do
            # shellcheck disable=SC2086
            try "$tool $test" in_package "${test%%/*}" \
                compute-sanitizer --tool "$tool" $flags --error-exitcode 1 "$here/bin/tests/$test"
        done
    done
    summary
}

case ${1:-} in
    test | smoke | ranks | sanitize)
        what=$1
        shift
        [ "$what" = test ] && what=tests
        "$what" "$@"
        ;;
    bench)
        shift
        has benches/gpu
        # Not `exec`: the scratch folder goes when this ends.
        "$here/bin/benches/gpu" "$@"
        ;;
    ooc)
        shift
        has benches/gpu
        # Whole programs to compare with, where there is a compiler for them.
        if command -v nvcc >/dev/null; then
            export TIDA_REFERENCES=$scratch/references
            bash "$here/data/benches/reference/compile.sh" "$TIDA_REFERENCES" || exit 1
        else
            echo "no nvcc: nothing to compare with" >&2
        fi
        "$here/bin/benches/gpu" --ooc "$@"
        ;;
    *) usage ;;
esac
