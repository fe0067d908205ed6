//! One attempt of the product beside a bare one, on one thread, in turns.

use std::time::Instant;

use super::{bare::Bare, guests, product::Product};
use crate::{
    command::Size,
    report::{Goal, Line, Report},
    stage::Place,
};

/// What the runner may add to a bare attempt, in µs.
const ADDED_US: f64 = 4.0;

pub(crate) fn measure(place: &Place, wanted: &Size, report: &mut Report) -> Result<(), String> {
    for guest in guests::all()? {
        let dir = place.fresh("attempts")?;
        let product = Product::new(&dir, &guest.bytes, guest.kind)?;
        let bare = Bare::new(&guest.bytes, guest.kind)?;
        // Pages touched, branches learnt.
        product.attempts(wanted.count / 10 + 1)?;
        bare_attempts(&bare, wanted.count / 10 + 1)?;
        let (mut products, mut bares) = (Vec::new(), Vec::new());
        for round in 0..wanted.rounds {
            // Who goes first changes, so that neither always meets what the other left.
            for ours in [round % 2 == 0, round % 2 != 0] {
                let start = Instant::now();
                match ours {
                    true => product.attempts(wanted.count)?,
                    false => bare_attempts(&bare, wanted.count)?,
                }
                let us = start.elapsed().as_secs_f64() * 1e6 / wanted.count as f64;
                let list = if ours { &mut products } else { &mut bares };
                list.push(us);
            }
        }
        let added = products.iter().zip(&bares).map(|(ours, bare)| ours - bare);
        let added: Vec<f64> = added.collect();
        let name = format!("attempt, {} guest", guest.name);
        report.push(Line::new(&name, "pool", "µs", products).beside(bares));
        report.push(
            Line::new("  of it the runner's own", "pool", "µs", added)
                .goal(Goal::FigureAtMost(ADDED_US)),
        );
    }
    Ok(())
}

fn bare_attempts(bare: &Bare, count: usize) -> Result<(), String> {
    (0..count).try_for_each(|_| bare.attempt())
}
