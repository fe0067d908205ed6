//! An `export!` of a function without the attribute.
//~ plain => name the function that carries `#[sandhog_sdk::job]`, or put the attribute on it

fn plain() {}

sandhog_sdk::export!(plain);

fn main() {
    plain();
}
