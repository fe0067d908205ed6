//! `sandhog job cancel` and `sandhog job kill`.

use sandhog_model::{Asked, State};
use serde_json::{Value, json};

use super::super::{
    args::CallOff,
    exit::{Exit, Fault, Outcome},
    session::{Session, ask},
    who::this_user,
};
use crate::api::Request;

/// Jobs asked for at a time.
const BATCH: usize = 500;

pub(super) fn run(session: &mut Session<'_, '_>, which: CallOff, how: Asked) -> Outcome<Exit> {
    let CallOff { ids, reason, by } = which;
    let by = by.unwrap_or_else(this_user);
    let (mut done, mut first) = (Vec::<Value>::new(), None);
    for ids in ids.chunks(BATCH) {
        let request = Request::CallOff {
            ids: ids.to_vec(),
            how,
            by: by.clone(),
            reason: reason.clone(),
        };
        for (id, answer) in ids.iter().zip(ask!(session, request, CalledOff)) {
            match answer {
                Ok(state) if session.is_json() => done.push(json!({ "id": id, "state": state })),
                Ok(State::Running) => session.say(&format!("{id} running, asked to end"))?,
                Ok(state) => session.say(&format!("{id} {state}"))?,
                Err(error) => {
                    session.note(&format!("sandhog: {error}"));
                    first.get_or_insert(Fault::from(error).exit);
                }
            }
        }
    }
    if session.is_json() {
        session.json(&done.into())?;
    }
    Ok(first.unwrap_or(Exit::Done))
}
