//! Requests against a server that behaves in all the usual bad ways.

mod rules;
mod secrets;
mod servers;
mod tls;
mod webhook;

use std::{
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::{Client, Http};
use crate::plugin::{
    Live,
    capabilities::{
        grants::{Ceiling, Ceilings, parse},
        outside::Outside,
        secrets::Secrets,
    },
    sandbox::journal::Journal,
};

/// What a plugin with these grants does by HTTP.
pub(super) struct Bench {
    pub(super) http: Http,
    live: Arc<Live>,
    pub(super) runtime: tokio::runtime::Runtime,
}

/// The operator opens this machine to plugins.
pub(super) fn open() -> Ceilings {
    Ceilings {
        general: Ceiling {
            private: Some(vec!["127.0.0.0/8".parse().unwrap()]),
            body: Some(100_000),
            connections: Some(2),
            requests: Some(5),
            ..Ceiling::default()
        },
        ..Ceilings::default()
    }
}

pub(super) fn any(method: &str) -> String {
    format!("[[grants.http]]\norigin = \"http://*:*\"\nmethods = [\"{method}\"]\nprivate = true\n")
}

impl Bench {
    pub(super) fn new(toml: &str, ceilings: &Ceilings, client: Client) -> Self {
        let live = Arc::new(Live::default());
        let begun = Instant::now();
        let outside = Outside {
            denials: Arc::default(),
            client: Arc::new(client),
            secrets: Secrets::new(&ceilings.secrets),
            scratch: None,
        };
        Self {
            http: Http::new(
                "p".into(),
                Arc::new(ceilings.bound("p", &parse(toml).unwrap())),
                Arc::new(outside),
                Journal::new(Arc::clone(&live), begun, 1 << 20),
                Arc::clone(&live),
                begun + Duration::from_secs(60),
            ),
            live,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .unwrap(),
        }
    }

    pub(super) fn opened(toml: &str) -> Self {
        Self::new(toml, &open(), Client::default())
    }

    pub(super) fn start(
        &mut self,
        request: Request<WasiBody>,
        wait: Option<Duration>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<WasiBody>, Error>>>> {
        let options = RequestOptions {
            connect_timeout: wait,
            first_byte_timeout: wait,
            between_bytes_timeout: wait,
        };
        let sent = self
            .http
            .send_request(request, Some(options), Box::new(async { Ok(()) }));
        Box::pin(async move {
            let (answer, driver) = Pin::from(sent).await?;
            // As the host of a guest does: the connection is driven while the body is read.
            let driver = wasmtime_wasi::runtime::spawn(Pin::from(driver));
            let (parts, body) = answer.into_parts();
            let body = body.map_err(move |error| {
                let _ = &driver;
                error
            });
            Ok(Response::from_parts(parts, body.boxed_unsync()))
        })
    }

    pub(super) fn get(&mut self, url: &str, wait: Option<Duration>) -> Result<(u16, Bytes), Error> {
        let sent = self.start(request("GET", url, &[]), wait);
        self.runtime.block_on(async {
            let answer = sent.await?;
            let status = answer.status().as_u16();
            Ok((status, answer.into_body().collect().await?.to_bytes()))
        })
    }

    pub(super) fn logged(&self) -> String {
        let texts = |view: &mut crate::plugin::LiveView| {
            let texts: Vec<String> = view.logs.iter().map(|line| line.text.clone()).collect();
            texts.join("\n")
        };
        self.live.with(texts)
    }
}

pub(super) fn request(method: &str, url: &str, headers: &[(&str, &str)]) -> Request<WasiBody> {
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = Full::new(Bytes::from_static(b"payload"));
    request
        .body(body.map_err(Into::into).boxed_unsync())
        .unwrap()
}

pub(super) fn soon() -> Option<Duration> {
    Some(Duration::from_millis(300))
}
