//! Where traces are exported to: a collector of OpenTelemetry, over HTTP.

use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tokio::runtime::Handle;

use crate::{
    config::{Config, Refusal},
    traces::Traces,
    web::Post,
};

/// Where a collector takes traces, behind its address.
const PATH: &str = "/v1/traces";
/// How long a stop waits for the last spans to be told.
const LAST: Duration = Duration::from_secs(2);

/// The way of spans to a collector, if the operator names one.
#[derive(Default)]
pub(super) struct Export(Option<SdkTracerProvider>);

/// Set it up. Call on the control runtime, on which it goes out.
pub(super) fn export(config: &Config) -> anyhow::Result<Export> {
    let settings = &config.traces;
    let Some((endpoint, post)) = collector(config).map_err(|why| anyhow!("{why}"))? else {
        return Ok(Export::default());
    };
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{}{PATH}", endpoint.trim_end_matches('/')))
        .with_http_client(Collector {
            post,
            runtime: Handle::current(),
            is_away: AtomicBool::new(false),
        })
        .build()
        .context("cannot set up `traces.endpoint`")?;
    let resource = Resource::builder().with_service_name(settings.service.clone());
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource.build());
    Ok(Export(Some(provider.build())))
}

/// Where spans go, and the way there.
fn collector(config: &Config) -> Result<Option<(&str, Post)>, Refusal> {
    let Some(endpoint) = config.traces.endpoint.as_deref() else {
        return Ok(None);
    };
    let unusable = |why: String| config.refusal("traces.endpoint", why);
    let url = endpoint.parse().map_err(unusable)?;
    let post = Post::to(url, config.ca_file.as_deref()).map_err(unusable)?;
    Ok(Some((endpoint, post)))
}

/// What keeps spans from being exported, before it is tried.
pub(super) fn refused(config: &Config) -> Option<Refusal> {
    collector(config).err()
}

impl Export {
    pub(super) fn traces(&self) -> Traces {
        self.0.as_ref().map(Traces::to).unwrap_or_default()
    }

    /// Tell what is left, for a while at most.
    pub(super) async fn stop(self) {
        let Some(provider) = self.0 else { return };
        let stopped = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(LAST));
        if let Ok(Err(error)) = stopped.await {
            tracing::warn!(%error, "the last spans were not exported");
        }
    }
}

/// A collector. It is told from a thread of the SDK's.
struct Collector {
    post: Post,
    runtime: Handle,
    is_away: AtomicBool,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collector")
    }
}

impl Collector {
    /// A line when it goes away and one when it comes back, not one for each batch.
    fn tell(&self, why: Option<&str>) {
        match why {
            Some(why) if !self.is_away.swap(true, Ordering::Relaxed) => {
                tracing::warn!(%why, "spans are not taken at `traces.endpoint` and are lost");
            }
            None if self.is_away.swap(false, Ordering::Relaxed) => {
                tracing::info!("spans are taken again at `traces.endpoint`");
            }
            Some(_) | None => {}
        }
    }
}

#[async_trait::async_trait]
impl HttpClient for Collector {
    async fn send_bytes(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        let post = self.post.clone();
        let sent = self
            .runtime
            .spawn(async move { post.send(PATH, request).await });
        let answer = sent.await?;
        match &answer {
            Ok(answer) if answer.status().is_success() => self.tell(None),
            Ok(answer) => self.tell(Some(&format!("it answers {}", answer.status()))),
            Err(why) => self.tell(Some(why)),
        }
        answer.map_err(Into::into)
    }
}
