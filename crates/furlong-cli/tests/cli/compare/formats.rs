//! `docs/formats`: scripts that turn a result into what other tools write.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::lab::{Home, says};
use furlong_lab::model::result::ResultFile;
use furlong_lab::record::judged::judged;

/// The output of a script on a result; `None` without jq, which `ci/test.sh` requires.
fn written(script: &str, result: &ResultFile) -> Option<String> {
    let place = Home::new();
    let text = serde_json::to_string(result).unwrap();
    std::fs::write(place.path("r.json"), text).unwrap();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats");
    let jq = Command::new("jq")
        .arg("-rf")
        .arg(scripts.join(script))
        .arg(place.path("r.json"))
        .output();
    let Ok(output) = jq else {
        assert!(env::var_os("FURLONG_PROGRAMS_ARE_THERE").is_none(), "no jq");
        eprintln!("left out: jq is missing");
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {said}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// A result of two commands with the given figures.
fn with_figures(figures: &[(&str, [[f64; 2]; 2])]) -> ResultFile {
    let place = Home::new();
    let mut result = place.result(&["true", "true", "--names", "old one,new", "--blocks", "2"]);
    for (metric, arms) in figures {
        for (arm, values) in result.experiments[0].workloads[0].arms.iter_mut().zip(arms) {
            let samples = values.iter().copied().map(Some).collect();
            arm.samples.insert((*metric).to_owned(), samples);
        }
    }
    judged(&result, None)
}

/// Two runs of a kernel build on two trees, as published. The elapsed times include the digits that
/// GNU time cut off.
fn published() -> ResultFile {
    with_figures(&[
        ("user_s", [[21592.22, 21993.77], [21816.37, 0.0]]),
        ("sys_s", [[2995.71, 3031.04], [2949.97, 0.0]]),
        ("wall_s", [[218.529, 217.249], [3600.0, 0.0]]),
        ("maxrss_kib", [[469212.0, 473396.0], [471528.0, 0.0]]),
        ("fs_inputs", [[15400.0, 0.0], [8.0, 0.0]]),
        ("fs_outputs", [[17103904.0, 17103912.0], [8.0, 0.0]]),
        ("major_faults", [[57804.0, 109469.0], [66169.0, 0.0]]),
        ("minor_faults", [[606382185.0, 606420309.0], [1.0, 0.0]]),
    ])
}

#[test]
fn a_published_kernel_build_prints_as_gnu_time_printed_it() {
    let Some(text) = written("gnu-time.jq", &published()) else {
        return;
    };
    let wanted = "\
old one:

21592.22user 2995.71system 3:38.52elapsed 11251%CPU (0avgtext+0avgdata 469212maxresident)k
15400inputs+17103904outputs (57804major+606382185minor)pagefaults 0swaps
21993.77user 3031.04system 3:37.24elapsed 11518%CPU (0avgtext+0avgdata 473396maxresident)k
0inputs+17103912outputs (109469major+606420309minor)pagefaults 0swaps

mean of 2 runs:
21792.99user 3013.37system 3:37.88elapsed 11384%CPU (0avgtext+0avgdata 471304maxresident)k
7700inputs+17103908outputs (83637major+606401247minor)pagefaults 0swaps

new:

21816.37user 2949.97system 1:00:00elapsed 687%CPU (0avgtext+0avgdata 471528maxresident)k
8inputs+8outputs (66169major+1minor)pagefaults 0swaps
0.00user 0.00system 0:00.00elapsed ?%CPU (0avgtext+0avgdata 0maxresident)k
0inputs+0outputs (0major+0minor)pagefaults 0swaps
";
    assert!(text.starts_with(wanted), "{text}");
}

#[test]
fn spreads_have_a_line_a_workload() {
    let result = with_figures(&[("wall_s", [[10.0, 10.2], [12.5, 12.7]])]);
    let Some(text) = written("spreads.jq", &result) else {
        return;
    };
    assert_eq!(text, "commands\twall_s\told one 1.4%\tnew 1.12%\t+24.8%\n");
}

#[test]
fn benchstats_lines_hold_every_sample_with_its_unit() {
    let result = published();
    let Some(text) = written("benchstat.jq", &result) else {
        return;
    };
    let heading = "\nUnit sec/op better=lower\nUnit user-sec/op better=lower\n";
    says(&text, &[heading]);
    let found: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("arm:"))
        .collect();
    let run = "BenchmarkCommands\t1\t218.529 sec/op\t21592.22 user-sec/op\t2995.71 sys-sec/op\t\
               469212 maxrss_kib\t606382185 minor_faults";
    assert_eq!(found[0], "arm: old one");
    assert!(found[1].starts_with(run), "{text}");
    assert_eq!((found[3], found[4], found.len()), ("", "arm: new", 7));
}
