//! Pages before a server that is away for a moment, breaks off, and knows no list.

use sandhog_client::{Code, Error, JobFilter, JobRow, Options, Pages, State};

use crate::{
    client, quick,
    server::{Server, Step, json, problem},
};

fn page(ids: &[&str], next: Option<&str>) -> Step {
    let row = |id: &&str| {
        format!(
            r#"{{"id":"{id}","kind":"k","queue":"q","state":"dead","attempt":1,"max_attempts":1,"at":"","priority":-3,
            "parent":"p","digest":null,"failure":{{"kind":"timeout","cause":"c","hint":null}}}}"#
        )
    };
    let rows: Vec<String> = ids.iter().map(row).collect();
    let next = next.map_or("null".to_owned(), |next| format!("{next:?}"));
    json(
        200,
        &format!(r#"{{"jobs":[{}],"next":{next}}}"#, rows.join(",")),
    )
}

fn ids(rows: &[JobRow]) -> Vec<&str> {
    rows.iter().map(|row| row.id.as_str()).collect()
}

/// The lines of the requests, without what is the same in each.
fn asked(server: &Server) -> Vec<String> {
    let line = |line: &str| {
        let line = line.strip_prefix("GET /api/v1/jobs").unwrap();
        line.strip_suffix(" HTTP/1.1").unwrap().to_owned()
    };
    server.seen().iter().map(|seen| line(&seen.line)).collect()
}

#[tokio::test]
async fn a_list_is_walked_over_a_server_that_goes_away_to_its_end() {
    let server = Server::start(&[
        page(&["3"], Some("a b")),
        Step::Close,
        problem(503, "stopping", ""),
        // Nothing fits in what was looked at, and more is there.
        page(&[], Some("c")),
        Step::BreakOff,
        page(&["2", "1"], None),
    ]);
    let filter = JobFilter::new().state(State::Dead).page_size(2);
    let mut pages = client(&server).list(&filter);
    let first = pages.next().await.unwrap().unwrap();
    assert_eq!((ids(&first), pages.cursor()), (vec!["3"], Some("a b")));
    assert_eq!(
        (first[0].priority, first[0].parent.as_deref()),
        (-3, Some("p"))
    );
    assert_eq!(first[0].failure.as_ref().unwrap().kind, "timeout");
    assert_eq!(ids(&pages.next().await.unwrap().unwrap()), ["2", "1"]);
    assert_eq!(pages.cursor(), None);
    for _ in 0..2 {
        assert!(pages.next().await.unwrap().is_none());
    }
    let (begin, second) = ("?state=dead&limit=2", "?state=dead&limit=2&cursor=a%20b");
    let third = "?state=dead&limit=2&cursor=c";
    assert_eq!(
        asked(&server),
        [begin, second, second, second, third, third]
    );
}

#[tokio::test]
async fn after_an_error_the_same_page_is_the_next() {
    let server = Server::start(&[
        page(&["3"], Some("a")),
        problem(422, "invalid", ""),
        json(200, r#"{"jobs":[]}"#),
        page(&["2"], None),
    ]);
    let options = Options {
        retry_for: std::time::Duration::ZERO,
        ..quick(server.url())
    };
    let client = sandhog_client::Client::with(options).unwrap();
    let mut pages: Pages<JobRow> = client.list(&JobFilter::new());
    pages.next().await.unwrap();
    let refused = pages.next().await.unwrap_err();
    assert_eq!(refused.code(), Some(&Code::Invalid));
    // A list that does not say whether it goes on is none.
    let odd = pages.next().await.unwrap_err();
    assert!(matches!(odd, Error::NotARunner { .. }), "{odd}");
    assert!(odd.to_string().contains("`next`"), "{odd}");
    assert_eq!(ids(&pages.next().await.unwrap().unwrap()), ["2"]);
    assert_eq!(asked(&server), ["", "?cursor=a", "?cursor=a", "?cursor=a"]);

    let server = Server::start(&[page(&["1"], None)]);
    let mut pages = self::client(&server)
        .list(&JobFilter::new())
        .from_cursor("x");
    assert_eq!(pages.cursor(), Some("x"));
    assert_eq!(ids(&pages.next().await.unwrap().unwrap()), ["1"]);
    assert_eq!(asked(&server), ["?cursor=x"]);
}
