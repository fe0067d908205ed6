//! The examples of the page in `docs`, run.

use std::{collections::BTreeMap, fs};

use sandhog_kit::{Http, Reply, workspace};

use super::{resources::job, runner};

/// The words of a line of a shell that quotes with `'` and `"` alone.
fn words(line: &str, variables: &BTreeMap<&str, String>) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut is_begun = false;
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match (c, quote) {
            (' ', None) if is_begun => {
                words.push(std::mem::take(&mut word));
                is_begun = false;
            }
            (' ', None) => {}
            ('\'' | '"', None) => (quote, is_begun) = (Some(c), true),
            (c, Some(open)) if c == open => quote = None,
            ('$', open) if open != Some('\'') => {
                let end = rest
                    .find(|c: char| !c.is_ascii_uppercase())
                    .unwrap_or(rest.len());
                word += &variables[&rest[..end]];
                rest = &rest[end..];
            }
            _ => {
                word.push(c);
                is_begun = true;
            }
        }
    }
    words.push(word);
    words
}

/// What `curl` would do with these words, and what is answered; `None` for what does not end.
fn curl(http: &Http, words: &[String]) -> Option<Reply> {
    let (mut method, mut path, mut body) = (None, None, None);
    let mut headers: Vec<(String, String)> = Vec::new();
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-sS" => {}
            "-sSN" => return None,
            "-X" => method = words.next().cloned(),
            "-d" => body = words.next().cloned(),
            "-H" => {
                let (name, value) = words.next()?.split_once(": ").expect("a header");
                headers.push((name.to_ascii_lowercase(), value.to_owned()));
            }
            ">" => drop(words.next()),
            url => path = url.strip_prefix("http://127.0.0.1:7263").map(str::to_owned),
        }
    }
    let usual = if body.is_some() { "POST" } else { "GET" };
    let method = method.unwrap_or_else(|| usual.to_owned());
    let headers: Vec<(&str, &str)> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let path = path.expect("the address of the page");
    Some(http.send(&method, &path, &headers, body.as_deref().map(str::as_bytes)))
}

#[test]
fn every_example_of_the_page_does_what_it_says() {
    let (home, _runner, http) = runner();
    let text = fs::read_to_string(workspace().join("docs/http.md"))
        .unwrap()
        .replace("\\\n", "");
    let mut variables = BTreeMap::from([("ID", home.enqueue(&["echo", "x", "--in", "1s"]))]);
    variables.insert("PLUGIN", "misbehave".to_owned());
    let mut run = 0;
    for line in text.lines().filter(|line| line.starts_with("curl ")) {
        if line.contains("/dead/$ID/") {
            let dead = home.enqueue(&["permanent", "x"]);
            let _ = job(&http, &dead, "dead");
            variables.insert("ID", dead);
        }
        let Some(reply) = curl(&http, &words(line, &variables)) else {
            continue;
        };
        let called_off = line.contains("/cancel") && reply.status == 409;
        assert!(
            matches!(reply.status, 200 | 201) || called_off,
            "{line}\n{}",
            reply.text()
        );
        if reply.status == 201 && line.contains("/batches ") {
            let id = reply.json()["id"].as_str().expect("an id").to_owned();
            variables.insert("BATCH", id);
        }
        run += 1;
    }
    assert!(run >= 12, "{run} examples");
}
