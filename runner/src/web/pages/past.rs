//! The last hour or day as pictures: how many jobs, how long they took, and how they failed.

use std::time::Duration;

use maud::{Markup, html};
use sandhog_model::UnixMs;

use super::{
    chart::{Chart, Line, chart},
    frame,
};
use crate::{
    json::when::rfc3339,
    metrics::{History, KEPT, Past, Span, Times},
    web::call::Call,
};

/// The spans that can be looked at: each name, how many points, and how many minutes each.
pub(super) const PASTS: &[&str] = &["hour", "day"];
const HOUR: (usize, u64) = (60, 1);
const DAY: (usize, u64) = ((KEPT / 15) as usize, 15);
/// Ways to fail that are shown.
const WAYS: usize = 12;

/// What happened, as of now.
pub(super) fn past(call: &Call, history: &History, now: UnixMs) -> Markup {
    let is_day = call.text("past") == Some("day");
    let (points, each) = if is_day { DAY } else { HOUR };
    let past = history.last(points, each);
    let (begins, spans, counted) = (begins(&past, each, now), &past.spans, past.counted);
    let since = UnixMs(now.0.saturating_sub(history.age().as_millis() as u64));
    html! {
        h2 { @if is_day { "The last day" } @else { "The last hour" } }
        p.soft {
            "Counted since " (frame::at(since)) ", when this runner started. "
            @if is_day { a href={ (call.prefix) "/" } { "The last hour" } }
            @else { a href={ (call.prefix) "/?past=day" } { "The last day" } }
        }
        div.charts {
            (jobs(spans, &begins, (each, counted)))
            (times(("chart-latency", "From due until begun"), (spans, &begins), |span| &span.latency))
            (times(("chart-duration", "In the sandbox"), (spans, &begins), |span| &span.duration))
            (ways(spans))
        }
    }
}

/// When each span began, as people read it.
fn begins(past: &Past, each: u64, now: UnixMs) -> Vec<String> {
    // To the nearest one: the clock may have been set since the start.
    let minute = (now.0.saturating_sub(past.gone.as_millis() as u64) + 30_000) / 60_000;
    let points = past.spans.len() as u64;
    (0..points)
        .map(|place| (minute + 1).saturating_sub((points - place) * each))
        .map(|minute| rfc3339(UnixMs(minute * 60_000)))
        .map(|at| at.get(11..16).unwrap_or_default().to_owned())
        .collect()
}

fn jobs(spans: &[Span], begins: &[String], (each, counted): (u64, usize)) -> Markup {
    // Before the runner started there is nothing, which is not the same as no jobs.
    let before = spans.len().saturating_sub(counted);
    let line = |name, class, of: fn(&Span) -> u64| Line {
        name,
        class,
        values: spans
            .iter()
            .enumerate()
            .map(|(place, span)| (place >= before).then_some(of(span) as f64))
            .collect(),
    };
    let title = match each {
        1 => "Jobs a minute".to_owned(),
        each => format!("Jobs in {each} minutes"),
    };
    chart(&Chart {
        id: "chart-jobs",
        title: &title,
        spans: begins,
        lines: &[
            line("enqueued", "one", |span| span.enqueued),
            line("completed", "two", |span| span.completed),
            line("failed attempts", "three", |span| span.failed),
            line("dead", "four", |span| span.dead),
        ],
        told: |jobs| format!("{jobs}"),
    })
}

fn times(
    (id, title): (&'static str, &str),
    (spans, begins): (&[Span], &[String]),
    of: fn(&Span) -> &Times,
) -> Markup {
    let line = |name, class, part| Line {
        name,
        class,
        values: spans
            .iter()
            .map(|span| of(span).below(part).map(|time| time.as_secs_f64()))
            .collect(),
    };
    chart(&Chart {
        id,
        title,
        spans: begins,
        lines: &[
            line("half below", "two", 0.5),
            line("95 % below", "three", 0.95),
            line("99 % below", "four", 0.99),
        ],
        told: time,
    })
}

/// A time in the unit that suits it.
fn time(seconds: f64) -> String {
    let span = Duration::from_secs_f64(seconds.max(0.0));
    match seconds {
        0.0 => "0".to_owned(),
        s if s < 0.001 => format!("{} µs", span.as_micros()),
        s if s < 10.0 => format!("{} ms", span.as_millis()),
        s => format!("{s:.0} s"),
    }
}

/// How attempts failed, the most frequent ways first.
fn ways(spans: &[Span]) -> Markup {
    let mut whole = Span::default();
    spans.iter().for_each(|span| whole.add(span));
    let mut ways: Vec<_> = whole.failures.iter().collect();
    ways.sort_by_key(|(way, times)| (std::cmp::Reverse(**times), *way));
    let most = ways.first().map_or(1, |(_, times)| **times).max(1);
    html! {
        figure.chart {
            figcaption { b { "How attempts failed" } @if ways.len() > WAYS { " " span.soft { "the " (WAYS) " most frequent ways of " (ways.len()) } } }
            @if ways.is_empty() { p.soft { "None failed." } }
            @else { div.scroll { table {
                thead { tr { th { "Kind" } th { "Failure" } th.number { "Attempts" } th { "Share" } } }
                tbody { @for ((kind, failure), times) in ways.iter().take(WAYS) { tr {
                    td { (kind) }
                    td { (failure) }
                    td.number { (times) }
                    td.share { svg.bars viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
                        rect.dead x="0" y="0" height="10" width=(format!("{:.1}", **times as f64 * 100.0 / most as f64)) {}
                    } }
                } } }
            } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_by_the_minutes_that_they_begin_with() {
        let past = |spans, gone| Past {
            spans: vec![Span::default(); spans],
            counted: 1,
            gone: Duration::from_millis(gone),
        };
        // 2030-01-31T10:07:50Z
        let now = UnixMs(1_896_084_470_000);
        for (each, gone, told) in [
            (1, 50_000, ["10:05", "10:06", "10:07"]),
            // It was counted a little otherwise than the clock shows.
            (1, 50_400, ["10:05", "10:06", "10:07"]),
            (1, 49_600, ["10:05", "10:06", "10:07"]),
            (15, 50_000, ["09:23", "09:38", "09:53"]),
        ] {
            assert_eq!(begins(&past(3, gone), each, now), told, "{each}, {gone}");
        }
    }

    #[test]
    fn times_are_told_in_the_unit_that_suits_them() {
        for (seconds, told) in [
            (0.0, "0"),
            (0.000_25, "250 µs"),
            (0.02, "20 ms"),
            (2.5, "2500 ms"),
            (61.0, "61 s"),
        ] {
            assert_eq!(time(seconds), told);
        }
    }
}
