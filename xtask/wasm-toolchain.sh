#!/usr/bin/env bash
# Prepares this machine for `cargo build --target wasm32-wasip2`.
#
#   xtask/wasm-toolchain.sh            prepare; does nothing when all is there
#   xtask/wasm-toolchain.sh --env      prepare, then print shell lines that select cargo and rustc
#   xtask/wasm-toolchain.sh --check    change nothing; exit 0 when ready, 1 when not
#
# Three ways, the first that works:
#   1. the active rustc has the target already;
#   2. `rustup target add wasm32-wasip2`;
#   3. Debian packages: Debian's rustc, its std sources and wasi-libc. std is compiled once into a
#      sysroot of its own, with a `rustc` beside it that uses it, so that guests are built by plain
#      cargo, without nightly or unstable flags. This needs nothing but the package registry.
#
# Environment:
#   WASM_TOOLCHAIN_DIR          the sysroot of way 3 (~/.local/share/wasm-guest-toolchain)
#   WASM_TOOLCHAIN_SKIP_RUSTUP  1: leave out way 2
#   WASM_TOOLCHAIN_SKIP_NATIVE  1: leave out ways 1 and 2
set -euo pipefail

TARGET=wasm32-wasip2
RECIPE=1 # raised when way 3 builds something else, so that old sysroots are made anew
DIR=${WASM_TOOLCHAIN_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/wasm-guest-toolchain}
MODE=prepare
case ${1-} in
'') ;;
--env) MODE=env ;;
--check) MODE=check ;;
*) sed -n '2,18s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac

say() { echo "wasm-toolchain: $*" >&2; }
die() { say "ERROR: $*"; exit 1; }

has_std() { # has_std RUSTC
	local d
	d=$("$1" --print target-libdir --target $TARGET 2>/dev/null) || return 1
	compgen -G "$d/libstd-*.rlib" >/dev/null
}

finish_native() {
	say "$(rustc --version 2>/dev/null): $TARGET is available ($1)"
	say "build a guest with: cargo build --release --target $TARGET"
	exit 0 # --env prints nothing: what is active is right
}

stamp() { # all a sysroot depends on; nothing when Debian's rustc is not installed
	[ -x /usr/bin/rustc ] || return 0
	echo "recipe $RECIPE"
	/usr/bin/rustc -vV
	sha256sum "$LIBC_DIR/libc.a" 2>/dev/null || echo no-wasi-libc
}
LIBC_DIR=/usr/lib/wasm32-wasi

finish_debian() {
	say "$("$DIR/bin/rustc" --version): $TARGET std is in $DIR ($1)"
	say "build a guest with: PATH=$DIR/bin:\$PATH cargo build --release --target $TARGET"
	say "or put it in this shell with: eval \"\$($0 --env)\""
	if [ $MODE = env ]; then
		# RUSTC too: a rustup proxy in PATH or an override would win over PATH alone.
		printf 'export PATH=%q:"$PATH" RUSTC=%q\n' "$DIR/bin" "$DIR/bin/rustc"
	fi
	exit 0
}

debian_ready() {
	[ -x "$DIR/bin/rustc" ] && [ -f "$DIR/stamp" ] && [ -n "$(stamp)" ] &&
		[ "$(stamp)" = "$(cat "$DIR/stamp")" ] && has_std "$DIR/bin/rustc"
}

# Way 1: there already.
if [ "${WASM_TOOLCHAIN_SKIP_NATIVE-0}" != 1 ] && command -v rustc >/dev/null && has_std rustc; then
	finish_native "already there"
fi
if debian_ready; then finish_debian "already there"; fi
[ $MODE = check ] && { say "$TARGET is not available"; exit 1; }

# Way 2: rustup.
if [ "${WASM_TOOLCHAIN_SKIP_NATIVE-0}" != 1 ] && [ "${WASM_TOOLCHAIN_SKIP_RUSTUP-0}" != 1 ] &&
	command -v rustup >/dev/null; then
	say "trying: rustup target add $TARGET"
	if RUST_BACKTRACE=0 timeout 180 rustup target add $TARGET >&2 && has_std rustc; then
		finish_native "added by rustup"
	fi
	say "rustup could not add it (no route to its server?); trying Debian's packages"
fi

# Way 3: Debian.
command -v apt-get >/dev/null || die "no apt-get here: install the $TARGET std for your rustc yourself"
mkdir -p "$DIR"
exec 9>"$DIR/.lock"
flock 9 # two at once would spoil each other; the second finds it ready
if debian_ready; then finish_debian "made by another run"; fi

SUDO=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || die "need root (or sudo) for apt-get"
	SUDO="sudo"
fi
apt() { $SUDO env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq "$@" >&2; }

t0=$SECONDS
say "installing Debian packages ..."
apt update || say "apt-get update failed; going on with the lists that are here"
# Debian 12 keeps a current rustc under the name rustc-web; its plain rustc is too old.
have() { [ -n "$(apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: \(.*\)/\1/p' | grep -v none)" ]; }
if have rustc-web; then
	pk="rustc-web cargo-web rust-web-src rust-web-llvm"
else
	pk="rustc cargo rust-src rust-llvm"
fi
apt install -y --no-install-recommends $pk wasi-libc
# rust-lld may be a dangling link to lld-NN: the package of that name fills it.
if ! [ -x /usr/bin/rust-lld ]; then
	lld=$(readlink /usr/bin/rust-lld || true)
	[ -n "$lld" ] || die "no /usr/bin/rust-lld after installing $pk"
	apt install -y --no-install-recommends "$(basename "$lld")"
fi
say "packages ready after $((SECONDS - t0)) s: $(/usr/bin/rustc --version)"

HOST=$(/usr/bin/rustc -vV | sed -n 's/^host: //p')
SYS=$(/usr/bin/rustc --print sysroot)
[ -x "$SYS/lib/rustlib/$HOST/bin/wasm-component-ld" ] || die "no wasm-component-ld in $SYS (rustc too old?)"
[ -f "$LIBC_DIR/libc.a" ] || die "no $LIBC_DIR/libc.a"
AR=$(dirname "$(readlink -f /usr/bin/rust-lld)")/llvm-ar
[ -x "$AR" ] || AR=$(ls -v /usr/lib/llvm-*/bin/llvm-ar 2>/dev/null | tail -1)
[ -x "$AR" ] || die "no llvm-ar"

W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
# The caller's own rustup, cargo and rustc settings stay out of the build of std.
clean() {
	env -u RUSTUP_TOOLCHAIN -u RUSTC_WRAPPER -u CARGO_ENCODED_RUSTFLAGS -u CARGO_BUILD_TARGET \
		-u CARGO_TARGET_DIR -u LD_LIBRARY_PATH \
		PATH=/usr/bin:/bin RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS= "$@"
}

t1=$SECONDS
say "compiling std for $TARGET (once; a minute or two of CPU) ..."
mkdir -p "$W/std/src"
cat >"$W/std/Cargo.toml" <<-'E'
	[package]
	name = "empty"
	version = "0.0.0"
	edition = "2021"
	[profile.release]
	panic = "abort"
	[workspace]
E
echo 'pub fn empty() {}' >"$W/std/src/lib.rs"
# With bitcode, as in rustup's std: without it guests cannot use `lto = true`.
(cd "$W/std" && clean env RUSTFLAGS=-Cembed-bitcode=yes /usr/bin/cargo build -q --release --target $TARGET -Zbuild-std=std,panic_abort) >&2

N=$W/sysroot
L=$N/lib/rustlib/$TARGET/lib
mkdir -p "$N/bin" "$L/self-contained"
for f in "$W/std/target/$TARGET/release/deps/"*.rlib; do
	case $f in */libempty-*) ;; *) cp "$f" "$L/" ;; esac
done
# Everything else in the sysroot is Debian's, by link.
ln -s "$SYS/lib/rustlib/$HOST" "$N/lib/rustlib/$HOST"
for d in etc src; do [ -e "$SYS/lib/rustlib/$d" ] && ln -s "$SYS/lib/rustlib/$d" "$N/lib/rustlib/$d"; done
cat >"$N/bin/rustc" <<-E
	#!/bin/sh
	exec /usr/bin/rustc --sysroot '$DIR' "\$@"
E
chmod +x "$N/bin/rustc"
for b in cargo rustdoc; do [ -x /usr/bin/$b ] && ln -s /usr/bin/$b "$N/bin/$b"; done

# Debian's wasi-libc speaks WASI 0.1; wasm-component-ld carries the adapter to 0.2. What std's net,
# chmod, realpath and threads call is missing in it: the stubs below answer ENOTSUP instead.
cp "$LIBC_DIR"/crt1-*.o "$LIBC_DIR/libc.a" "$L/self-contained/"
chmod u+w "$L/self-contained/"*
cat >"$W/stubs.rs" <<'E'
#![no_std]
#![crate_type = "lib"]
use core::ffi::{c_char, c_int, c_void};
extern "C" { #[thread_local] static mut errno: c_int; }
const ENOTSUP: c_int = 58;
const EAI_FAIL: c_int = -4;
type P = *mut c_void;
unsafe fn no() -> c_int { errno = ENOTSUP; -1 }
macro_rules! fail { ($($n:ident($($t:ty),*);)*) => { $(
    #[linkage = "weak"] #[no_mangle] unsafe extern "C" fn $n($(_: $t),*) -> c_int { no() }
)* } }
macro_rules! code { ($c:expr, $($n:ident($($t:ty),*);)*) => { $(
    #[linkage = "weak"] #[no_mangle] unsafe extern "C" fn $n($(_: $t),*) -> c_int { $c }
)* } }
fail! {
    socket(c_int, c_int, c_int); connect(c_int, P, u32); bind(c_int, P, u32); listen(c_int, c_int);
    getsockname(c_int, P, P); getpeername(c_int, P, P); setsockopt(c_int, c_int, c_int, P, u32);
    sendto(c_int, P, usize, c_int, P, u32); recvfrom(c_int, P, usize, c_int, P, P);
    chmod(P, u32); fchmod(c_int, u32);
}
code! { ENOTSUP, pthread_create(P, P, P, P); pthread_join(P, P); pthread_detach(P); }
code! { 0, pthread_attr_init(P); pthread_attr_destroy(P); pthread_attr_setstacksize(P, usize); } // std insists on 0
#[linkage = "weak"] #[no_mangle] unsafe extern "C" fn getaddrinfo(_: P, _: P, _: P, _: P) -> c_int { EAI_FAIL }
#[linkage = "weak"] #[no_mangle] unsafe extern "C" fn freeaddrinfo(_: P) {}
#[linkage = "weak"] #[no_mangle] unsafe extern "C" fn gai_strerror(_: c_int) -> *const c_char {
    c"name lookup is not supported".as_ptr()
}
#[linkage = "weak"] #[no_mangle] unsafe extern "C" fn realpath(_: P, _: P) -> P { no(); core::ptr::null_mut() }
E
clean /usr/bin/rustc --sysroot "$N" --edition 2021 --target $TARGET -Zcrate-attr='feature(linkage, thread_local)' \
	-O -C panic=abort -C codegen-units=1 --emit "obj=$W/stubs.o" "$W/stubs.rs" >&2
"$AR" r "$L/self-contained/libc.a" "$W/stubs.o" >&2

rm -rf "$DIR/stamp" "$DIR/bin" "$DIR/lib"
mv "$N/lib" "$DIR/lib"
mv "$N/bin" "$DIR/bin"
say "std compiled after $((SECONDS - t1)) s"

# Proof: a library and a program, both must come out as components.
mkdir -p "$W/smoke/src"
printf '[package]\nname = "smoke"\nversion = "0.0.0"\nedition = "2021"\n[lib]\ncrate-type = ["cdylib"]\n[[bin]]\nname = "smokebin"\npath = "src/main.rs"\n[workspace]\n' >"$W/smoke/Cargo.toml"
echo '#[no_mangle] pub extern "C" fn f() { println!("{:?} {:?}", std::time::SystemTime::now(), std::net::TcpStream::connect("127.0.0.1:1").is_ok()) }' >"$W/smoke/src/lib.rs"
echo 'fn main() { println!("{:?} {:?}", std::env::vars().count(), std::fs::canonicalize("/").is_ok()) }' >"$W/smoke/src/main.rs"
(cd "$W/smoke" && clean env -u RUSTC_BOOTSTRAP RUSTC="$DIR/bin/rustc" /usr/bin/cargo build -q --release --target $TARGET) >&2
for f in "$W/smoke/target/$TARGET/release/"smoke{,bin}.wasm; do
	[ "$(od -An -tx1 -N8 "$f" | tr -d ' \n')" = 0061736d0d000100 ] || die "$f is not a component"
done
stamp >"$DIR/stamp" # last, so that an interrupted run starts over
finish_debian "made in $((SECONDS - t0)) s"
