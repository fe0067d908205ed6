//! A connection that does not wait for ever: what is written must be taken in time. It also gives the
//! answers that the HTTP library makes by itself the form of all others.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};

use super::problem::{Code, Problem};

/// How long the other side may take nothing of what is written.
const STALL: Duration = Duration::from_secs(30);

/// The connection.
pub(super) struct Patient {
    stream: TcpStream,
    stalled: Pin<Box<Sleep>>,
    is_stalled: bool,
    /// What is written in place of something else, and how much of it is out.
    instead: Option<(Vec<u8>, usize)>,
}

impl Patient {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            stalled: Box::pin(sleep_until(Instant::now())),
            is_stalled: false,
            instead: None,
        }
    }

    fn write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        match written {
            Poll::Ready(done) => {
                self.is_stalled = false;
                Poll::Ready(done)
            }
            Poll::Pending => {
                if !std::mem::replace(&mut self.is_stalled, true) {
                    self.stalled.as_mut().reset(Instant::now() + STALL);
                }
                ready!(self.stalled.as_mut().poll(cx));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.instead.is_none() {
            match dressed(bytes) {
                Some(instead) => self.instead = Some((instead, 0)),
                None => return self.write(cx, bytes),
            }
        }
        while let Some((instead, out)) = self.instead.take() {
            match self.write(cx, &instead[out..]) {
                Poll::Ready(Ok(more)) if out + more < instead.len() => {
                    self.instead = Some((instead, out + more));
                }
                Poll::Ready(Ok(_)) => break,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.instead = Some((instead, out));
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A whole answer without a body that refuses a request, which only the library makes: bodies of ours do
/// not begin so, and its heads end where the write ends.
fn dressed(bytes: &[u8]) -> Option<Vec<u8>> {
    let bare =
        bytes.starts_with(b"HTTP/1.1 4") && bytes.ends_with(b"\r\n\r\n") && bytes.len() < 256;
    let text = str::from_utf8(bytes).ok().filter(|_| bare)?;
    let is_empty = text
        .lines()
        .any(|line| line.eq_ignore_ascii_case("content-length: 0"));
    let (code, why) = match (text.get(9..12)?, is_empty) {
        ("431", true) => (
            Code::HeadersTooLarge,
            "the head of the request is too large",
        ),
        ("414", true) => (Code::UriTooLong, "the address is too long"),
        ("400", true) => (Code::BadRequest, "the head of the request is no HTTP/1.1"),
        _ => return None,
    };
    Some(whole(&Problem::new(code, why)))
}

/// A problem as the last answer of a connection.
pub(super) fn whole(problem: &Problem) -> Vec<u8> {
    let (status, body) = (problem.status(), problem.body());
    let media_type = "application/problem+json";
    let retry = match problem.code {
        Code::Busy => "retry-after: 1\r\n",
        _ => "",
    };
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\n{retry}cache-control: no-store\r\nconnection: close\r\n\r\n{body}",
        body.len(),
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_library_get_the_form_of_all_others() {
        let bare = |status: &str| {
            format!(
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\ndate: Mon, 30 Nov 2026 12:00:00 GMT\r\n\r\n"
            )
        };
        let dressed_text =
            |text: &str| dressed(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        let given = dressed_text(&bare("431 Request Header Fields Too Large")).unwrap();
        assert!(given.starts_with("HTTP/1.1 431 "), "{given}");
        assert!(given.contains("\"code\":\"headers-too-large\""), "{given}");
        assert!(dressed_text(&bare("400 Bad Request")).is_some());
        for other in [
            bare("404 Not Found"),
            bare("200 OK"),
            bare("431 x").replace("content-length: 0", "content-length: 7"),
            bare("431 x") + "{\"a\":1}",
            "{\"HTTP/1.1 431\":1}".to_owned(),
        ] {
            assert_eq!(dressed_text(&other), None, "{other}");
        }
    }
}
