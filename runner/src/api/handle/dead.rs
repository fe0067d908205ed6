//! Requests about dead letters.

use sandhog_model::{JobId, Letter, Rejected};

use super::{ROWS, checked, invalid, keep_latest_logs};
use crate::{
    api::{ApiError, Ctx, ErrorCode, Reply, Response},
    store::{Amended, DeadFilter, DeadWish, LetterName, LetterRef, PageRequest},
};

pub(super) async fn list(ctx: &Ctx, filter: DeadFilter, page: PageRequest) -> Reply {
    let rows = ctx.store.dead(filter, checked(page)?).await?;
    Ok(Response::Dead(rows))
}

pub(super) async fn count(ctx: &Ctx, filter: DeadFilter, cursor: Option<String>) -> Reply {
    let counted = ctx.store.count_dead(filter, cursor).await?;
    Ok(Response::DeadCounted(counted))
}

pub(super) async fn letter(ctx: &Ctx, id: JobId, logs: bool) -> Reply {
    let Some(mut letter) = ctx.store.letter(id).await? else {
        return Err(no_letter(ctx, LetterName::Job(id)).await?);
    };
    if !logs {
        keep_latest_logs(&mut letter.attempts);
    }
    Ok(Response::Letter(Box::new(letter)))
}

/// Why there is no letter to show: none has that name, or it cannot be read.
async fn no_letter(ctx: &Ctx, name: LetterName) -> Result<ApiError, ApiError> {
    let raw = ctx.store.raw_letter(name).await?;
    Ok(match raw.and_then(|raw| raw.unreadable) {
        Some(why) => ApiError::new(
            ErrorCode::Damaged,
            format!(
                "the letter {name} cannot be read: {why}; see its bytes with `sandhog dead show --raw`"
            ),
        ),
        None => missing(name),
    })
}

pub(super) async fn raw(ctx: &Ctx, name: LetterName) -> Reply {
    let raw = ctx.store.raw_letter(name).await?;
    raw.map(Response::RawLetter).ok_or_else(|| missing(name))
}

pub(super) async fn amend(
    ctx: &Ctx,
    letters: Vec<LetterRef>,
    wish: DeadWish,
    dry_run: bool,
) -> Reply {
    few(letters.len(), "letters")?;
    let names: Vec<LetterName> = letters.iter().map(|letter| letter.name).collect();
    let answers = match dry_run {
        true => ctx.store.weigh_dead(letters, wish).await?,
        false => ctx.store.amend_dead(letters, wish).await?,
    };
    let mut told = Vec::with_capacity(names.len());
    for (name, answer) in names.into_iter().zip(answers) {
        told.push(match (name, answer) {
            (LetterName::Job(id), Amended::NotFound) => {
                Err(not_dead(ctx, id, ErrorCode::NotFound).await?)
            }
            (LetterName::Job(id), Amended::Refused(Rejected::WrongState { .. })) => {
                Err(not_dead(ctx, id, ErrorCode::WrongState).await?)
            }
            (LetterName::Job(id), Amended::Refused(rejected)) => {
                Err(super::amend::refused_by_key(ctx, id, rejected).await?)
            }
            (name, answer) => amended(name, answer),
        });
    }
    Ok(Response::Amended(told))
}

fn amended(name: LetterName, answer: Amended) -> Result<LetterName, ApiError> {
    match answer {
        Amended::Done => Ok(name),
        Amended::NotFound => Err(missing(name)),
        Amended::Changed => Err(ApiError::new(
            ErrorCode::Changed,
            format!("job {name} was brought back since it was listed: left alone"),
        )),
        Amended::Unreadable(name) => Err(ApiError::new(
            ErrorCode::Damaged,
            format!("the letter {name} cannot be read: it can be shown raw, exported and deleted"),
        )),
        Amended::Refused(rejected) => Err(rejected.into()),
    }
}

pub(super) async fn import(ctx: &Ctx, letters: Vec<Letter>, dry_run: bool) -> Reply {
    few(letters.len(), "letters")?;
    let answers = ctx.store.import_dead(letters, dry_run).await?;
    let answers = answers.into_iter();
    Ok(Response::Imported(
        answers
            .map(|answer| answer.map_err(ApiError::from))
            .collect(),
    ))
}

fn few(count: usize, what: &str) -> Result<(), ApiError> {
    if count > ROWS {
        return Err(invalid(format!(
            "{count} {what} in one request: allowed are {ROWS}"
        )));
    }
    Ok(())
}

/// Why there is no letter of a job: it is gone, or is not dead, or not any more.
async fn not_dead(ctx: &Ctx, id: JobId, code: ErrorCode) -> Result<ApiError, ApiError> {
    let Some(view) = ctx.store.job(id).await? else {
        return Ok(missing(LetterName::Job(id)));
    };
    let state = view.row.state;
    let then = match state.is_final() {
        true => format!("`sandhog job retry {id}` runs it again"),
        false => format!("`sandhog job show {id}` says how it goes on"),
    };
    let text = format!("job {id} is not dead but {state}: {then}");
    Ok(ApiError::new(code, text))
}

fn missing(name: LetterName) -> ApiError {
    let what = match name {
        LetterName::Job(id) => format!("no dead letter of job {id} here"),
        LetterName::Place(_) => format!("no unreadable letter {name} here"),
    };
    ApiError::new(ErrorCode::NotFound, what)
}
