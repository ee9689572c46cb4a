//! Suggestions for an unknown name, and a list of the known ones.

use crate::error::Error;

/// Returns the known name nearest to `name`, if it is near enough to have been meant, or the only
/// one that begins with it.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let mut longer = known
        .iter()
        .filter(|other| !name.is_empty() && other.starts_with(name));
    if let (Some(begun), None) = (longer.next(), longer.next()) {
        return Some(begun);
    }
    let distance = |other: &str| strsim::damerau_levenshtein(name, other);
    let best = known.iter().copied().min_by_key(|other| distance(other))?;
    (distance(best) <= 2.max(name.chars().count() / 3)).then_some(best)
}

/// Maximum number of names in a message; further ones are counted.
const LISTED: usize = 24;

/// Formats an error: "unknown workload `plian`: did you mean `plain`? There are: plain, ins".
pub fn unknown(kind: &str, name: &str, known: &[&str]) -> Error {
    let there = match known.len() {
        0 => "none".to_owned(),
        1..=LISTED => known.join(", "),
        many => format!(
            "{} and {} more; `furlong list` shows all",
            known[..LISTED].join(", "),
            many - LISTED
        ),
    };
    Error::usage(match nearest(name, known) {
        Some(near) => {
            format!("unknown {kind} `{name}`: did you mean `{near}`? There are: {there}")
        }
        None => format!("unknown {kind} `{name}`; there are: {there}"),
    })
}

/// Returns the thing of a name, or the error that lists the known names.
pub fn named<'a, T>(
    kind: &str,
    name: &str,
    all: &'a [T],
    name_of: impl Fn(&'a T) -> &'a str,
) -> Result<&'a T, Error> {
    let found = all.iter().find(|one| name_of(one) == name);
    found.ok_or_else(|| unknown(kind, name, &all.iter().map(name_of).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::{nearest, unknown};

    #[test]
    fn a_beginning_finds_its_name_if_it_is_the_only_one() {
        let known = ["iova-propagation", "iova-gap", "tree-order"];
        assert_eq!(nearest("tree", &known), Some("tree-order"));
        assert_eq!(nearest("iova-p", &known), Some("iova-propagation"));
        assert_eq!(nearest("iova", &known), None);
        assert_eq!(nearest("", &known), None);
    }

    #[test]
    fn a_slip_of_the_finger_finds_its_name() {
        assert_eq!(nearest("plian", &["plain", "ins"]), Some("plain"));
        assert_eq!(
            nearest("iova-propogation", &["tree-order", "iova-propagation"])
                .unwrap()
                .len(),
            16
        );
    }

    #[test]
    fn a_name_unlike_all_has_no_nearest() {
        assert_eq!(nearest("zzzzzz", &["plain", "ins"]), None);
        assert_eq!(nearest("x", &[]), None);
    }

    #[test]
    fn the_message_lists_what_there_is() {
        let text = unknown("workload", "plian", &["plain", "ins"]).message;
        assert_eq!(
            text,
            "unknown workload `plian`: did you mean `plain`? There are: plain, ins"
        );
        assert!(
            unknown("arm", "x", &[])
                .message
                .ends_with("there are: none")
        );
    }

    #[test]
    fn of_many_names_the_message_lists_some() {
        let names: Vec<String> = (0..150).map(|number| format!("load-{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = unknown("workload", "zzzzzzzzzzzz", &names).message;
        assert!(text.contains("load-0, load-1, "), "{text}");
        let rest = "load-23 and 126 more; `furlong list` shows all";
        assert!(text.ends_with(rest), "{text}");
    }
}
