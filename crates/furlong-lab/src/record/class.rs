//! Classes of machines. CI starts every run on another machine; the user says which of them are
//! alike, and their runs then count as those of one machine.

use crate::hash::fnv1a;
use crate::model::result::Machine;
use crate::record::machine::Files;

/// Longest name, in characters.
const CHARS_MAX: usize = 64;

/// Parses the name of a class.
///
/// # Errors
///
/// A description of a valid name.
pub fn class(text: &str) -> Result<String, String> {
    let chars = text.chars().count();
    let is_plain = text.chars().all(|c| c.is_ascii_graphic());
    match (1..=CHARS_MAX).contains(&chars) && is_plain {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "give a name of 1 to {CHARS_MAX} letters, digits and signs without blanks, for \
             example ci-8cpu"
        )),
    }
}

/// Returns this machine, as one of a class if one is named.
pub fn this_machine(class: Option<&str>) -> Machine {
    let machine = Files::default().machine();
    match class {
        Some(class) => Machine {
            id: format!("{:016x}", fnv1a(format!("class {class}").as_bytes())),
            class: Some(class.to_owned()),
            ..machine
        },
        None => machine,
    }
}

/// True if a run's machine is `here`, also if the run counted it as one of a class.
pub fn is_here(machine: &Machine, here: &Machine) -> bool {
    let properties = |of: &Machine| (of.host.clone(), of.kernel.clone(), of.cpu.clone());
    machine.id == here.id || (machine.class.is_some() && properties(machine) == properties(here))
}

/// Formats a machine for a message: its class, or its host and kernel.
pub fn told(machine: &Machine) -> String {
    let Machine {
        class,
        host,
        kernel,
        ..
    } = machine;
    match class {
        Some(class) => format!("class {class}"),
        None => format!("{host} with {kernel}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{class, is_here, this_machine, told};

    #[test]
    fn machines_of_a_class_have_its_identifier() {
        let here = this_machine(None);
        let [one, other] = ["ci", "ci-large"].map(|class| this_machine(Some(class)));
        assert_eq!(this_machine(Some("ci")).id, one.id);
        assert!(one.id != other.id && one.id != here.id);
        assert_eq!((&one.host, told(&one).as_str()), (&here.host, "class ci"));
        assert!(is_here(&one, &here) && is_here(&here, &here));
        let mut elsewhere = one.clone();
        elsewhere.host.push('x');
        assert!(!is_here(&elsewhere, &here));
        elsewhere.class = None;
        elsewhere.host.clone_from(&here.host);
        assert!(!is_here(&elsewhere, &here), "another kernel's identifier");
    }

    #[test]
    fn a_class_is_a_plain_word() {
        assert_eq!(class("ci-8cpu").as_deref(), Ok("ci-8cpu"));
        for wrong in ["", "two words", "a\nb", &"x".repeat(65)] {
            assert!(class(wrong).is_err(), "{wrong}");
        }
    }
}
