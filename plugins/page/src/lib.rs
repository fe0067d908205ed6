//! Makes pages: Markdown goes in, a complete HTML page comes out; the pages it links to may follow.

mod follow;
mod link;
mod render;

use sandhog_sdk::{Bytes, Context, Error, NewJob};

use crate::follow::Source;
use crate::render::{Links, render};

sandhog_sdk::export!(page);

/// Makes a complete HTML page of a Markdown text.
///
/// The payload is the Markdown itself (UTF-8; tables, footnotes, task lists, strikethrough), or JSON
/// with content type `application/json` that brings other pages along:
/// `{"page": "index.md", "pages": {"index.md": "..", "guide/start.md": ".."}}`.
///
/// | header | meaning |
/// |---|---|
/// | `title` | the page's title; its first heading when absent |
/// | `path` | where the page stands, such as `guide/start.md` (`index.md`); links are relative to it |
/// | `links` | `html` turns links to `x.md` into `x.html`; `keep` (default) leaves them |
/// | `follow` | `true` makes a page of everything the page links to, see below |
///
/// With `follow` each page that can be reached by relative links to `.md` becomes a child job of
/// kind `page`, once, with its own `path` header. A page that did not come with the job becomes one
/// that says so: no link leads nowhere. `follow` implies `links=html`.
///
/// HTML in the Markdown is shown as text, its comments are left out, and a link that is not to
/// `http`, `https`, `mailto`, `tel` or a relative place leads nowhere.
///
/// Permanent failures: `not-utf8`, `bad-bundle`, `bad-header`.
#[sandhog_sdk::job(timeout = "30s", max_attempts = 5, content_type = "text/markdown")]
pub fn page(payload: Bytes, ctx: &Context) -> Result<Bytes, Error> {
    let source = Source::read(payload, ctx.header("path"))?;
    let follow = choice(ctx, "follow", "false", "true")?;
    let to_html = choice(ctx, "links", "keep", "html")? || follow;
    let links = if to_html { Links::ToHtml } else { Links::Keep };
    let html = render(source.markdown(), ctx.header("title"), source.path(), links);
    if follow {
        let pages = source.reachable();
        let total = pages.len() as u64;
        for (done, (path, markdown)) in (1..).zip(pages) {
            ctx.enqueue(child(path, markdown))?;
            ctx.progress(done, total, "pages to follow");
        }
    }
    Ok(Bytes::new("text/html; charset=utf-8", html))
}

/// The job for a page that is linked to; `None` when nobody brought its Markdown.
fn child(path: String, markdown: Option<&str>) -> NewJob {
    const MISSING: &str =
        "# Missing page\n\nA page links here, but its Markdown did not come along.\n";
    let payload = Bytes::new("text/markdown", markdown.unwrap_or(MISSING));
    let job = NewJob::new("page", payload).header("links", "html");
    let job = if markdown.is_none() {
        job.header("title", path.clone())
    } else {
        job
    };
    job.header("path", path)
}

/// Whether the header chooses `on` over `off`, its default.
fn choice(ctx: &Context, header: &str, off: &str, on: &str) -> Result<bool, Error> {
    match ctx.header(header) {
        None => Ok(false),
        Some(value) if value == off => Ok(false),
        Some(value) if value == on => Ok(true),
        Some(value) => {
            let why = format!("header `{header}` is `{off}` or `{on}`, not `{value}`");
            Err(Error::permanent(why).with_code("bad-header"))
        }
    }
}

#[cfg(test)]
mod tests;
