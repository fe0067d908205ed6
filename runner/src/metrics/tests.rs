//! The text, its labels and its page.

use std::collections::BTreeSet;

use super::*;

/// What a text says of a metric, without comments.
fn lines<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(name)).collect()
}

#[test]
fn every_metric_of_the_table_is_in_the_text_and_no_other() {
    let metrics = Metrics::default();
    let jobs = &metrics.jobs;
    for (family, label) in [
        (&jobs.enqueued, One::reason("r")),
        (&jobs.refused, One::reason("r")),
        (&jobs.attempts, One::reason("r")),
        (&jobs.outcomes, One::reason("r")),
        (&jobs.failures, One::reason("r")),
        (&jobs.ended, One::reason("r")),
    ] {
        family.get_or_create(&label).inc();
    }
    metrics.denials.denied("http");
    jobs.latency.get_or_create(&One::reason("r")).observe(1.0);
    jobs.duration.get_or_create(&One::reason("r")).observe(1.0);
    let text = metrics.text(|glance| {
        glance.jobs.get_or_create(&One::state("available")).set(1);
        glance.add_queue("q".into(), "available", 2);
    });
    let told: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .map(|line| line.split(' ').next().expect("a name").to_owned())
        .collect();
    let table: BTreeSet<String> = TABLE
        .iter()
        .map(|metric| metric.full_name().trim_end_matches("_total").to_owned())
        .collect();
    assert_eq!(told, table);
    for metric in TABLE {
        assert!(
            !lines(&text, &metric.full_name()).is_empty(),
            "{}",
            metric.name
        );
    }
    assert!(text.ends_with("# EOF\n"), "{text}");
}

#[test]
fn what_a_job_is_called_breaks_no_text_and_makes_no_end_of_labels() {
    let metrics = Metrics::default();
    let jobs = &metrics.jobs;
    jobs.queues.only(["default", "mail"]);
    for queue in ["default", "mail", "what\n# EOF", "a\"b\\c"] {
        jobs.enqueued.get_or_create(&jobs.queues.queue(queue)).inc();
    }
    for number in 0..1_000 {
        let kind = jobs.kinds.kind(&format!("k\n\"{number}\\"));
        jobs.attempts.get_or_create(&kind).inc();
    }
    let text = metrics.text(|_| {});
    let queues = lines(&text, "sandhog_jobs_enqueued_total");
    assert_eq!(queues.len(), 3, "{queues:?}");
    assert!(
        queues.contains(&"sandhog_jobs_enqueued_total{queue=\"other\"} 2"),
        "{queues:?}"
    );
    let kinds = lines(&text, "sandhog_attempts_total");
    assert_eq!(kinds.len(), 201);
    assert!(
        kinds.contains(&"sandhog_attempts_total{kind=\"k\\n\\\"0\\\\\"} 1"),
        "{kinds:?}"
    );
    assert_eq!(text.matches("# EOF").count(), 1);
}

#[test]
fn queues_that_share_a_label_are_added_up_and_none_is_left_over() {
    let metrics = Metrics::default();
    let look = |jobs: &[(&'static str, u64)]| {
        metrics.text(|glance| {
            glance.clear_jobs();
            for (queue, jobs) in jobs {
                glance.add_queue((*queue).into(), "available", *jobs);
            }
        })
    };
    let text = look(&[("other", 2), ("a", 1), ("other", 3)]);
    assert!(
        text.contains("sandhog_queue_jobs{queue=\"other\",state=\"available\"} 5\n"),
        "{text}"
    );
    assert_eq!(lines(&look(&[("b", 1)]), "sandhog_queue_jobs").len(), 1);
}

#[test]
fn the_metrics_page_in_docs_is_what_the_code_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/metrics.md");
    if std::env::var_os("SANDHOG_WRITE_DOCS").is_some() {
        std::fs::write(path, page()).expect("the page can be written");
    }
    let kept = std::fs::read_to_string(path).expect("the page is there");
    assert!(
        kept == page(),
        "docs/metrics.md differs: SANDHOG_WRITE_DOCS=1 writes it"
    );
}
