//! `sandhog unique`.

use clap::Subcommand;
use sandhog_model::JobId;
use serde_json::{Value, json};

use super::{
    args::Paging,
    each::Each,
    exit::{Exit, Fault, Outcome},
    job::more,
    session::{Session, ask, wall},
    shapes, text,
};
use crate::{
    api::{ApiError, Request},
    store::UniqueRow,
};

/// Jobs asked for at a time.
const BATCH: usize = 500;

#[derive(Debug, Subcommand)]
pub(super) enum UniqueCommand {
    /// Unique jobs that stand in the way of others, by their keys
    Ls {
        #[command(flatten)]
        paging: Paging,
    },
    /// Let others past unique jobs; the jobs themselves go on
    Release {
        /// Which jobs
        #[arg(required = true, value_name = "ID")]
        ids: Vec<JobId>,
    },
}

pub(super) fn run(session: &mut Session<'_, '_>, command: UniqueCommand) -> Outcome<Exit> {
    match command {
        UniqueCommand::Ls { paging } => {
            let page = paging.request();
            let page = ask!(session, Request::Unique { page }, Unique);
            if session.is_json() {
                session.json(&page.rows.iter().map(shapes::unique).collect())?;
            } else {
                session.say(&table(&page.rows))?;
            }
            more(session, page.next.as_deref());
            Ok(Exit::Done)
        }
        UniqueCommand::Release { ids } => release(session, &ids),
    }
}

fn table(rows: &[UniqueRow]) -> String {
    let now = wall();
    let header = ["KEY", "SAYS", "KIND", "JOB", "STATE", "WHILE", "UNTIL"];
    text::table(
        &header,
        &[],
        rows.iter().map(|row| {
            let unique = row.unique.as_ref();
            let says = unique.map_or("", |unique| unique.says.as_str());
            vec![
                row.key.to_string()[..12].to_owned(),
                text::cell(says),
                row.kind.clone(),
                row.id.text(),
                row.state.to_string(),
                unique.map_or_else(String::new, |unique| unique.scope.to_string()),
                row.until
                    .map_or_else(String::new, |until| text::ago(until, now)),
            ]
        }),
    )
}

fn unlock(session: &mut Session<'_, '_>, request: Request) -> Outcome<Vec<Result<bool, ApiError>>> {
    Ok(ask!(session, request, Unlocked))
}

fn release(session: &mut Session<'_, '_>, ids: &[JobId]) -> Outcome<Exit> {
    let (mut done, mut each) = (Vec::<Value>::new(), Each::default());
    for ids in ids.chunks(BATCH) {
        let request = Request::Unlock { ids: ids.to_vec() };
        let answers = match unlock(session, request) {
            Ok(answers) => answers,
            Err(fault) => match each.fault(session, fault) {
                true => continue,
                false => break,
            },
        };
        for (id, answer) in ids.iter().zip(answers) {
            if answer.is_ok() {
                each.done();
            }
            match answer {
                Ok(released) if session.is_json() => {
                    done.push(json!({ "id": id, "released": released }));
                }
                Ok(true) => session.say(&format!("{id} released"))?,
                Ok(false) => session.say(&format!("{id} stood in nobody's way"))?,
                Err(error) => {
                    session.note(&format!("sandhog: {error}"));
                    each.refused(Fault::from(error).exit);
                }
            }
        }
    }
    if session.is_json() {
        session.json(&done.into())?;
    }
    each.end()
}
