//! What a check and a repair of the log found, as the command line shows it.

use std::path::Path;

use sandhog_model::JobId;

use crate::{
    cli::{Finding, LogCheck, LogRepair, RepairedLog},
    store::{
        dead::DeadDamage,
        wal::{CheckReport, Fate, Hole, RepairReport, Verdict},
    },
};

/// Jobs named in a finding.
const NAMED: usize = 5;

/// A check's report.
pub(super) fn check(data: &Path, report: &CheckReport) -> LogCheck {
    let of_segments = report.segments.iter().filter_map(|segment| {
        let damage = segment.verdict == Verdict::Damaged;
        let why = segment.why.as_deref().unwrap_or("the record is not whole");
        let what = match segment.verdict {
            Verdict::Sound | Verdict::LettersDamaged => return None,
            Verdict::BeingWritten => format!("{why}: a runner is writing it now"),
            Verdict::TornTail => {
                format!("{why}: it looks unfinished, and the next start cuts it after a copy")
            }
            Verdict::Damaged => format!(
                "{why}; {}; see what can be kept with `sandhog log repair --dry-run`",
                behind(report)
            ),
        };
        Some(Finding {
            file: segment.file.clone(),
            offset: segment.offset.unwrap_or(0),
            what,
            damage,
        })
    });
    let first = |hole: &Hole| {
        let damaged = report.segments.iter();
        damaged.clone().any(|segment| {
            segment.verdict == Verdict::Damaged
                && segment.file == hole.file
                && segment.offset == Some(hole.offset)
        })
    };
    let more = report.holes.iter().filter(|hole| !first(hole)).map(finding);
    let lost: Vec<JobId> = report.missing_letters.clone();
    let of_letters = report.dead.damage.iter().map(|damage| {
        let jobs = match lost[..] {
            [] => String::new(),
            [..] => format!(
                "; the next start writes those of {} again from the log",
                names(&lost, 0)
            ),
        };
        Finding {
            what: format!(
                "a dead letter cannot be read and is left out: {}{jobs}",
                damage.why
            ),
            ..letter(data, damage)
        }
    });
    LogCheck {
        segments: report.segments.len() as u64,
        records: report.records,
        bytes: report.bytes,
        dead_letters: report.dead.letters,
        findings: of_segments.chain(more).chain(of_letters).collect(),
    }
}

/// What starting without the records behind the damage would lose, and what the damage is about.
fn behind(report: &CheckReport) -> String {
    let mut said = match report.affected.jobs[..] {
        [] => "no record behind it can be read".to_owned(),
        [..] => format!(
            "behind it lie records of {}",
            names(&report.affected.jobs, report.affected.more)
        ),
    };
    for fate in [Fate::Lost, Fate::Bridged, Fate::Uncertain] {
        let about = report.fates.iter().filter(|(_, found)| *found == fate);
        let jobs: Vec<JobId> = about.map(|(id, _)| *id).collect();
        if !jobs.is_empty() {
            said += &format!("; {}: {}", how(fate), names(&jobs, 0));
        }
    }
    said
}

fn names(jobs: &[JobId], more: u64) -> String {
    let shown: Vec<String> = jobs.iter().take(NAMED).map(ToString::to_string).collect();
    let more = more + (jobs.len() - shown.len()) as u64;
    let shown = shown.join(", ");
    match more {
        0 => shown,
        more => format!("{shown} and {more} more jobs"),
    }
}

fn finding(hole: &Hole) -> Finding {
    Finding {
        file: hole.file.clone(),
        offset: hole.offset,
        what: hole.why.clone(),
        damage: true,
    }
}

fn letter(data: &Path, damage: &DeadDamage) -> Finding {
    Finding {
        file: data.join("dead").join("letters"),
        offset: damage.offset,
        what: damage.why.clone(),
        damage: true,
    }
}

/// What damage means for a job, for a person.
fn how(fate: Fate) -> &'static str {
    match fate {
        Fate::Lost => "the record that accepted it is lost, so it cannot be run",
        Fate::Bridged => "a record of its past is lost; its state is known",
        Fate::Uncertain => "a later record of it may be lost, so it may run once more",
    }
}

/// A repair's report.
pub(super) fn repair(report: RepairReport) -> LogRepair {
    let logs = report.logs.into_iter().map(|log| RepairedLog {
        removed: log
            .holes
            .iter()
            .map(|hole| (finding(hole), hole.records))
            .collect(),
        affected: log
            .affected
            .iter()
            .map(|(id, fate)| (*id, how(*fate)))
            .collect(),
        log: log.log,
        kept: log.kept,
        list: log.list,
        records: log.records,
        unused: log.unused,
        jobs: log.jobs,
    });
    let letters = report.letters.map(|mended| {
        let header = mended.header.iter().map(|why| Finding {
            file: mended.file.clone(),
            offset: 0,
            what: why.clone(),
            damage: true,
        });
        let entries = mended.damage.iter().map(|damage| Finding {
            file: mended.file.clone(),
            offset: damage.offset,
            what: damage.why.clone(),
            damage: true,
        });
        (header.chain(entries).collect(), mended.kept.clone())
    });
    LogRepair {
        logs: logs.collect(),
        letters,
    }
}
