//! Everything at a glance.

use std::sync::Arc;

use maud::{Markup, html};
use sandhog_model::State;

use super::{
    frame::{self, Place},
    jobs, page,
    past::{PASTS, past},
    shown,
};
use crate::{
    api::{Request, RunnerStats, Stats},
    store::{DeadFilter, DeadRow, JobFilter, PageRequest},
    web::{
        answer::Outcome,
        call::Call,
        form::{Form, param},
        route::{Route, run},
        site::{Site, ask},
    },
};

pub(super) const ROUTES: &[Route] =
    &[
        page("/", "overviewPage", "Everything at a glance.", run!(show)).query(&[param(
            "past",
            Form::OneOf(PASTS),
            "How far back the pictures go.",
        )]),
    ];

/// Failures shown.
const FEW: PageRequest = PageRequest {
    limit: 10,
    cursor: None,
};

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    let stats = ask!(site, call, Request::Stats, Stats);
    let filter = DeadFilter::default();
    let dead = ask!(site, call, Request::Dead { filter, page: FEW }, Dead).rows;
    let filter = JobFilter {
        states: vec![State::Retryable],
        ..JobFilter::default()
    };
    let failing = ask!(site, call, Request::Jobs { filter, page: FEW }, Jobs).rows;
    let content = html! {
        @if let Some(why) = &stats.store.poisoned {
            p.note.fault role="alert" { "The store takes nothing more: " (why) }
        }
        (states(&call, &stats))
        @if let Some(metrics) = &site.ctx.metrics { (past(&call, &metrics.history, site.ctx.clock.now().wall)) }
        @if let Some(runner) = &stats.runner { (of_runner(&call, runner)) }
        (of_store(&stats))
        h2 { "Failing, to be tried again" }
        @if failing.is_empty() { p.soft { "None." } } @else { (jobs::table(&call, &failing)) }
        h2 { "Died last" }
        @if dead.is_empty() { p.soft { "No dead letters." } } @else { (letters(&call, &dead)) }
    };
    shown(frame::page(
        &site,
        &call,
        Place::Overview,
        "Overview",
        content,
    ))
}

/// How many jobs are in each state, as numbers and as a bar.
fn states(call: &Call, stats: &Stats) -> Markup {
    let of = |state: State| {
        let found = stats.store.jobs.iter().find(|(one, _)| *one == state);
        found.map_or(0, |(_, count)| *count)
    };
    let all: u64 = State::ALL.into_iter().map(of).sum();
    let mut from = 0.0;
    let parts = State::ALL.map(|state| {
        let width = of(state) as f64 * 1_000.0 / all.max(1) as f64;
        let x = from;
        from += width;
        (state, x, width)
    });
    html! {
        svg.bars viewBox="0 0 1000 28" preserveAspectRatio="none" role="img" aria-label="Jobs by state, as in the numbers below" {
            @for (state, x, width) in parts {
                rect class=(state.name()) x=(format!("{x:.2}")) y="0" width=(format!("{width:.2}")) height="28" {
                    title { (state.name()) " " (of(state)) }
                }
            }
        }
        div.tiles {
            @for state in State::ALL {
                a.tile href={ (call.prefix) "/jobs?state=" (state.name()) } {
                    b { (of(state)) }
                    (frame::state(state))
                }
            }
        }
    }
}

fn of_runner(call: &Call, runner: &RunnerStats) -> Markup {
    let (busy, slots) = runner.busy_of_slots();
    let ended: u64 = runner.workers.iter().map(|worker| worker.ended).sum();
    html! {
        h2 { "Runner" }
        dl {
            dt { "Workers" } dd { (runner.workers.len()) " threads, " (runner.mode.name()) }
            dt { "Attempts" } dd { (busy) " of " (slots) " slots busy, " (ended) " ended since the start" }
            dt { "Memory held" } dd { (runner.memory.held >> 20) " of " (runner.memory.budget >> 20) " MiB" @if runner.memory.short { ", short" } }
            dt { "Plugins" } dd { a href={ (call.prefix) "/plugins" } { (runner.plugins) " served" }
                @if runner.held > 0 { ", " b.dead { (runner.held) " held back" } }
                @if runner.problems > 0 { ", " b.dead { (runner.problems) " files that cannot be used" } } }
        }
    }
}

fn of_store(stats: &Stats) -> Markup {
    let store = &stats.store;
    html! {
        h2 { "Store" }
        dl {
            dt { "Log" } dd { (store.log_bytes >> 10) " KiB in " (store.segments) @if store.segments == 1 { " segment, " } @else { " segments, " } (store.live_bytes >> 10) " KiB needed" }
            dt { "Last sync" } dd { (store.last_sync_us) " µs; durability " (store.durability) }
            dt { "Dead letters" } dd { (store.dead_letters) ", " (store.dead_bytes >> 10) " KiB" }
            dt { "Version" } dd { (stats.version) }
        }
    }
}

fn letters(call: &Call, rows: &[DeadRow]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr { th { "Letter" } th { "Kind" } th { "Queue" } th { "Died" } th { "Failure" } } }
            tbody { @for row in rows { tr {
                td { a href={ (call.prefix) "/dead/" (row.name) } { code { (row.name) } } }
                td { (row.kind) }
                td { (row.queue) }
                td { @if row.died_at.0 > 0 { (frame::at(row.died_at)) } }
                td.free { (row.failure.kind) ": " (row.failure.cause) }
            } } }
        } }
    }
}
