//! Every part with next to nothing to measure, as a test that it still works and says something.

use std::time::Instant;

use crate::{
    BENCHES,
    command::{Bench, Wanted},
};

/// Run the parts whose names have one of these words in them, or all, and say what came of it as a test does.
pub(crate) fn run(words: &[String]) -> std::process::ExitCode {
    let start = Instant::now();
    let wishes: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let lists = words.iter().any(|word| word == "--list");
    let (mut passed, mut failed, mut left_out) = (0, 0, 0);
    for (bench, part) in BENCHES.iter().flat_map(each) {
        let name = format!("benches::{}::{part}", bench.name);
        if !wishes.is_empty() && !wishes.iter().any(|wish| name.contains(*wish)) {
            left_out += 1;
            continue;
        }
        if lists {
            println!("{name}: test");
            continue;
        }
        match tried(bench, part) {
            Ok(()) => {
                passed += 1;
                println!("test {name} ... ok");
            }
            Err(why) => {
                failed += 1;
                println!("test {name} ... FAILED\n{why}");
            }
        }
    }
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    let took = start.elapsed().as_secs_f64();
    println!(
        "\ntest result: {verdict}. {passed} passed; {failed} failed; 0 ignored; 0 measured; {left_out} filtered out; finished in {took:.2}s"
    );
    u8::from(failed > 0).into()
}

fn each(bench: &'static Bench) -> impl Iterator<Item = (&'static Bench, &'static str)> {
    bench.parts.iter().map(move |(part, _)| (bench, *part))
}

fn tried(bench: &Bench, part: &str) -> Result<(), String> {
    let report = bench.measure(&Wanted {
        jobs: Some(60),
        rounds: Some(1),
        plugins: 2,
        queues: 3,
        slots: 4,
        only: Some(part.to_owned()),
        dir: std::env::temp_dir(),
        json: None,
        plot: None,
    })?;
    report.is_sound()
}
