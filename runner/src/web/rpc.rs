//! The command line's own way over HTTP: the requests and answers of the socket, one by one. It is for a
//! program of the same version, so the OpenAPI document has nothing of it.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    answer::{Answer, Outcome},
    call::Call,
    problem::{Code, Problem},
    route::{Gives, Route, Takes, Verb, run},
    site::Site,
    token::Role,
};
use crate::api::{Reply, decode_body, encode_body};

/// Where it is.
pub(super) const PATH: &str = "/api/v1/rpc";
/// What is sent both ways: MessagePack with field names, as in the frames of the socket. Another version
/// of it has another name.
pub(super) const MEDIA_TYPE: &str = "application/vnd.sandhog.rpc.v1+msgpack";

pub(super) const ROUTES: &[Route] = &[Route::write(
    (Verb::Post, Role::Viewer),
    PATH,
    "call",
    "A request of the command line.",
    Gives::Other(MEDIA_TYPE),
    run!(call),
)
.takes(Takes::Call)];

async fn call(site: Arc<Site>, call: Call) -> Outcome {
    let request = decode_body(&call.body).map_err(Problem::malformed)?;
    let Call { asking, body, .. } = call;
    drop(body);
    let reply: Reply = site.ask(request, &asking).await;
    let answer =
        encode_body(&reply).map_err(|why| Problem::new(Code::TooLarge, why.to_string()))?;
    Ok(Answer::Bytes(MEDIA_TYPE, Bytes::from(answer)))
}
