//! The tool poop, judged by the signs that it prints.

use std::process::Command;
use std::time::Instant;

use super::programs::{NOTHING, Programs};
use super::tool::{Amount, Answer, Tool, answers};
use crate::process::finished;
use furlong_lab::model::Failure;

/// Signs that poop prints before a significant difference: slower, faster.
const SIGNS: [char; 2] = ['\u{1f4a9}', '\u{26a1}'];

/// poop itself, if it is installed and the processor has the counters that it needs.
pub(super) struct Poop {
    runs: u64,
    /// Sampling time of a command. poop takes no number of runs, so this is measured once.
    duration_ms: Option<u64>,
}

impl Poop {
    /// The reason if poop cannot be used, otherwise `None`.
    pub(super) fn missing() -> Option<String> {
        if !answers("poop", &["--help"]) {
            return Some("poop is not on the path (github.com/andrewrk/poop)".to_owned());
        }
        let runs = answers("poop", &["--color", "never", "-d", "1", NOTHING]);
        (!runs).then(|| "poop finds no counters of the processor that it can use".to_owned())
    }

    /// Runs poop on commands and parses the wall time of each.
    fn walls(&mut self, commands: &[String]) -> Result<Vec<Wall>, Failure> {
        let duration_ms = match self.duration_ms {
            Some(known) => known,
            None => *self
                .duration_ms
                .insert(duration_ms(&commands[0], self.runs)?),
        };
        let mut command = Command::new("poop");
        command.args(["--color", "never", "--duration", &duration_ms.to_string()]);
        command.args(commands);
        let walls = Wall::all(&finished(&mut command)?);
        match walls.len() == commands.len() {
            true => Ok(walls),
            false => Err(Failure(format!("poop printed {} wall times", walls.len()))),
        }
    }
}

/// Duration of `runs` runs of a command, in milliseconds.
fn duration_ms(command: &str, runs: u64) -> Result<u64, Failure> {
    let words: Vec<&str> = command.split(' ').collect();
    let began = Instant::now();
    for _ in 0..runs {
        let mut process = Command::new(words[0]);
        process.args(&words[1..]);
        finished(&mut process)?;
    }
    Ok((began.elapsed().as_millis() as u64).max(1))
}

/// A row of poop's table.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wall {
    mean_us: f64,
    sign: Option<char>,
}

impl Wall {
    /// Parses the rows of all commands, in order.
    fn all(printed: &str) -> Vec<Wall> {
        let lines = printed.lines().map(str::trim_start);
        lines
            .filter_map(|line| line.strip_prefix("wall_time"))
            .filter_map(Wall::of)
            .collect()
    }

    /// Parses the text after the row's name: "1.23ms ± 45.6us ..".
    fn of(line: &str) -> Option<Wall> {
        let mean = line.split('\u{b1}').next()?.trim();
        let at = mean.find(|letter: char| letter.is_ascii_alphabetic())?;
        let (number, unit) = mean.split_at(at);
        let unit_us = match unit {
            "ns" => 1e-3,
            "us" => 1.0,
            "ms" => 1e3,
            "s" => 1e6,
            _ => return None,
        };
        Some(Wall {
            mean_us: unit_us * number.trim().parse::<f64>().ok()?,
            sign: line.chars().find(|letter| SIGNS.contains(letter)),
        })
    }
}

impl Tool for Poop {
    fn new(amount: Amount) -> Result<Self, Failure> {
        Ok(Self {
            runs: amount.runs()?,
            duration_ms: None,
        })
    }

    fn compare(&mut self, programs: &Programs) -> Result<Answer, Failure> {
        let walls = self.walls(&programs.commands())?;
        let sign = walls.last().and_then(|wall| wall.sign);
        Ok(Answer {
            different: sign.is_some(),
            slower: sign == Some(SIGNS[0]),
            half_width_pct: None,
        })
    }

    fn spawn_to_exit_us(&mut self) -> Result<f64, Failure> {
        let walls = self.walls(&[NOTHING.to_owned()])?;
        Ok(walls[0].mean_us)
    }
}

#[cfg(test)]
mod tests {
    use super::{SIGNS, Wall};

    #[test]
    fn wall_times_and_signs_are_read_from_its_table() {
        let printed = "\
Benchmark 1 (10 runs): /bin/sh a.sh
  measurement          mean ± σ            min … max           outliers         delta
  wall_time          6.71ms ±  134us    6.60ms … 7.04ms          0 ( 0%)        0%
  peak_rss           1.70MB ± 60.1KB    1.57MB … 1.76MB          0 ( 0%)        0%
Benchmark 2 (10 runs): /bin/sh b.sh
  measurement          mean ± σ            min … max           outliers         delta
  wall_time           812us ±  160us     6.81ms … 7.34ms          0 ( 0%)        💩+  3.8% ±  2.0%
  cpu_cycles         10.0M  ±  160K      6.81M  … 7.34M           0 ( 0%)        ⚡-  3.8% ±  2.0%
Benchmark 3 (10 runs): /bin/sh c.sh
  wall_time          1.20s  ±  160us     6.81ms … 7.34ms          0 ( 0%)          +  0.8% ±  2.0%
";
        let found = Wall::all(printed);
        let means: Vec<f64> = found.iter().map(|wall| wall.mean_us).collect();
        assert_eq!(means, [6710.0, 812.0, 1.2e6]);
        let signs: Vec<Option<char>> = found.iter().map(|wall| wall.sign).collect();
        assert_eq!(signs, [None, Some(SIGNS[0]), None]);
    }
}
