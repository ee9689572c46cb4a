//! ministat's summary, picture and test of the primary metric.
#![forbid(unsafe_code)]

use std::ffi::OsString;

use super::super::outline::{primary, values};
use super::super::text::plain;
use crate::ministat::classic::{Classic, Options};
use crate::ministat::input::{Set, Skipped, VALUES_MIN};
use crate::ministat::picture::{Picture, SYMBOLS};
use crate::model::result::{ResultFile, WorkloadResult};

/// ministat's own default width, without a terminal.
const WIDTH: usize = 74;

/// One ministat page per workload.
pub(super) fn render(file: &ResultFile) -> Result<String, String> {
    let mut text = String::new();
    let several = file
        .experiments
        .iter()
        .map(|e| e.workloads.len())
        .sum::<usize>()
        > 1;
    for experiment in &file.experiments {
        for workload in &experiment.workloads {
            let Some((metric, _)) = primary(experiment, workload) else {
                continue;
            };
            if several {
                text.push_str(&format!("{}\n", plain(&workload.name)));
            }
            text.push_str(&page(workload, metric)?);
            text.push('\n');
        }
    }
    Ok(text)
}

fn page(w: &WorkloadResult, metric: &str) -> Result<String, String> {
    let able = w.arms.iter().filter(|arm| arm.na.is_none());
    let sets: Vec<Set> = able
        .map(|arm| Set {
            name: OsString::from(plain(&arm.name)),
            values: values(arm, metric),
            skipped: Skipped::default(),
        })
        .collect();
    if sets.len() > SYMBOLS.len() {
        let (sets, most) = (sets.len(), SYMBOLS.len());
        return Err(format!(
            "--format ministat: {sets} arms are too many; it can show at most {most}"
        ));
    }
    if let Some(few) = sets.iter().find(|set| set.values.len() < VALUES_MIN) {
        let name = few.name.to_string_lossy();
        return Err(format!(
            "--format ministat: `{name}` has fewer than {VALUES_MIN} runs: repeat it with \
             --blocks {VALUES_MIN} or more"
        ));
    }
    let picture = Picture {
        separate: false,
        classic: true,
        ..Picture::new(WIDTH)
    };
    let options = Options {
        confidence: 95.0,
        picture: Some(picture),
        tests: true,
    };
    let classic = Classic::new(sets, options).map_err(|refusal| {
        let why = refusal.0;
        format!("--format ministat: {why}")
    })?;
    let mut bytes = vec![];
    let written = classic.write(&mut bytes);
    written.map_err(|error| format!("--format ministat: {error}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
