//! The list of unique jobs that stand in the way of others.

use sandhog_model::{Digest, Rejected};

use super::{
    Wal,
    handle::on_blocking_thread,
    history,
    wish::{Uniques, Wish},
};
use crate::store::{Page, PageRequest, StoreError, UniqueRow};

impl Wal {
    /// A page by key. What a key says is read from the record that accepted its job; one that cannot be
    /// read, or was written anew meanwhile, leaves that out.
    pub(super) async fn unique_page(
        &self,
        page: PageRequest,
    ) -> Result<Page<UniqueRow>, StoreError> {
        let limit = page.limit.clamp(1, 1000);
        let from = page.cursor.as_deref().map(cursor).transpose()?;
        let from = from.unwrap_or(Digest(0));
        let asked = self.ask(|reply| Wish::Unique { from, limit, reply });
        let Uniques { found, next } = asked.await?;
        let files = self.files.clone();
        let rows = on_blocking_thread(move || {
            let row = |(standing, known): (sandhog_model::Standing, super::wish::Known)| {
                let job = history::accepted(known.id, &known.entry, |at| files.read(at));
                UniqueRow {
                    key: standing.key,
                    id: known.id,
                    kind: known.entry.kind.to_string(),
                    state: known.state,
                    until: standing.until,
                    unique: job.ok().and_then(|job| job.terms.unique),
                }
            };
            Ok(found.into_iter().map(row).collect())
        });
        Ok(Page {
            rows: rows.await?,
            next: next.map(|key| key.to_string()),
        })
    }
}

fn cursor(text: &str) -> Result<Digest, StoreError> {
    u128::from_str_radix(text, 16).map(Digest).map_err(|_| {
        let shown: String = text.chars().take(64).collect();
        Rejected::Invalid(format!(
            "{shown:?} is no cursor: use the `next` of an earlier page"
        ))
        .into()
    })
}
