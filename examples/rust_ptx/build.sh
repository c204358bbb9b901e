#!/bin/sh
# Compiles kernel/ to heat.ptx with Debian's rustc for its nvptx64 target:
#   apt-get install rustc-web cargo-web rust-web-src rust-web-llvm
# heat.ptx is checked in, so that the example runs without any of this.
set -e
cd "$(dirname "$0")/kernel"
out="$(mktemp -d)"
RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$out" RUSTFLAGS="-C target-cpu=sm_80" \
    /usr/bin/cargo rustc --release -Zbuild-std=core --target nvptx64-nvidia-cuda -- --emit asm
cp "$out"/nvptx64-nvidia-cuda/release/deps/heat_ptx*.s ../heat.ptx
rm -r "$out" Cargo.lock
