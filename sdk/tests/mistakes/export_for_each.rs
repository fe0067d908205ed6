//! An `export!` for each handler.
//~ sandhog_sdk::export!(part) => the name `export_is_called_once_with_all_handlers` is defined multiple times

#[sandhog_sdk::job]
fn greet() {}

#[sandhog_sdk::job]
fn part() {}

sandhog_sdk::export!(greet);
sandhog_sdk::export!(part);

fn main() {}
