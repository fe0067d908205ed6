//! The handler on small pages written for one question each.

use sandhog_sdk::testing::FakeContext;
use sandhog_sdk::{Bytes, EnqueueError, Error};

use crate::page;

fn run(markdown: &str, ctx: &FakeContext) -> String {
    html(page(Bytes::new("text/markdown", markdown), ctx).unwrap())
}

fn html(page: Bytes) -> String {
    assert_eq!(page.content_type, "text/html; charset=utf-8");
    String::from_utf8(page.bytes).unwrap()
}

fn rendered(markdown: &str) -> String {
    run(markdown, &FakeContext::new())
}

fn body(markdown: &str) -> String {
    let page = rendered(markdown);
    let start = page.find("<body>\n").unwrap() + 7;
    page[start..page.find("</body>").unwrap()].to_owned()
}

#[test]
fn the_page_is_complete_and_titled_by_its_first_heading() {
    let page = rendered("\u{feff}text\n\n## A *fine* `x < y` & more\n\n# Later\n");
    assert!(
        page.starts_with("<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">"),
        "{page}"
    );
    assert!(
        page.contains("<title>A fine x &lt; y &amp; more</title>"),
        "{page}"
    );
    assert!(page.ends_with("</body>\n</html>\n"), "{page}");
    assert!(!page.contains('\u{feff}'));
}

#[test]
fn the_title_header_wins_and_cannot_break_out() {
    let ctx = FakeContext::new().with_header("title", "a</title>\n<script>");
    let page = run("# Other\n", &ctx);
    assert!(
        page.contains("<title>a&lt;/title&gt; &lt;script&gt;</title>"),
        "{page}"
    );
    let ctx = FakeContext::new().with_header("path", "notes/x.md");
    assert!(run("no heading", &ctx).contains("<title>notes/x.md</title>"));
}

#[test]
fn the_extensions_are_on() {
    let all = body("|a|b|\n|-|-|\n|1|2|\n\n~~gone~~\n\n- [x] done\n\nnote[^1]\n\n[^1]: the note\n");
    for part in [
        "<table>",
        "<del>gone</del>",
        "type=\"checkbox\"",
        "footnote-definition",
    ] {
        assert!(all.contains(part), "no {part} in {all}");
    }
}

#[test]
fn headings_have_ids_of_their_own() {
    let all = body("# Über uns!\n## a b\n## a b\n## a b-1\n## ...\n## x {#Own}\n## a b\n");
    for id in [
        "über-uns",
        "a-b",
        "a-b-1",
        "a-b-1-1",
        "section",
        "Own",
        "a-b-2",
    ] {
        assert_eq!(
            all.matches(&format!("id=\"{id}\"")).count(),
            1,
            "{id} in {all}"
        );
    }
    let taken = body("# c-1\n# c\n# c\n");
    assert!(taken.contains("id=\"c-2\""), "{taken}");
}

#[test]
fn html_is_shown_and_comments_are_not() {
    let all = body(
        "a <b onclick=\"x\">b</b> <!-- c --> d\n\n<script>\nalert(1)\n</script>\n\n<!-- e\nf -->\n",
    );
    assert!(!all.contains("<b") && !all.contains("<script"), "{all}");
    assert!(
        all.contains("&lt;b onclick=") && all.contains("&lt;script&gt;"),
        "{all}"
    );
    assert!(!all.contains("c --") && !all.contains("f --"), "{all}");
    let tricked = body("<!-- a --><img src=x onerror=alert(1)><!-- b -->\n");
    assert!(
        !tricked.contains("<img") && tricked.contains("&lt;img"),
        "{tricked}"
    );
}

#[test]
fn dangerous_links_lead_nowhere() {
    let all = body(
        "[a](javascript:alert) [b](<java&#10;script:x>) ![c](data:text/html,x) <https://example.org>\n\
         [d] <a@example.org> <VBScript:x>\n\n[d]: JAVASCRIPT:y\n",
    );
    assert!(!all.to_lowercase().contains("script:x\""), "{all}");
    assert_eq!(all.matches("href=\"#\"").count(), 4, "{all}");
    assert_eq!(all.matches("src=\"#\"").count(), 1, "{all}");
    assert!(all.contains("href=\"https://example.org\""), "{all}");
    assert!(all.contains("href=\"mailto:a@example.org\""), "{all}");
}

#[test]
fn links_to_pages_become_html_when_asked() {
    let markdown = "[a](b.md#c) [d](https://example.org/e.md)\n";
    assert!(body(markdown).contains("href=\"b.md#c\""));
    let all = run(markdown, &FakeContext::new().with_header("links", "html"));
    assert!(all.contains("href=\"b.html#c\""), "{all}");
    assert!(all.contains("href=\"https://example.org/e.md\""), "{all}");
}

#[test]
fn nothing_follows_unasked() {
    let ctx = FakeContext::new().with_header("follow", "false");
    run("[a](b.md)\n", &ctx);
    assert_eq!(ctx.enqueued(), []);
}

#[test]
fn a_page_alone_is_followed_by_pages_that_say_what_is_missing() {
    let ctx = FakeContext::new()
        .with_header("follow", "true")
        .with_header("path", "docs/a.md");
    let all = run(
        "[b](b.md) [again](./b.md#x) [c](../c.md) [self](a.md) [up](../../d.md)\n",
        &ctx,
    );
    assert!(all.contains("href=\"b.html\""), "{all}");
    let children = ctx.enqueued();
    let paths: Vec<_> = children.iter().map(|job| header(job, "path")).collect();
    assert_eq!(paths, ["docs/b.md", "c.md"]);
    assert_eq!(children[0].kind, "page");
    assert_eq!(header(&children[0], "title"), "docs/b.md");
    let markdown = String::from_utf8(children[0].payload.bytes.clone()).unwrap();
    assert!(
        rendered(&markdown).contains("<h1 id=\"missing-page\">"),
        "{markdown}"
    );
}

fn header<'a>(job: &'a sandhog_sdk::testing::EnqueuedJob, key: &str) -> &'a str {
    job.headers
        .iter()
        .find(|(known, _)| known == key)
        .map_or("", |(_, value)| value)
}

#[test]
fn a_bundle_is_followed_to_its_end_each_page_once() {
    let bundle = br##" {"page": "index.md", "pages": {
        "index.md": "# Start\n[a](a.md) [b](x/b.md)",
        "a.md": "[home](index.md) [b](x/b.md)",
        "x/b.md": "[c](c.md) [gone](../gone.md)",
        "x/c.md": "[a](../a.md)",
        "unlinked.md": "" }}"##;
    let ctx = FakeContext::new().with_header("follow", "true");
    let all = html(page(Bytes::new("application/json", *bundle), &ctx).unwrap());
    assert!(all.contains("<title>Start</title>"), "{all}");
    let children = ctx.enqueued();
    let paths: Vec<_> = children.iter().map(|job| header(job, "path")).collect();
    assert_eq!(paths, ["a.md", "x/b.md", "x/c.md", "gone.md"]);
    assert_eq!(
        children[2].payload,
        Bytes::new("text/markdown", "[a](../a.md)")
    );
    assert_eq!(ctx.progress_reports().len(), 4);
}

#[test]
fn what_cannot_be_read_is_permanent() {
    let refusal = |payload, ctx: FakeContext| -> Error {
        let error = page(payload, &ctx).unwrap_err();
        assert!(error.is_permanent(), "{error}");
        error
    };
    let error = refusal(Bytes::new("text/markdown", *b"ab\xff"), FakeContext::new());
    assert_eq!(
        (error.code(), error.details()[0].1.as_str()),
        ("not-utf8", "2")
    );
    for bundle in [
        "{",
        "{\"page\": \"a.md\"}",
        "{\"page\": \"a.md\", \"pages\": {}}",
    ] {
        let error = refusal(Bytes::new("application/json", bundle), FakeContext::new());
        assert_eq!(error.code(), "bad-bundle", "{bundle}");
    }
    for (key, value) in [("follow", "yes"), ("links", "")] {
        let error = refusal(Bytes::default(), FakeContext::new().with_header(key, value));
        assert_eq!(error.code(), "bad-header", "{key}");
    }
}

#[test]
fn a_child_that_is_refused_fails_the_attempt() {
    let refused = EnqueueError::Quota("1000 jobs".to_owned());
    let ctx = FakeContext::new()
        .with_header("follow", "true")
        .refusing_jobs(refused);
    let error = page(Bytes::new("text/markdown", "[a](a.md)"), &ctx).unwrap_err();
    assert!(
        !error.is_permanent() && error.message().contains("1000 jobs"),
        "{error}"
    );
}

#[test]
fn markdown_under_the_default_content_type_is_still_markdown() {
    let page = page(
        Bytes::new("application/json", "# Title"),
        &FakeContext::new(),
    )
    .unwrap();
    assert!(html(page).contains("<title>Title</title>"));
}
