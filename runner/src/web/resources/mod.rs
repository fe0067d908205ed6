//! What can be reached, a file for each kind of thing.

mod acts;
mod batches;
mod crons;
mod dead;
mod export;
mod feed;
mod health;
mod jobs;
mod many;
mod many_dead;
mod metrics;
mod pages;
mod plugins;
mod queues;
mod runner;
mod unique;
mod wait;

use super::route::Route;

pub(super) use crons::slots;
pub(super) use dead::FILTERS as DEAD_FILTERS;
pub(super) use jobs::of_schedule;

/// Every resource.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        jobs::ROUTES,
        acts::ROUTES,
        many::ROUTES,
        wait::ROUTES,
        batches::ROUTES,
        queues::ROUTES,
        unique::ROUTES,
        dead::ROUTES,
        many_dead::ROUTES,
        export::ROUTES,
        crons::ROUTES,
        plugins::ROUTES,
        runner::ROUTES,
        feed::ROUTES,
        health::ROUTES,
        metrics::ROUTES,
        pages::ROUTES,
        super::rpc::ROUTES,
    ]
    .into_iter()
    .chain(super::pages::routes())
    .flatten()
    .cloned()
}
