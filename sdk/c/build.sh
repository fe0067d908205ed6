#!/bin/sh
# Builds a handler in C with Debian's compiler and C library.
#
#   sdk/c/build.sh OUTPUT.wasm SOURCE.c...
#
# Needs `clang`, `lld` and `wasi-libc` of Debian with the runtime of clang for wasm32, `wasm-component-ld` (in
# every Rust toolchain, Debian's rust-llvm and rust-web-llvm, or by `cargo install wasm-component-ld`), and `wit-bindgen`
# (`cargo install wit-bindgen-cli`). Each can be named: CLANG, WASM_LD, WASM_COMPONENT_LD, WIT_BINDGEN,
# SANDHOG_WIT for the folder of `job.wit`. CFLAGS go to the compiler, LDFLAGS to the linker.
set -eu

[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
wit=${SANDHOG_WIT:-$here/../../wit}
out=$1
shift

# The newest of Debian's numbered tools when there is no plain one.
newest() { ls -v /usr/lib/llvm-*/bin/"$1" 2>/dev/null | tail -1; }
first() { for tool; do [ -n "$tool" ] && command -v "$tool" >/dev/null && { echo "$tool"; return; }; done; echo "$1"; }
clang=${CLANG:-$(first "$(newest clang)" clang)}
lld=${WASM_LD:-$(first wasm-ld "$(newest wasm-ld)" "$(newest lld)")}
sysroot=$(rustc --print sysroot 2>/dev/null || echo /usr)
for found in "$sysroot"/lib/rustlib/*/bin/wasm-component-ld /usr/lib/rustlib/*/bin/wasm-component-ld; do
    [ -x "$found" ] && rust_ld=$found
done
component_ld=${WASM_COMPONENT_LD:-$(first wasm-component-ld "${rust_ld-}")}
bindgen=${WIT_BINDGEN:-$(first wit-bindgen)}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bindgen" c "$wit" --world handler-plugin --out-dir "$work" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
runtime=$("$clang" --target=wasm32-wasip1 --print-libgcc-file-name)
[ -f "$runtime" ] || runtime=$(find "$(dirname "$(dirname "$runtime")")" -name 'libclang_rt.builtins*wasm32*.a' | head -1)
for source in "$here/sandhog.c" "$work/handler_plugin.c" "$@"; do
    object=$work/$(echo "$source" | tr / _).o
    # shellcheck disable=SC2086
    "$clang" --target=wasm32-wasip1 -isystem /usr/include/wasm32-wasi -O2 -g1 -I "$here" -I "$work" ${CFLAGS-} -c "$source" -o "$object"
done
# shellcheck disable=SC2086
"$component_ld" --wasm-ld-path "$lld" -o "$out" --wasi-adapter reactor --entry _initialize --gc-sections \
    /usr/lib/wasm32-wasi/crt1-reactor.o "$work"/*.o -L/usr/lib/wasm32-wasi -lc $runtime ${LDFLAGS-}
