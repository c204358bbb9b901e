#!/usr/bin/env bash
# Compiles the references that are whole programs: `compile.sh FOLDER [ARCHITECTURE]`, for the GPU of this machine
# without the second.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
into=$1
mkdir -p "$into"

architecture=${2:-native}

# one NAME SOURCE FLAGS..
one() {
    nvcc -O3 -arch="$architecture" --extended-lambda -Xcompiler -pthread "${@:3}" -o "$into/$1" "$here/$2.cu"
}

jobs=()
one skew skew &
jobs+=($!)
one ooc ooc &
jobs+=($!)
one heat_host heat_host -fmad=false &
jobs+=($!)
one heat_two heat_two &
jobs+=($!)
one sincos_host sincos_host -fmad=false &
jobs+=($!)
one sincos_host_fast sincos_host -use_fast_math &
jobs+=($!)
for job in "${jobs[@]}"; do
    wait "$job"
done
