//! The lists of the double.

use crate::store::{JobFilter, JobRow, Page, PageRequest};

pub(super) fn paged<T>(rows: Vec<T>, page: &PageRequest) -> Page<T> {
    let from = page
        .cursor
        .as_ref()
        .map_or(0, |cursor| cursor.parse::<usize>().unwrap());
    let more = rows.len() > from + page.limit;
    Page {
        rows: rows.into_iter().skip(from).take(page.limit).collect(),
        next: more.then(|| (from + page.limit).to_string()),
    }
}

pub(super) fn fits(filter: &JobFilter, row: &JobRow) -> bool {
    (filter.states.is_empty() || filter.states.contains(&row.state))
        && filter
            .queue
            .as_ref()
            .is_none_or(|queue| *queue == row.queue)
        && filter.kind.as_ref().is_none_or(|kind| *kind == row.kind)
}
