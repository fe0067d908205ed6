//! The same for many letters at once: those named, those that fit a filter, or all.

use std::{collections::BTreeMap, sync::Arc};

use sandhog_model::Token;
use serde::Deserialize;
use serde_json::{Value, json};

use super::dead::{FILTERS, MANY_MAY, POST, filter};
use crate::{
    json::shapes::refused,
    store::{DeadFilter, LetterName, LetterRef},
    web::{
        answer::{Answer, Flow, Outcome},
        call::{Call, checked},
        problem::Problem,
        route::{Gives, Route, Run, Size, Takes, run},
        site::Site,
        sweep::{self, Sweep, Swept, Wish, amended, forget, requeue},
    },
};

pub(super) const ROUTES: &[Route] = &[
    act(
        "/api/v1/dead/retry",
        "retryManyDead",
        "Give dead jobs fresh attempts: those named, each answered for itself, or all that fit and are there now. Of the latter 100 a \
         second, unless `per_second` says otherwise, for as long as the caller is there; lines without anything come before the answer.",
        run!(retry),
    ),
    act(
        "/api/v1/dead/delete",
        "deleteManyDead",
        "Delete dead jobs with their letters: those named, each answered for itself, or all that fit and are there now, for as long as \
         the caller is there; lines without anything come before the answer.",
        run!(delete),
    ),
];

const fn act(path: &'static str, name: &'static str, says: &'static str, run: Run) -> Route {
    let gives = Gives::Json(&[200], "LettersChanged");
    Route::write(POST, path, name, says, gives, run)
        .takes(Takes::Json("Letters", Size::Small))
        .may(MANY_MAY)
}

/// Letters to change: these, those that fit, or all.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Letters {
    letters: Option<Vec<Letter>>,
    filter: Option<BTreeMap<String, Value>>,
    #[serde(default)]
    all: bool,
    /// 0 for no bound.
    per_second: Option<u32>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Letter {
    id: LetterName,
    /// Only as long as it is the letter of that very death, as its row said.
    #[serde(default)]
    token: Option<String>,
}

async fn retry(site: Arc<Site>, call: Call) -> Outcome {
    many(site, call, requeue, Some(sweep::USUAL_PER_SECOND)).await
}

async fn delete(site: Arc<Site>, call: Call) -> Outcome {
    many(site, call, forget, None).await
}

async fn many(site: Arc<Site>, call: Call, wish: Wish, usual: Option<u32>) -> Outcome {
    let said: Letters = call.whole_body()?;
    let filter = match (said.letters, said.filter, said.all) {
        (Some(letters), None, false) if said.per_second.is_none() => {
            return named(&site, &call, letters, (wish, said.dry_run)).await;
        }
        (None, Some(said), false) => read(&call, said)?,
        (None, None, true) => DeadFilter::default(),
        _ => {
            return Err(Problem::malformed(
                "the body: say one of `letters`, `filter` and `all`; `per_second` goes with the latter two",
            ));
        }
    };
    let place = site.place()?;
    let now = site.ctx.clock.now().wall;
    let sweep = Sweep {
        letters: sweep::gather(&site, &call.asking, &filter, now).await?,
        wish,
        per_second: said.per_second.or(usual).filter(|rate| *rate > 0),
    };
    if said.dry_run {
        return Answer::json(told(&sweep.weigh(&site, &call.asking).await?));
    }
    let (to, flow) = Flow::new();
    tokio::spawn(async move {
        let _place = place;
        let swept = sweep.work(&site, &call.asking, &to, |_| None).await;
        let _ = to.send(told(&swept).to_string().into()).await;
    });
    Ok(Answer::Flow("application/json", flow))
}

/// A filter, each field of the form that it has behind a path.
fn read(call: &Call, said: BTreeMap<String, Value>) -> Result<DeadFilter, Problem> {
    let mut given = Vec::new();
    for (name, value) in said {
        let value = match value {
            Value::Null => continue,
            Value::String(text) => text,
            other => other.to_string(),
        };
        let Some(param) = FILTERS.iter().find(|param| param.name == name) else {
            let names: Vec<&str> = FILTERS.iter().map(|param| param.name).collect();
            let shown: String = name.chars().take(64).collect();
            return Err(Problem::malformed(format!(
                "the body: {shown:?} of `filter` is unknown: known are {}",
                names.join(", ")
            )));
        };
        checked(param, &value)?;
        given.push((param.name, value));
    }
    let filter = filter(&Call {
        given,
        ..call.clone()
    })?;
    match filter.is_empty() {
        true => Err(Problem::malformed(
            "the body: `filter` leaves nothing out: say `\"all\": true` when all letters are meant",
        )),
        false => Ok(filter),
    }
}

fn told(swept: &Swept) -> Value {
    let letters = swept.named.iter().map(|(name, error)| {
        let mut told = refused(error);
        told["id"] = json!(name);
        told
    });
    json!({
        "letters": letters.collect::<Value>(),
        "done": swept.done,
        "refused": swept.refused,
        "stopped": swept.stopped,
    })
}

async fn named(
    site: &Site,
    call: &Call,
    letters: Vec<Letter>,
    (wish, dry_run): (Wish, bool),
) -> Outcome {
    let letters = letters.into_iter().map(|letter| {
        let token = letter.token.map(|text| text.parse().map(Token));
        let token = token.transpose();
        let token = token.map_err(|_| Problem::malformed("the body: a `token` is no number"))?;
        let name = letter.id;
        Ok(LetterRef { name, token })
    });
    let letters = letters.collect::<Result<Vec<LetterRef>, Problem>>()?;
    let answers = amended(site.ask(wish(letters.clone(), dry_run), &call.asking).await)?;
    let done = answers.iter().filter(|answer| answer.is_ok()).count();
    let refused_ones = answers.len() - done;
    let told = letters.iter().zip(answers).map(|(letter, answer)| {
        let mut told = match answer {
            Ok(_) => json!({}),
            Err(error) => refused(&error),
        };
        told["id"] = json!(letter.name);
        told
    });
    Answer::json(json!({
        "letters": told.collect::<Value>(),
        "done": done,
        "refused": refused_ones,
        "stopped": null,
    }))
}
