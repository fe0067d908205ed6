//! What the machine has, where the settings leave it open.

use std::{fs, path::Path};

use rustix::system::sysinfo;

use crate::config::Config;

/// Where control groups of version 2 are told of.
const GROUPS: &str = "/sys/fs/cgroup";

/// The memory that running attempts may have together, in bytes: the setting, or three quarters of
/// what there is. The rest is for the index, for what the host keeps of guests, and for the system.
pub(super) fn memory_budget(config: &Config) -> u64 {
    config
        .runner
        .memory_budget
        .unwrap_or_else(|| memory() / 4 * 3)
}

/// The machine's memory in bytes, or less when a control group allows less.
fn memory() -> u64 {
    let info = sysinfo();
    let whole = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit));
    let group = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    allowed(Path::new(GROUPS), &group).map_or(whole, |allowed| allowed.min(whole))
}

/// The least that any of the groups allows in which this process is, given what `/proc/self/cgroup`
/// says. `None` when none has a limit, or none can be read.
fn allowed(groups: &Path, own: &str) -> Option<u64> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let own = groups.join(path);
    let limits = own
        .ancestors()
        .take_while(|group| group.starts_with(groups))
        .filter_map(|group| fs::read_to_string(group.join("memory.max")).ok())
        .filter_map(|text| text.trim().parse().ok());
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_of_all_groups_counts() {
        let groups = tempfile::tempdir().unwrap();
        let inner = groups.path().join("outer/inner");
        fs::create_dir_all(&inner).unwrap();
        let own = "1:name=systemd:/x\n0::/outer/inner\n";
        assert_eq!(allowed(groups.path(), own), None);
        fs::write(inner.join("memory.max"), "max\n").unwrap();
        assert_eq!(allowed(groups.path(), own), None);
        fs::write(inner.join("memory.max"), "3000\n").unwrap();
        fs::write(groups.path().join("outer/memory.max"), "2000\n").unwrap();
        assert_eq!(allowed(groups.path(), own), Some(2_000));
        assert_eq!(allowed(groups.path(), ""), None);
    }

    #[test]
    fn this_machine_has_memory_and_the_setting_comes_first() {
        let mut config = Config::default();
        assert!(memory_budget(&config) > 64 << 20);
        config.runner.memory_budget = Some(7 << 20);
        assert_eq!(memory_budget(&config), 7 << 20);
    }
}
