//! An `export!` of a function without the attribute.
//~ plain => expected type, found function `plain`

fn plain() {}

sandhog_sdk::export!(plain);

fn main() {
    plain();
}
