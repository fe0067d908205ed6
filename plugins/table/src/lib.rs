//! Summarises tables: a CSV goes in, what each column holds comes out as JSON.

mod column;
mod text;

use sandhog_sdk::{Bytes, Context, Error};
use serde::Serialize;

use crate::column::{Column, Summary};

sandhog_sdk::export!(table);

/// Rows between two progress reports.
const REPORT_EVERY: u64 = 10_000;

/// What a table holds.
#[derive(Debug, Serialize)]
pub struct Table {
    /// Rows below the header. Blank lines are none.
    pub rows: u64,
    /// Rows with fewer or more fields than the header. What a short row lacks counts as missing,
    /// what a long one has too much is left out.
    pub ragged_rows: u64,
    /// The header's columns, in their order.
    pub columns: Vec<Summary>,
}

/// Summarises a CSV column by column: counts, least, greatest and mean of numbers, most frequent text.
///
/// The first row is the header; the delimiter is a comma, or the one character in header `delimiter`
/// (`tab` for a tab). UTF-8 with or without a byte order mark, any line ends, fields quoted as in
/// RFC 4180. A value that is empty or blank is missing. A column is of numbers when every value it
/// has is a finite decimal number such as `-1`, `2.5`, `1e5` or `007` (7), blanks around it allowed;
/// `NaN`, `inf`, `1,000` and `0x1f` are texts.
///
/// Permanent failures: `empty`, `not-utf8`, `bad-csv` for a quote that is never closed, `bad-header`.
#[sandhog_sdk::job(timeout = "30s", max_attempts = 5, content_type = "text/csv")]
pub fn table(csv: Bytes, ctx: &Context) -> Result<Table, Error> {
    let delimiter = delimiter(ctx)?;
    let text = text::checked(&csv.bytes, delimiter)?;
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .has_headers(false)
        .from_reader(text.as_bytes());
    let mut record = csv::StringRecord::new();
    if !reader.read_record(&mut record)? {
        return Err(
            Error::permanent("the table is empty: it has not even a header").with_code("empty"),
        );
    }
    let mut columns: Vec<Column> = record.iter().map(Column::new).collect();
    let (mut rows, mut ragged_rows) = (0u64, 0u64);
    while reader.read_record(&mut record)? {
        rows += 1;
        ragged_rows += u64::from(record.len() != columns.len());
        for (index, column) in columns.iter_mut().enumerate() {
            column.add(record.get(index).unwrap_or_default());
        }
        if rows.is_multiple_of(REPORT_EVERY) {
            ctx.progress(rows, None, "rows");
            if ctx.cancelled() {
                return Err(Error::retryable(format!("told to stop after {rows} rows")));
            }
        }
    }
    let columns = columns.into_iter().map(Column::summary).collect();
    Ok(Table {
        rows,
        ragged_rows,
        columns,
    })
}

fn delimiter(ctx: &Context) -> Result<u8, Error> {
    match ctx.header("delimiter").map(str::as_bytes) {
        None => Ok(b','),
        Some(b"tab") => Ok(b'\t'),
        Some(&[one]) if one.is_ascii() && !b"\"\r\n".contains(&one) => Ok(one),
        Some(_) => Err(Error::permanent(
            "header `delimiter` must be one ASCII character, no quote or line end, or the word `tab`",
        )
        .with_code("bad-header")),
    }
}

#[cfg(test)]
mod tests;
