//! Bodies within bounds, of requests and of responses.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::{Error, WasiBody};

use super::fault::Fault;

/// A body that ends in an error once it is too large, or once nothing came for too long.
pub(crate) struct Bounded<H> {
    inner: WasiBody,
    left: u64,
    limit: u64,
    too_large: fn(u64) -> Error,
    pause: Option<Pause>,
    /// Let go with the body.
    _held: H,
}

/// How long a body may pause.
struct Pause {
    span: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl<H> Bounded<H> {
    /// The body of a request, as the guest writes it. It may pause: the guest has its own time limit.
    pub(crate) fn request(body: WasiBody, limit: u64, held: H) -> Self {
        Self {
            inner: body,
            left: limit,
            limit,
            too_large: |limit| Error::HttpRequestBodySize(Some(limit)),
            pause: None,
            _held: held,
        }
    }

    /// The body of a response. Made on the runtime whose clock is to be used.
    pub(crate) fn response(body: WasiBody, limit: u64, pause: Duration, held: H) -> Self {
        Self {
            inner: body,
            left: limit,
            limit,
            too_large: |limit| Error::HttpResponseBodySize(Some(limit)),
            pause: Some(Pause {
                span: pause,
                sleep: Box::pin(tokio::time::sleep(pause)),
            }),
            _held: held,
        }
    }
}

impl<H: Unpin> Body for Bounded<H> {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        match Pin::new(&mut this.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(pause) = &mut this.pause {
                    pause.sleep.as_mut().reset(Instant::now() + pause.span);
                }
                let bytes = frame.data_ref().map_or(0, |bytes| bytes.len() as u64);
                let Some(left) = this.left.checked_sub(bytes) else {
                    return Poll::Ready(Some(Err((this.too_large)(this.limit))));
                };
                this.left = left;
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                let over = this
                    .pause
                    .as_mut()
                    .is_some_and(|pause| pause.sleep.as_mut().poll(context).is_ready());
                match over {
                    true => Poll::Ready(Some(Err(Error::ConnectionReadTimeout))),
                    false => Poll::Pending,
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Resolves when a job is called off.
pub(crate) type Off = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A body whose reader does not wait any more once the job was called off. What is there is still
/// read.
pub(crate) struct LetGo<B> {
    inner: B,
    off: Off,
}

impl<B> LetGo<B> {
    pub(crate) fn new(inner: B, off: Off) -> Self {
        Self { inner, off }
    }
}

impl<B: Body<Data = Bytes, Error = Error> + Unpin> Body for LetGo<B> {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Ready(frame) => Poll::Ready(frame),
            Poll::Pending => match self.off.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(Some(Err(Fault::called_off().error))),
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
