//! Dead letters as lines of JSON, as many as there are.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::dead::{FILTERS, filter};
use crate::{
    api::{ErrorCode, Request, Response},
    json::letter,
    store::{DeadFilter, DeadRow, LetterName, PageRequest},
    web::{
        answer::{Answer, Flow, Outcome},
        call::Call,
        problem::{Code, Problem},
        route::{Gives, Route, run},
        site::{Site, ask, mismatch},
    },
};

/// Letters asked for at a time.
const BATCH: usize = 100;
const NDJSON: &str = "application/x-ndjson";

pub(super) const ROUTES: &[Route] = &[Route::get(
    "/api/v1/dead/export",
    "exportDead",
    "Dead letters, one a line, as `sandhog dead export` writes them and `sandhog dead import` reads them. An export that broke off does not end with a line end.",
    Gives::Other(NDJSON),
    run!(export),
)
.query(FILTERS)
.may(&[Code::Invalid])];

async fn export(site: Arc<Site>, call: Call) -> Outcome {
    let mut filter = filter(&call)?;
    if filter != DeadFilter::default() && !filter.unreadable {
        // Those that die while it goes on are not looked for.
        filter.until = filter.until.or(Some(site.ctx.clock.now().wall.plus(1)));
    }
    let place = site.place()?;
    // Its first page is asked for now, so that what is wrong is told with a status.
    let first = page(&site, &call, &filter, None).await?;
    let (to, flow) = Flow::new();
    tokio::spawn(async move {
        let _place = place;
        if let Err(problem) = send(&site, &call, &filter, first, &to).await {
            tracing::warn!(why = ?problem.detail, "an export broke off");
            let _ = to
                .send(Bytes::from_static(b"{\"sandhog_export\":\"broken off\""))
                .await;
        }
    });
    Ok(Answer::Flow(NDJSON, flow))
}

type Page = crate::store::Page<DeadRow>;

async fn page(
    site: &Site,
    call: &Call,
    filter: &DeadFilter,
    cursor: Option<String>,
) -> Result<Page, Problem> {
    let request = Request::Dead {
        filter: filter.clone(),
        page: PageRequest {
            limit: BATCH,
            cursor,
        },
    };
    Ok(ask!(site, call, request, Dead))
}

async fn send(
    site: &Site,
    call: &Call,
    filter: &DeadFilter,
    mut got: Page,
    to: &mpsc::Sender<Bytes>,
) -> Result<(), Problem> {
    loop {
        for row in &got.rows {
            let Some(mut line) = line(site, call, row).await? else {
                continue;
            };
            line.push('\n');
            if to.send(line.into()).await.is_err() || *site.stop.borrow() {
                return Ok(());
            }
        }
        match got.next {
            Some(next) => got = page(site, call, filter, Some(next)).await?,
            None => return Ok(()),
        }
    }
}

/// A row's letter as a line: raw when it cannot be read, `None` when it is gone by now.
async fn line(site: &Site, call: &Call, row: &DeadRow) -> Result<Option<String>, Problem> {
    if let (LetterName::Job(id), None) = (row.name, &row.unreadable) {
        match site
            .ask(Request::Letter { id, logs: true }, &call.asking)
            .await
        {
            Ok(Response::Letter(one)) => {
                let line = letter::line(*one);
                return line
                    .map(Some)
                    .map_err(|why| Problem::new(Code::Damaged, why));
            }
            Ok(other) => return Err(mismatch(&other)),
            Err(error) if error.code == ErrorCode::NotFound => return Ok(None),
            // Its bytes then.
            Err(error) if error.code == ErrorCode::Damaged => {}
            Err(error) => return Err(error.into()),
        }
    }
    match site
        .ask(Request::RawLetter { name: row.name }, &call.asking)
        .await
    {
        Ok(Response::RawLetter(raw)) => Ok(Some(letter::raw_line(&raw))),
        Ok(other) => Err(mismatch(&other)),
        Err(error) if error.code == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
