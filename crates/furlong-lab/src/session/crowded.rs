//! More threads than processors.

use crate::model::result::ResultFile;

/// Number of workloads that are named; the others are counted.
const NAMED: usize = 3;

/// Returns a warning about workloads with more threads than processors. They measure the scheduler.
pub(crate) fn crowded(result: &ResultFile, cpus: u32) -> Option<String> {
    let threads = result.workloads().filter_map(|workload| {
        let threads = workload.params.get("threads")?.as_u64()?;
        Some((workload.name.as_str(), threads))
    });
    warning(threads, cpus)
}

fn warning<'a>(threads: impl Iterator<Item = (&'a str, u64)>, cpus: u32) -> Option<String> {
    let crowded = threads.filter(|(_, threads)| *threads > u64::from(cpus));
    let crowded: Vec<&str> = crowded.map(|(workload, _)| workload).collect();
    let named = match crowded.len() {
        0 => return None,
        few @ 1..=NAMED => crowded[..few].join(", "),
        many => format!("{} and {} more", crowded[..NAMED].join(", "), many - NAMED),
    };
    Some(format!(
        "some workloads use more threads than the processors that furlong may use ({cpus}): \
         {named}; allow more processors (`taskset`, a container's limit), or leave these workloads \
         out"
    ))
}

#[cfg(test)]
mod tests {
    use super::warning;

    #[test]
    fn more_threads_than_processors_are_told() {
        let loads = [("one", 1), ("two", 2), ("four", 4)];
        assert_eq!(warning(loads.into_iter(), 4), None);
        let said = warning(loads.into_iter(), 1).unwrap();
        assert!(
            said.contains("(1)") && said.contains(": two, four;"),
            "{said}"
        );
    }

    #[test]
    fn of_many_workloads_the_first_are_named_and_the_others_counted() {
        let loads = ["a", "b", "c", "d", "e"].map(|name| (name, 2));
        let said = warning(loads.into_iter(), 1).unwrap();
        assert!(said.contains(": a, b, c and 2 more;"), "{said}");
    }
}
