//! Traces of `phys`: recordings of plugs and unplugs, and memory maps of machines. A map is
//! replayed as a boot, and then looked up.

mod arm;
mod driver;
mod room;
mod script;

use furlong_spec::phys_map::{self, Form as MapForm, MemoryMap, Recording};

use self::arm::{ARMS, Arm};
use self::script::Script;
use super::form::{self, Form};
use super::input::Input;
use super::outcome::{Judge, Outcome, SCHEMA};
use furlong_lab::error::Error;

/// Traces `*.plugs`.
pub(super) const RECORDING: Form = Form {
    described: "a recording of plugs (furlong.plugs/1)",
    is_one: |input| Recording::is_one(&input.bytes),
    replay: replay_recording,
};

/// Memory maps of all forms.
pub(super) const MAP: Form = Form {
    described: "a memory map (/proc/iomem, furlong.map/1)",
    is_one: is_map,
    replay: replay_map,
};

/// Binary logarithm of a map's page size, 4 KiB.
const PAGE_SHIFT: u32 = 12;

fn is_map(input: &Input) -> bool {
    let text = String::from_utf8_lossy(&input.bytes);
    !input.bytes.contains(&0) && MapForm::of(&text).is_some()
}

fn replay_recording(input: &Input, subjects: &[String]) -> Result<Outcome, Error> {
    let arms = chosen(subjects)?;
    let (recording, fault) = Recording::parse_sound_part(&input.name, &input.bytes);
    if let (Some(fault), true) = (&fault, recording.operations.is_empty()) {
        return Err(Error::usage(fault.to_string()));
    }
    let script = Script::of_recording(&recording);
    let fault = fault.map(|fault| fault.to_string());
    Ok(run(
        &input.name,
        "recording of plugs",
        &script,
        fault,
        &arms,
    ))
}

fn replay_map(input: &Input, subjects: &[String]) -> Result<Outcome, Error> {
    let arms = chosen(subjects)?;
    let (map, form) = map_of(input)?;
    let script = Script::of_map(&map.segments(PAGE_SHIFT));
    if script.is_empty() {
        let name = &input.name;
        return Err(Error::usage(format!(
            "{name}: has no whole frame of usable memory to look up"
        )));
    }
    Ok(run(&input.name, &form, &script, None, &arms))
}

fn map_of(input: &Input) -> Result<(MemoryMap, String), Error> {
    let refuse = |error: phys_map::MapError| Error::usage(error.to_string());
    let map = phys_map::parse(&input.name, &input.bytes).map_err(refuse)?;
    let form = MapForm::of(&String::from_utf8_lossy(&input.bytes));
    let form = form.map_or_else(String::new, |form| format!(", {form}"));
    Ok((map, format!("memory map{form}")))
}

fn chosen(subjects: &[String]) -> Result<Vec<&'static Arm>, Error> {
    form::chosen(subjects, &ARMS, |arm| arm.name, |arm| arm.is_default)
}

fn run(
    name: &str,
    form: &str,
    script: &Script,
    fault: Option<String>,
    arms: &[&'static Arm],
) -> Outcome {
    Outcome {
        schema: SCHEMA,
        trace: name.to_owned(),
        form: form.to_owned(),
        described: script.to_string(),
        judge: Judge::Specification,
        fault,
        subjects: arms.iter().map(|arm| arm.run(script)).collect(),
    }
}
