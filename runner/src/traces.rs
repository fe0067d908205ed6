//! Traces: a span for who hands a job in and one for each of its attempts, joined by the context that the job
//! carries. They are made and exported by OpenTelemetry's SDK.
//!
//! Knows nothing of jobs: it is given names, instants and the context.

use std::{collections::HashMap, fmt, time::SystemTime};

use opentelemetry::{
    Context, KeyValue,
    propagation::TextMapPropagator as _,
    trace::{
        Span as _, SpanBuilder, SpanKind, Status, TraceContextExt as _, Tracer as _,
        TracerProvider as _,
    },
};
use opentelemetry_sdk::{
    propagation::TraceContextPropagator,
    trace::{SdkTracer, SdkTracerProvider, Span as SdkSpan},
};

/// The header of a job, and of a request, that holds the context (W3C Trace Context).
pub const HEADER: &str = "traceparent";

/// Where spans go; nowhere unless the operator wants them.
#[derive(Clone, Default)]
pub struct Traces(Option<SdkTracer>);

/// What a span is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// Handing a job in.
    Send,
    /// An attempt.
    Process,
}

/// A span that has begun.
pub struct Span(SdkSpan);

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.0.is_some() { "on" } else { "off" };
        write!(f, "Traces({state})")
    }
}

impl Traces {
    /// To whatever the provider exports to.
    #[must_use]
    pub fn to(provider: &SdkTracerProvider) -> Self {
        Self(Some(provider.tracer("sandhog")))
    }

    /// Whether spans go anywhere.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Begin a span, within the trace of a context if there is one. `None` when spans go nowhere.
    pub fn begin(
        &self,
        about: About,
        kind: &str,
        within: Option<&str>,
        at: SystemTime,
    ) -> Option<Span> {
        let tracer = self.0.as_ref()?;
        let (verb, role) = match about {
            About::Send => ("send", SpanKind::Producer),
            About::Process => ("process", SpanKind::Consumer),
        };
        let builder = SpanBuilder::from_name(format!("{verb} {kind}"))
            .with_kind(role)
            .with_start_time(at)
            .with_attributes([
                KeyValue::new("messaging.system", "sandhog"),
                KeyValue::new("messaging.operation.type", verb),
                KeyValue::new("sandhog.job.kind", kind.to_owned()),
            ]);
        let within = within.map(read).unwrap_or_default();
        Some(Span(tracer.build_with_context(builder, &within)))
    }
}

impl Span {
    /// Say more of it.
    pub fn set(&mut self, key: &'static str, value: impl Into<opentelemetry::Value>) {
        self.0.set_attribute(KeyValue::new(key, value));
    }

    /// It ends as a failure of a kind, and why.
    pub fn fail(&mut self, kind: impl Into<String>, why: impl Into<String>) {
        self.set("error.type", kind.into());
        self.0.set_status(Status::error(why.into()));
    }

    /// The context of what happens within it.
    #[must_use]
    pub fn context(&self) -> String {
        let mut carrier = HashMap::new();
        let within = Context::new().with_remote_span_context(self.0.span_context().clone());
        TraceContextPropagator::new().inject_context(&within, &mut carrier);
        carrier.remove(HEADER).unwrap_or_default()
    }

    /// It ended.
    pub fn end(mut self, at: SystemTime) {
        self.0.end_with_timestamp(at);
    }
}

fn read(context: &str) -> Context {
    let carrier = HashMap::from([(HEADER.to_owned(), context.to_owned())]);
    TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier)
}

/// Whether a text is a context.
#[must_use]
pub fn is_context(text: &str) -> bool {
    read(text).span().span_context().is_valid()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_span_goes_on_with_the_trace_that_it_is_given() {
        let traces = Traces::to(&SdkTracerProvider::builder().build());
        let span = traces
            .begin(About::Send, "k", Some(CONTEXT), SystemTime::UNIX_EPOCH)
            .unwrap();
        let context = span.context();
        assert!(is_context(&context), "{context}");
        assert_eq!(context[..36], CONTEXT[..36]);
        assert_ne!(context[36..52], CONTEXT[36..52]);
        for begins_anew in [None, Some("rubbish")] {
            let span = traces.begin(About::Process, "k", begins_anew, SystemTime::UNIX_EPOCH);
            let context = span.unwrap().context();
            assert!(
                is_context(&context) && context[..36] != CONTEXT[..36],
                "{context}"
            );
        }
        assert!(
            Traces::default()
                .begin(About::Send, "k", None, SystemTime::UNIX_EPOCH)
                .is_none()
        );
    }

    #[test]
    fn what_is_no_context_is_told() {
        assert!(is_context(CONTEXT));
        for wrong in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nx: y",
        ] {
            assert!(!is_context(wrong), "{wrong:?}");
        }
    }
}
