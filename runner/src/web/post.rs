//! What the runner tells other servers by itself: one request, one answer, a connection for each.

use std::{path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Full, Limited};
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConfig;

use super::client::{Url, open};
use crate::plugin::client_tls;

/// Largest answer, in bytes.
const ANSWER_BYTES: usize = 1 << 20;
const ANSWER: Duration = Duration::from_secs(10);

/// A server that is told something.
#[derive(Clone)]
pub struct Post {
    url: Url,
    tls: Option<Arc<ClientConfig>>,
}

impl Post {
    /// To a server. `ca_file` holds certificate authorities beside those of the system.
    pub fn to(url: Url, ca_file: Option<&Path>) -> Result<Self, String> {
        let tls = url.is_tls().then(|| client_tls(ca_file)).transpose()?;
        Ok(Self { url, tls })
    }

    /// Send a request to a path behind the server's own.
    pub async fn send(
        &self,
        path: &str,
        mut request: Request<Bytes>,
    ) -> Result<Response<Bytes>, String> {
        let mut to = open(&self.url, self.tls.as_ref())
            .await
            .map_err(|error| error.to_string())?;
        *request.uri_mut() = format!("{}{path}", self.url.prefix())
            .parse()
            .map_err(|_| format!("{path:?} is no path"))?;
        let host = self.url.authority().parse();
        let host = host.map_err(|_| format!("{} is no name of a host", self.url))?;
        request.headers_mut().insert(header::HOST, host);
        let exchange = async {
            let answer = to.send_request(request.map(Full::new)).await;
            let (head, body) = answer.map_err(|error| error.to_string())?.into_parts();
            let body = Limited::new(body, ANSWER_BYTES).collect().await;
            let body = body.map_err(|error| error.to_string())?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        match timeout(ANSWER, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("nothing within {ANSWER:?}")),
        }
    }
}
