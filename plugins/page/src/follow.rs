//! The page that was asked for, the pages that came with it, and which of them are linked to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sandhog_sdk::{Bytes, Error};
use serde::Deserialize;

use crate::link::target;
use crate::render::links;

/// One page and whatever pages came along, by path.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    page: String,
    pages: BTreeMap<String, String>,
}

impl Source {
    /// Reads a payload: JSON that says so, or else Markdown, which stands at `path`.
    pub(crate) fn read(payload: Bytes, path: Option<&str>) -> Result<Self, Error> {
        // By the first byte too: files are often enqueued under the default content type.
        let says_json = payload.content_type.starts_with("application/json");
        if says_json && payload.bytes.trim_ascii_start().starts_with(b"{") {
            return Self::bundle(&payload.bytes);
        }
        let markdown = String::from_utf8(payload.bytes).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            let why = format!("the Markdown is not UTF-8: byte {offset} begins no character");
            Error::permanent(why)
                .with_code("not-utf8")
                .with_detail("offset", offset)
        })?;
        let page = path.unwrap_or("index.md").to_owned();
        Ok(Self {
            pages: BTreeMap::from([(page.clone(), markdown)]),
            page,
        })
    }

    fn bundle(json: &[u8]) -> Result<Self, Error> {
        let refuse = |why: String| Error::permanent(why).with_code("bad-bundle");
        let source: Self = serde_json::from_slice(json).map_err(|error| {
            refuse(format!(
                "the payload is no JSON of the form {{\"page\", \"pages\"}}: {error}"
            ))
        })?;
        if source.pages.contains_key(&source.page) {
            Ok(source)
        } else {
            Err(refuse(format!(
                "`pages` has no `{}`, which `page` names",
                source.page
            )))
        }
    }

    pub(crate) fn path(&self) -> &str {
        &self.page
    }

    pub(crate) fn markdown(&self) -> &str {
        self.pages.get(&self.page).map_or("", String::as_str)
    }

    /// Every page that links lead to from this one, over any number of pages, each once, nearest
    /// first; with its Markdown if that came along. The page itself is not among them.
    pub(crate) fn reachable(&self) -> Vec<(String, Option<&str>)> {
        let mut seen = BTreeSet::from([self.page.clone()]);
        let mut queue = VecDeque::from([self.page.clone()]);
        let mut found = Vec::new();
        while let Some(from) = queue.pop_front() {
            let Some(markdown) = self.pages.get(&from) else {
                continue;
            };
            for path in links(markdown)
                .iter()
                .filter_map(|address| target(&from, address))
            {
                if seen.insert(path.clone()) {
                    found.push((path.clone(), self.pages.get(&path).map(String::as_str)));
                    queue.push_back(path);
                }
            }
        }
        found
    }
}
