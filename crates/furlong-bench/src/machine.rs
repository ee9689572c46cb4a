//! Properties of the machine, as far as they can be read without privileges.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use furlong_stats::value::Machine;

use crate::build;
use crate::hash::fnv1a;

/// The root directory of `proc`, `sys` and `etc`.
#[derive(Clone, Debug)]
pub struct Files(PathBuf);

impl Default for Files {
    fn default() -> Files {
        Files("/".into())
    }
}

/// Processor time since the boot, in the kernel's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTime {
    total: u64,
    stolen: u64,
}

impl CpuTime {
    /// Returns the share of the time since `earlier` that the hypervisor gave to others, per cent.
    pub fn steal_pct(self, earlier: CpuTime) -> Option<f64> {
        let total = self
            .total
            .checked_sub(earlier.total)
            .filter(|total| *total > 0)?;
        let stolen = self.stolen.checked_sub(earlier.stolen)?;
        Some(100.0 * stolen as f64 / total as f64)
    }
}

impl Files {
    /// Returns the files under another root.
    pub fn under(root: &Path) -> Files {
        Files(root.to_owned())
    }

    /// Reads everything that the record holds.
    pub fn machine(&self) -> Machine {
        let cpuinfo = self.read("proc/cpuinfo").unwrap_or_default();
        let host = self
            .read("proc/sys/kernel/hostname")
            .unwrap_or_else(|| "unknown".to_owned());
        let kernel = self.kernel();
        let cpu = cpu_model(&cpuinfo);
        let processors = cpuinfo
            .lines()
            .filter(|line| line.starts_with("processor"))
            .count();
        let machine_id = self.read("etc/machine-id").unwrap_or_default();
        let identity = [
            &*machine_id,
            &host,
            &kernel,
            cpu.as_deref().unwrap_or(""),
            &processors.to_string(),
        ];
        Machine {
            id: format!("{:016x}", fnv1a(identity.join("\n").as_bytes())),
            class: None,
            host,
            kernel,
            cpu,
            cpus: thread::available_parallelism()
                .map_or(1, |n| u32::try_from(n.get()).unwrap_or(1)),
            memory_bytes: self.memory_bytes(),
            caches: self.caches(),
            hypervisor: self.hypervisor(&cpuinfo),
            governor: self.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            turbo: self.turbo(),
            smt: self
                .number("sys/devices/system/cpu/smt/active")
                .map(|active| active != 0),
            aslr: self
                .number("proc/sys/kernel/randomize_va_space")
                .and_then(|level| u8::try_from(level).ok()),
            thp: self
                .read("sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(|all| chosen(&all)),
            load_1m: self.load_1m(),
            steal_pct: None,
            rustc: build::rustc().to_owned(),
            build: build::profile(),
            fleet: None,
        }
    }

    /// Returns the processor time so far.
    pub fn cpu_time(&self) -> Option<CpuTime> {
        let stat = self.read("proc/stat")?;
        let line = stat.lines().find(|line| line.starts_with("cpu "))?;
        // The columns are user nice system idle iowait irq softirq steal. Guest time is included in
        // user time.
        let times: Vec<u64> = line
            .split_whitespace()
            .skip(1)
            .take(8)
            .filter_map(|time| time.parse().ok())
            .collect();
        let stolen = *times.get(7)?;
        Some(CpuTime {
            total: times.iter().sum(),
            stolen,
        })
    }

    /// Reads a small file and trims blanks; `None` if it is missing or empty.
    pub fn read(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.0.join(path)).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn number(&self, path: &str) -> Option<u64> {
        self.read(path)?.parse().ok()
    }

    fn kernel(&self) -> String {
        let part = |name| self.read(&format!("proc/sys/kernel/{name}"));
        match (part("ostype"), part("osrelease")) {
            (Some(system), Some(release)) => format!("{system} {release}"),
            _ => std::env::consts::OS.to_owned(),
        }
    }

    fn memory_bytes(&self) -> Option<u64> {
        let meminfo = self.read("proc/meminfo")?;
        let line = meminfo
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    }

    /// Returns the load average of the last minute.
    pub fn load_1m(&self) -> Option<f64> {
        self.read("proc/loadavg")?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    }

    fn caches(&self) -> BTreeMap<String, u64> {
        let mut caches = BTreeMap::new();
        for index in 0..16 {
            let part = |name| {
                self.read(&format!(
                    "sys/devices/system/cpu/cpu0/cache/index{index}/{name}"
                ))
            };
            let (Some(level), Some(size)) = (part("level"), part("size")) else {
                continue;
            };
            let suffix = match part("type").as_deref() {
                Some("Data") => "d",
                Some("Instruction") => "i",
                _ => "",
            };
            if let Some(bytes) = bytes(&size) {
                caches.insert(format!("L{level}{suffix}"), bytes);
            }
        }
        caches
    }

    /// Returns the hypervisor, if the processor reports that this is a guest.
    fn hypervisor(&self, cpuinfo: &str) -> Option<String> {
        let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
        let is_guest = flags.is_some_and(|line| line.split_whitespace().any(|f| f == "hypervisor"));
        let named = self.read("sys/hypervisor/type");
        if !is_guest && named.is_none() {
            return None;
        }
        let vendor = self.read("sys/class/dmi/id/sys_vendor");
        let product = self.read("sys/class/dmi/id/product_name");
        let maker = [vendor, product]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ");
        named
            .or((!maker.is_empty()).then_some(maker))
            .or_else(|| Some("a hypervisor".to_owned()))
    }

    fn turbo(&self) -> Option<bool> {
        let intel = self
            .number("sys/devices/system/cpu/intel_pstate/no_turbo")
            .map(|no| no == 0);
        intel.or_else(|| {
            self.number("sys/devices/system/cpu/cpufreq/boost")
                .map(|on| on != 0)
        })
    }
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    let named = |key| {
        let line = cpuinfo.lines().find(|line| line.starts_with(key))?;
        line.split_once(':')
            .map(|(_, value)| value.trim().to_owned())
    };
    named("model name")
        .or_else(|| named("Hardware"))
        .or_else(|| named("uarch"))
}

/// Parses a size such as `32K`.
fn bytes(size: &str) -> Option<u64> {
    let digits = size.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit: u64 = match &size[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Returns the word in brackets of `always [madvise] never`.
fn chosen(words: &str) -> Option<String> {
    let start = words.split_once('[')?.1;
    Some(start.split_once(']')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{CpuTime, Files, bytes, chosen};

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn guest() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let cpu = "processor\t: 0\nmodel name\t: Some CPU @ 3.0GHz\nflags\t\t: fpu hypervisor lm\n";
        put(
            root.path(),
            "proc/cpuinfo",
            &format!("{cpu}\n{}", cpu.replace(": 0", ": 1")),
        );
        put(root.path(), "proc/sys/kernel/hostname", "box\n");
        put(root.path(), "proc/sys/kernel/ostype", "Linux\n");
        put(root.path(), "proc/sys/kernel/osrelease", "6.1.0\n");
        put(root.path(), "proc/sys/kernel/randomize_va_space", "2\n");
        put(
            root.path(),
            "proc/meminfo",
            "MemTotal:       16384 kB\nMemFree: 1 kB\n",
        );
        put(root.path(), "proc/loadavg", "0.52 0.58 0.59 1/467 12345\n");
        put(
            root.path(),
            "proc/stat",
            "cpu  100 0 50 800 10 0 0 40 5 0\ncpu0 1 1 1 1 1 1 1 1\n",
        );
        let cache = "sys/devices/system/cpu/cpu0/cache";
        put(root.path(), &format!("{cache}/index0/level"), "1\n");
        put(root.path(), &format!("{cache}/index0/type"), "Data\n");
        put(root.path(), &format!("{cache}/index0/size"), "32K\n");
        put(root.path(), &format!("{cache}/index1/level"), "3\n");
        put(root.path(), &format!("{cache}/index1/type"), "Unified\n");
        put(root.path(), &format!("{cache}/index1/size"), "36M\n");
        put(
            root.path(),
            "sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never\n",
        );
        put(
            root.path(),
            "sys/devices/system/cpu/intel_pstate/no_turbo",
            "1\n",
        );
        put(root.path(), "sys/devices/system/cpu/smt/active", "0\n");
        put(root.path(), "sys/class/dmi/id/sys_vendor", "QEMU\n");
        root
    }

    #[test]
    fn everything_that_a_guest_says_is_read() {
        let root = guest();
        let machine = Files::under(root.path()).machine();
        assert_eq!(machine.host, "box");
        assert_eq!(machine.kernel, "Linux 6.1.0");
        assert_eq!(machine.cpu.as_deref(), Some("Some CPU @ 3.0GHz"));
        assert_eq!(machine.memory_bytes, Some(16 << 20));
        assert_eq!(machine.caches["L1d"], 32 << 10);
        assert_eq!(machine.caches["L3"], 36 << 20);
        assert_eq!(machine.hypervisor.as_deref(), Some("QEMU"));
        assert_eq!(
            (machine.turbo, machine.smt, machine.aslr),
            (Some(false), Some(false), Some(2))
        );
        assert_eq!(machine.thp.as_deref(), Some("madvise"));
        assert_eq!(machine.load_1m, Some(0.52));
        assert_eq!(machine.governor, None);
    }

    #[test]
    fn a_machine_keeps_its_id_over_boots_and_not_over_kernels() {
        let root = guest();
        let id = || Files::under(root.path()).machine().id;
        let first = id();
        put(root.path(), "proc/loadavg", "9.99 0.58 0.59 1/467 12345\n");
        put(root.path(), "proc/meminfo", "MemTotal: 16380 kB\n");
        assert_eq!(id(), first);
        put(root.path(), "proc/sys/kernel/osrelease", "6.2.0\n");
        assert_ne!(id(), first);
    }

    #[test]
    fn a_machine_that_says_nothing_is_recorded_all_the_same() {
        let root = tempfile::tempdir().unwrap();
        let machine = Files::under(root.path()).machine();
        assert_eq!(
            (machine.host.as_str(), machine.cpu, machine.hypervisor),
            ("unknown", None, None)
        );
        assert!(machine.cpus >= 1);
        assert_eq!(Files::under(root.path()).cpu_time(), None);
    }

    #[test]
    fn steal_is_the_share_of_the_time_between() {
        let root = guest();
        let files = Files::under(root.path());
        let earlier = files.cpu_time().unwrap();
        assert_eq!(
            earlier,
            CpuTime {
                total: 1000,
                stolen: 40
            }
        );
        put(
            root.path(),
            "proc/stat",
            "cpu  180 0 50 810 10 0 0 50 5 0\n",
        );
        assert_eq!(files.cpu_time().unwrap().steal_pct(earlier), Some(10.0));
        assert_eq!(earlier.steal_pct(earlier), None);
    }

    #[test]
    fn units_and_brackets_are_understood() {
        assert_eq!(bytes("512K"), Some(512 << 10));
        assert_eq!(bytes("64"), Some(64));
        assert_eq!(bytes("lots"), None);
        assert_eq!(chosen("[always] madvise never").as_deref(), Some("always"));
        assert_eq!(chosen("always"), None);
    }
}
