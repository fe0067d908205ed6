//! Markdown to HTML, with everything an author could slip in made harmless.

use std::collections::HashMap;

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

use crate::link;

const STYLE: &str = "\
body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:1rem/1.6 system-ui,sans-serif;color:#222;background:#fff}\
pre{overflow:auto;padding:.8rem;background:#f4f4f4}code{font-size:.9em}\
table{border-collapse:collapse}th,td{border:1px solid #ccc;padding:.3rem .6rem}\
blockquote{margin-left:0;padding-left:1rem;border-left:.25rem solid #ccc}img{max-width:100%}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#262626}a{color:#8ab4f8}}";

/// What becomes of links to other Markdown pages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// They stay.
    Keep,
    /// They lead to the HTML page of the same name.
    ToHtml,
}

/// A complete page. `path` is where it stands; the title defaults to the first heading, then to it.
pub(crate) fn render(markdown: &str, title: Option<&str>, path: &str, links: Links) -> String {
    let mut events = without_html(parse(markdown));
    let heading = anchor_headings(&mut events);
    for event in &mut events {
        if let Event::Start(Tag::Link {
            link_type,
            dest_url,
            ..
        }) = event
        {
            // An address of this type is a bare mail address.
            if *link_type != LinkType::Email {
                mend(dest_url, path, links);
            }
        } else if let Event::Start(Tag::Image { dest_url, .. }) = event {
            mend(dest_url, path, Links::Keep);
        }
    }
    let title = title
        .map(str::to_owned)
        .or(heading)
        .unwrap_or_else(|| path.to_owned());
    let mut page = String::with_capacity(markdown.len() * 2);
    page.push_str("<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str(
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
    );
    html::push_html(
        &mut page,
        std::iter::once(Event::Text(one_line(&title).into())),
    );
    page.push_str("</title>\n<style>");
    page.push_str(STYLE);
    page.push_str("</style>\n</head>\n<body>\n");
    html::push_html(&mut page, events.into_iter());
    page.push_str("</body>\n</html>\n");
    page
}

/// The addresses of the links in a Markdown text, in order; images are no links.
pub(crate) fn links(markdown: &str) -> Vec<String> {
    let address = |event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    };
    parse(markdown).filter_map(address).collect()
}

fn parse(markdown: &str) -> Parser<'_> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES;
    Parser::new_ext(
        markdown.strip_prefix('\u{feff}').unwrap_or(markdown),
        options,
    )
}

fn mend(address: &mut CowStr<'_>, path: &str, links: Links) {
    if !link::is_safe(address) {
        *address = "#".into();
    } else if links == Links::ToHtml
        && let Some(html) = link::to_html(path, address)
    {
        *address = html.into();
    }
}

/// The events with HTML as text. A block of HTML becomes a paragraph; comments go.
fn without_html<'a>(parsed: impl Iterator<Item = Event<'a>>) -> Vec<Event<'a>> {
    let mut events = Vec::new();
    let mut block: Option<String> = None;
    for event in parsed {
        match event {
            Event::Start(Tag::HtmlBlock) => block = Some(String::new()),
            Event::Html(line) => match &mut block {
                Some(text) => text.push_str(&line),
                None => events.push(Event::Text(line)),
            },
            Event::End(TagEnd::HtmlBlock) => {
                let text = block.take().unwrap_or_default();
                if !is_comment(&text) {
                    events.push(Event::Start(Tag::Paragraph));
                    events.push(Event::Text(text.trim_end().to_owned().into()));
                    events.push(Event::End(TagEnd::Paragraph));
                }
            }
            Event::InlineHtml(text) if is_comment(&text) => {}
            Event::InlineHtml(text) => events.push(Event::Text(text)),
            other => events.push(other),
        }
    }
    events
}

/// One comment and nothing after it.
fn is_comment(html: &str) -> bool {
    let body = html
        .trim()
        .strip_prefix("<!--")
        .and_then(|rest| rest.strip_suffix("-->"));
    body.is_some_and(|body| !body.contains("-->"))
}

/// Gives each heading an id of its own, so that links into the page work; answers the text of the
/// first one that has any.
fn anchor_headings(events: &mut [Event<'_>]) -> Option<String> {
    let mut first = None;
    let mut used: HashMap<String, usize> = HashMap::new();
    let mut at = 0;
    while at < events.len() {
        let (head, tail) = events[at..].split_at_mut(1);
        at += 1;
        let Event::Start(Tag::Heading { id, .. }) = &mut head[0] else {
            continue;
        };
        let text = text_until_heading_ends(tail);
        let wanted = id.as_deref().map_or_else(|| slug(&text), str::to_owned);
        *id = Some(unique(wanted, &mut used).into());
        if first.is_none() && !text.trim().is_empty() {
            first = Some(text);
        }
    }
    first
}

fn text_until_heading_ends(events: &[Event<'_>]) -> String {
    let mut text = String::new();
    for event in events {
        match event {
            Event::End(TagEnd::Heading(_)) => break,
            Event::Text(part) | Event::Code(part) => text.push_str(part),
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            _ => {}
        }
    }
    text
}

/// The id most Markdown sites give a heading: small letters, `-` for blanks, no other signs.
fn slug(text: &str) -> String {
    let kept = text.trim().chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    let slug: String = kept.flat_map(char::to_lowercase).collect();
    if slug.is_empty() {
        "section".to_owned()
    } else {
        slug
    }
}

/// The id, or the first of `id-1`, `id-2`, .. that nobody has.
fn unique(id: String, used: &mut HashMap<String, usize>) -> String {
    let mut free = id.clone();
    while used.contains_key(&free) {
        let count = used.entry(id.clone()).or_insert(0);
        *count += 1;
        free = format!("{id}-{count}");
    }
    used.insert(free.clone(), 0);
    free
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
