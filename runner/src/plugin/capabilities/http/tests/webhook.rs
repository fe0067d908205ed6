//! The webhook handler as it is delivered, against servers and names that behave badly.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicUsize},
    time::{Duration, Instant},
};

use sandhog_kit::Receiver;
use sandhog_model::Outcome;

use super::{open, rules::Rebinding, tls::Secured};
use crate::plugin::{
    Report,
    capabilities::{
        grants::{Ceilings, parse},
        http::Client,
        outside::Outside,
        secrets::Secrets,
    },
    sandbox::tests::kit::{Rig, failure, within},
};

/// Far more than any of these ends takes beyond its time, far less than for ever.
const LATE: Duration = Duration::from_secs(15);
const ANYWHERE: &str = "[[grants.http]]\norigin = \"https://*:*\"\nmethods = [\"POST\"]\nprivate = true\n\
    [[grants.http]]\norigin = \"http://*:*\"\nmethods = [\"POST\"]\nprivate = true\n";

struct Hook(Rig);

impl Hook {
    fn new(ceilings: &Ceilings, client: Client) -> Self {
        let outside = Outside {
            denials: Arc::default(),
            client: Arc::new(client),
            secrets: Secrets::new(&ceilings.secrets),
            scratch: None,
        };
        let mut rig = Rig::built("webhook", "plugins/webhook.wasm").reaching(outside.into());
        let grants = ceilings.bound("webhook", &parse(ANYWHERE).unwrap());
        Arc::make_mut(&mut rig.plugin).grants = Arc::new(grants);
        Self(rig)
    }

    /// One delivery, in so many milliseconds at most.
    fn post(&self, url: &str, ms: u64) -> Report {
        let mut request = self.0.request("webhook", &[("url", url)]);
        request.config = Arc::new(BTreeMap::from([("secret".to_owned(), "none".to_owned())]));
        request.limits = within(Duration::from_millis(ms));
        let begun = Instant::now();
        let report = self.0.attempt(request);
        assert!(begun.elapsed() < Duration::from_millis(ms) + LATE, "{url}");
        report
    }
}

fn logged(report: &Report) -> String {
    let texts = report.attempt.logs.iter().map(|line| line.text.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// An attempt that failed with this code, to be tried again; its log says this.
fn fails(report: &Report, code: &str, says: &str) {
    assert_eq!(failure(report).code, code, "{report:?}");
    let logged = logged(report);
    assert!(logged.contains(says), "no {says:?} in {logged}");
}

#[test]
fn tls_that_cannot_be_trusted_is_no_delivery() {
    let trusting = |server: &Secured| Client::new(Some(server.ca.path().to_owned()));
    let url = |server: &Secured| format!("https://localhost:{}/", server.address.port());
    let good = Secured::start("localhost");
    let delivered = Hook::new(&open(), trusting(&good)).post(&url(&good), 30_000);
    assert!(
        matches!(delivered.outcome, Outcome::Completed(_)),
        "{delivered:?}"
    );
    let expired = Secured::expired("localhost");
    let report = Hook::new(&open(), trusting(&expired)).post(&url(&expired), 30_000);
    fails(&report, "http-tls", "expired");
    let other = Secured::start("example.com");
    let report = Hook::new(&open(), trusting(&other)).post(&url(&other), 30_000);
    fails(&report, "http-tls", "certificate");
    // Signed by itself, and nobody said that it may be trusted: the authority that is trusted is
    // another one, as on a machine that has some.
    let report = Hook::new(&open(), trusting(&other)).post(&url(&good), 30_000);
    fails(&report, "http-tls", "certificate");
    let plain = Receiver::start();
    let url = format!("https://localhost:{}/", plain.address().port());
    let report = Hook::new(&open(), trusting(&good)).post(&url, 30_000);
    fails(&report, "http-tls", "no TLS connection");
}

#[test]
fn a_name_that_moves_to_a_closed_address_is_not_followed() {
    let receiver = Receiver::start();
    let mut ceilings = open();
    // The first address it stands for is open, this machine is not.
    ceilings.general.private = Some(vec!["192.0.2.0/24".parse().unwrap()]);
    let names = Arc::new(Rebinding(AtomicUsize::new(0)));
    let client = Client::with_resolver(None, Arc::<Rebinding>::clone(&names));
    let hook = Hook::new(&ceilings, client);
    let url = format!("http://rebinding.example:{}/", receiver.address().port());
    // What was checked is dialled: nobody answers there, and the name is not asked for again.
    let first = hook.post(&url, 1_000);
    let code = &failure(&first).code;
    assert!(
        ["timeout", "http-timeout", "http-unreachable"].contains(&code.as_str()),
        "{first:?}"
    );
    assert_eq!(names.0.load(std::sync::atomic::Ordering::Relaxed), 1);
    let second = hook.post(&url, 30_000);
    fails(
        &second,
        "http-denied",
        "127.0.0.1, which is not on the internet",
    );
    assert_eq!(receiver.came(), None, "the closed address was reached");
}

#[test]
fn a_server_that_trickles_ends_with_the_attempt() {
    let receiver = Receiver::start();
    let hook = Hook::new(&open(), Client::default());
    for path in ["drip-head", "drip-body", "silent", "stall"] {
        let report = hook.post(&format!("{}/{path}", receiver.origin()), 1_500);
        let code = &failure(&report).code;
        assert!(
            ["timeout", "http-timeout"].contains(&code.as_str()),
            "{path}: {report:?}"
        );
        assert!(report.attempt.peak_memory < 8 << 20, "{path}");
    }
}

#[test]
fn a_huge_body_a_reset_and_a_redirect_inwards_have_their_ends() {
    let receiver = Receiver::start();
    let hook = Hook::new(&open(), Client::default());
    let at = |path: &str| format!("{}/{path}", receiver.origin());
    let huge = hook.post(&at("huge"), 30_000);
    assert!(matches!(huge.outcome, Outcome::Completed(_)), "{huge:?}");
    assert!(huge.attempt.peak_memory < 8 << 20);
    fails(&hook.post(&at("reset"), 30_000), "http-broken", "");
    fails(&hook.post(&at("half"), 30_000), "http-broken", "");
    let redirected = hook.post(&at("redirect"), 30_000);
    let Outcome::Permanent(failure) = &redirected.outcome else {
        panic!("{redirected:?}");
    };
    assert_eq!(failure.code, "http-302");
    assert!(failure.cause.contains("169.254.169.254"), "{failure:?}");
    // Told to follow, it would meet a closed address.
    let inwards = hook.post("http://169.254.169.254/latest/", 30_000);
    fails(&inwards, "http-denied", "not on the internet");
}
