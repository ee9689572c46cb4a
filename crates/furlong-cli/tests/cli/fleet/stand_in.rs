//! Stand-ins for Slurm's programs that do every task at once, on this machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::lab::{Home, ended};

/// Does a job before it prints its number; tasks take turns on three nodes.
const SBATCH: &str = r#"#!/bin/sh
for word in "$@"; do
  case $word in
    --test-only) exit 0 ;;
    --array=*) array=${word#*=} ;;
    --wrap=*) wrap=${word#*=} ;;
  esac
done
echo "$*" >>"${0%/*}/sbatch.log"
export SLURM_JOB_ID=7
if [ -z "$array" ]; then SLURMD_NODENAME=n1 sh -c "$wrap" >&2; echo 7; exit 0; fi
for span in $(echo "$array" | tr , ' '); do
  for task in $(seq "${span%-*}" "${span#*-}"); do
    case " $STAND_IN_SKIPS " in *" $task "*) continue ;; esac
    SLURMD_NODENAME=n$((task % 3 + 1)) SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=$task \
      sh -c "$wrap" >>"${0%/*}/tasks.log" 2>&1
  done
done
echo '7;cluster'
"#;

const SCONTROL: &str = "#!/bin/sh\necho 'Slurmctld(primary) at here is UP'\n";

/// Runs a task at once. It fails, and counts down, while `lost` names a number.
const SRUN: &str = r#"#!/bin/sh
echo "$*" >>"${0%/*}/srun.log"
while [ "${1#--}" != "$1" ]; do shift; done
lost=$(cat "${0%/*}/lost" 2>/dev/null || echo 0)
if [ "$lost" -gt 0 ]; then
  echo $((lost - 1)) >"${0%/*}/lost"
  echo 'srun: error: Node failure on n1' >&2
  exit 1
fi
exec "$@"
"#;

/// Prints nothing: no job is left.
const SILENT: &str = "#!/bin/sh\nexit 0\n";

/// A home with a stand-in for Slurm.
pub(crate) struct StandIn(pub(crate) Home);

impl StandIn {
    pub(crate) fn new() -> StandIn {
        StandIn::over(Home::new())
    }

    /// As above, in a home with other files.
    pub(crate) fn over(home: Home) -> StandIn {
        fs::create_dir_all(home.path("bin")).unwrap();
        let stand_in = StandIn(home);
        stand_in.program("sbatch", SBATCH);
        stand_in.program("srun", SRUN);
        stand_in.program("scontrol", SCONTROL);
        stand_in.program("squeue", SILENT);
        stand_in.program("sacct", SILENT);
        stand_in.program("scancel", SILENT);
        stand_in
    }

    /// Puts a program into the folder of Slurm's programs.
    pub(crate) fn program(&self, name: &str, text: &str) {
        let path = self.0.path("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn furlong(&self, arguments: &[&str]) -> Command {
        let mut command = self.0.furlong(arguments);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.0.path("bin").display()));
        command
    }

    /// Runs, checks the exit code, and returns stderr.
    pub(crate) fn ends(&self, code: i32, arguments: &[&str]) -> String {
        ended(code, &self.furlong(arguments).output().unwrap()).1
    }

    /// The arguments of `sbatch` so far, one line per call.
    pub(crate) fn asked(&self) -> Vec<String> {
        let log = fs::read_to_string(self.0.path("bin/sbatch.log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// The messages of the tasks.
    pub(crate) fn tasks(&self) -> String {
        fs::read_to_string(self.0.path("bin/tasks.log")).unwrap_or_default()
    }
}
