//! Pages of what is asked for whole and comes by name.

use crate::store::PageRequest;

/// A page of rows that stand in the order of their names, and the name where the next page starts: that
/// is the cursor.
pub fn by_name<T>(
    mut rows: Vec<T>,
    name: impl Fn(&T) -> &String,
    page: &PageRequest,
) -> (Vec<T>, Option<String>) {
    if let Some(from) = &page.cursor {
        rows.retain(|row| name(row) >= from);
    }
    let rest = rows.split_off(rows.len().min(page.limit));
    (rows, rest.first().map(|row| name(row).clone()))
}
