//! Has the program built anew when the sources it carries for `sandhog plugin new` change.

fn main() {
    for path in ["../sdk", "../wit", "../xtask/wasm-toolchain.sh", "build.rs"] {
        println!("cargo::rerun-if-changed={path}");
    }
}
