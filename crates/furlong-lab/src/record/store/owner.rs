//! The process that measures a run, and a check that it is still alive.

use std::fs;
use std::process;

/// Returns a name of this process that no other process has, not even after a reboot.
pub(super) fn this_process() -> String {
    name(process::id()).unwrap_or_else(|| process::id().to_string())
}

/// Returns the process number of an owner if it is still running.
pub(super) fn alive(owner: &str) -> Option<u32> {
    let pid: u32 = owner.split(' ').next()?.parse().ok()?;
    (name(pid)? == owner).then_some(pid)
}

/// Formats process number, start time and boot identifier.
fn name(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name, in parentheses, may contain any characters. The start time is field 22,
    // and the first field after the name is field 3.
    let start = stat.rsplit_once(')')?.1.split_whitespace().nth(22 - 3)?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{pid} {start} {}", boot.trim()))
}

#[cfg(test)]
mod tests {
    use std::process::{self, Command};

    use super::{alive, name, this_process};

    #[test]
    fn this_process_is_alive() {
        assert_eq!(alive(&this_process()), Some(process::id()));
    }

    #[test]
    fn a_process_that_is_gone_is_not() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let owner = name(child.id()).unwrap();
        assert_eq!(alive(&owner), Some(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(alive(&owner), None);
    }

    #[test]
    fn the_same_number_with_another_start_is_another_process() {
        let mine = this_process();
        let parts: Vec<&str> = mine.split(' ').collect();
        assert_eq!(
            alive(&format!("{} {}0 {}", parts[0], parts[1], parts[2])),
            None
        );
        assert_eq!(
            alive(&format!("{} {} another-boot", parts[0], parts[1])),
            None
        );
        assert_eq!(alive(""), None);
    }
}
