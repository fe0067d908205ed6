//! Lists, a page at a time.

use std::fmt::{self, Write as _};

use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    client::{Client, Twice},
    error::Error,
};

/// A list, a page at a time. It holds no more than one page, and nothing is sent before [`next`](Self::next).
///
/// A page goes on behind the last row of the one before, not after so many rows: what comes and goes meanwhile shifts
/// nothing, so that each row that is there all the time comes once. What it asks is a runner's to answer at any time:
/// one that went away and came back in between goes on where it was, and so does another program that is given the
/// [`cursor`](Self::cursor).
#[must_use = "nothing is asked before `next`"]
pub struct Pages<Row> {
    client: Client,
    /// Without a query.
    path: &'static str,
    query: Query,
    place: Place,
    row: std::marker::PhantomData<fn() -> Row>,
}

/// Where a list goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Begin,
    Cursor(String),
    End,
}

impl<Row: DeserializeOwned> Pages<Row> {
    pub(crate) fn new(client: &Client, path: &'static str, query: Query) -> Self {
        Self {
            client: client.clone(),
            path,
            query,
            place: Place::Begin,
            row: std::marker::PhantomData,
        }
    }

    /// The next page, which has a row at least; `None` once there is none, and from then on.
    ///
    /// Each page is asked for again as any other reading, for [`Options::retry_for`](crate::Options::retry_for). After
    /// an error, and when the future is dropped, the same page is the next.
    ///
    /// # Errors
    ///
    /// [`Code::BadRequest`](crate::Code::BadRequest) and [`Code::Invalid`](crate::Code::Invalid) when the runner cannot
    /// use what the list is chosen by, the page size or the cursor; the detail says which and why.
    pub async fn next(&mut self) -> Result<Option<Vec<Row>>, Error> {
        loop {
            let mut query = self.query.clone();
            match &self.place {
                Place::Begin => {}
                Place::Cursor(cursor) => query.set("cursor", cursor),
                Place::End => return Ok(None),
            }
            let request = self.client.read(&format!("{}{query}", self.path));
            let page: Page<Row> = self.client.json(request, Twice::Fine).await?;
            self.place = page.next.map_or(Place::End, Place::Cursor);
            // One that found nothing in all that a runner looks at for one page is not the last.
            if !page.rows.is_empty() {
                return Ok(Some(page.rows));
            }
        }
    }

    /// Go on where a list that was chosen by the same stood, by its [`cursor`](Self::cursor).
    pub fn from_cursor(mut self, cursor: impl Into<String>) -> Self {
        self.place = Place::Cursor(cursor.into());
        self
    }

    /// Where the next page begins, for [`from_cursor`](Self::from_cursor); `None` before the first page and after the
    /// last.
    #[must_use]
    pub fn cursor(&self) -> Option<&str> {
        match &self.place {
            Place::Cursor(cursor) => Some(cursor),
            Place::Begin | Place::End => None,
        }
    }
}

impl<Row> fmt::Debug for Pages<Row> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pages({}{}, {:?})", self.path, self.query, self.place)
    }
}

#[derive(Deserialize)]
struct Page<Row> {
    #[serde(rename = "jobs", alias = "batches")]
    rows: Vec<Row>,
    // Null after the last page; an answer without it is no page.
    #[serde(deserialize_with = "Option::deserialize")]
    next: Option<String>,
}

/// What follows the `?` of an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(&'static str, String)>);

impl Query {
    /// Said again it counts anew: a runner takes no name twice.
    pub(crate) fn set(&mut self, name: &'static str, value: &str) {
        self.0.retain(|(known, _)| *known != name);
        self.0.push((name, value.to_owned()));
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, value)) in self.0.iter().enumerate() {
            write!(f, "{}{name}=", if place == 0 { '?' } else { '&' })?;
            for byte in value.bytes() {
                match byte {
                    b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => {
                        f.write_char(char::from(byte))?;
                    }
                    byte => write!(f, "%{byte:02X}")?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_value_holds_leads_nowhere_else() {
        let mut query = Query::default();
        assert_eq!(query.to_string(), "");
        query.set("tag", "a b&c=d?#%/é");
        query.set("kind", "A-z.0_9~");
        assert_eq!(
            query.to_string(),
            "?tag=a%20b%26c%3Dd%3F%23%25%2F%C3%A9&kind=A-z.0_9~"
        );
    }
}
