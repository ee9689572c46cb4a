use super::trace::{parse, unpacked, unpacked_to};

/// A script's steps as (thread, slot, before, kind, align, size).
fn steps(text: &str) -> Vec<(u32, u32, u32, u8, u8, u64)> {
    let (script, fault) = parse(text.as_bytes());
    assert_eq!(fault, None);
    let word = |step: &[u8], at: usize| u32::from_le_bytes(step[at..at + 4].try_into().unwrap());
    let read = |step: &[u8; 24]| {
        let size = u64::from_le_bytes(step[16..].try_into().unwrap());
        (
            word(step, 0),
            word(step, 4),
            word(step, 8),
            step[12],
            step[13],
            size,
        )
    };
    script.steps.as_chunks::<24>().0.iter().map(read).collect()
}

#[test]
fn a_slot_is_used_again_and_counts_what_it_has_seen() {
    let text = "# malloctrace 1\np\nt 0\nm 24\nz 7\nf 0\nt 1\nm 100 64\nr 2 200\n";
    let expected = [
        (0, 0, 0, 0, 0, 24),
        (0, 1, 0, 1, 0, 7),
        (0, 0, 1, 2, 0, 0),
        (1, 0, 2, 0, 6, 100),
        (1, 0, 3, 3, 0, 200),
        (0, 0, 0, 4, 0, 0),
    ];
    assert_eq!(steps(text), expected);
}

#[test]
fn each_program_counts_from_nought() {
    let text = "p\nm 8\np\nm 9\nf 0\n";
    let expected = [
        (0, 0, 0, 0, 0, 8),
        (0, 0, 0, 4, 0, 0),
        (0, 0, 0, 0, 0, 9),
        (0, 0, 1, 2, 0, 0),
        (0, 0, 0, 4, 0, 0),
    ];
    assert_eq!(steps(text), expected);
}

#[test]
fn totals_are_those_of_all_programs_and_the_most_of_one() {
    let (script, _) = parse(b"p\nm 100\nm 50\nf 0\nr 1 70\np\nm 120\nt 40\nm 1\n");
    let totals = &script.totals;
    assert_eq!((totals.programs, totals.allocations), (2, 4));
    assert_eq!((totals.frees, totals.resizes), (1, 1));
    assert_eq!(totals.live_bytes_max, 150);
    assert_eq!(
        (script.slots, script.threads),
        (2, 9),
        "threads beyond 16 take turns"
    );
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_what_stands_before_is_kept() {
    for (wrong, why) in [
        ("f 7", "block 7 is not live here"),
        ("f 0\nf 0", "line 3: block 0 is not live here"),
        ("r 1 5", "block 1 is not live here"),
        ("m", "is not a known call"),
        ("m many", "a number must follow"),
        ("m -1", "a number must follow"),
        ("m 8 24", "24 is not an alignment"),
        ("m 8 0", "0 is not an alignment"),
        ("m 8 1099511627776", "is not an alignment"),
        ("m 99999999999999", "exceed the largest block"),
        ("jump 3", "is not a known call"),
        ("w 0 2", "fewer than 2 pages"),
        ("w 18446744073709551615 9", "fewer than"),
        ("f 0\nw 0 1", "must follow the call"),
        ("o 1 2\n", "is not a known call"),
        ("\u{0}", "is not a known call"),
    ] {
        let (script, fault) = parse(format!("m 5\n{wrong}\nm 6\n").as_bytes());
        let fault = fault.unwrap();
        assert!(fault.contains(why), "{wrong}: {fault}");
        assert_eq!(script.totals.allocations, 1, "{wrong}");
    }
    let (_, fault) = parse(b"m 5\n\xff\xfe\n");
    assert_eq!(fault.as_deref(), Some("line 2: is not text"));
}

#[test]
fn what_is_packed_and_cut_off_is_not_whole() {
    let (text, error) = unpacked(b"m 1\n", false);
    assert!(text == b"m 1\n" && error.is_none());
    let (text, error) = unpacked(&[0x28, 0xb5, 0x2f, 0xfd, 4], true);
    assert!(text.is_empty() && error.is_some());
}

#[test]
fn what_unpacks_to_more_than_a_trace_can_have_is_refused() {
    // A frame of blocks of 128 KiB, each of one byte that repeats: four bytes a block.
    let mut packed = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    for block in 1..=9 {
        let head = (128 << 10) << 3 | 1 << 1 | u32::from(block == 9);
        packed.extend(&head.to_le_bytes()[..3]);
        packed.push(b'#');
    }
    let (text, error) = unpacked_to(&packed, 9 << 17);
    assert_eq!((text.len(), error.is_none()), (9 << 17, true));
    let (text, error) = unpacked_to(&packed, 1 << 20);
    let error = error.expect("it is refused").to_string();
    assert!(error.contains("more than 1 MiB"), "{error}");
    assert_eq!(text.len(), (1 << 20) + 1);
}

#[test]
fn only_the_named_pages_are_touched_and_the_largest_memory_counts_them() {
    let text = "p\nm 40960\nw 1 2\nw 5 1\no 1000 7 3\nz 8192\nf 0\no 50000 9 4\nr 1 20000\n";
    let (script, fault) = parse(text.as_bytes());
    assert_eq!(fault, None);
    let steps: Vec<_> = steps(text)
        .into_iter()
        .map(|step| (step.1, step.3, step.5))
        .collect();
    let expected = [
        (0, 0, 40_960),
        (0, 5, 1 | 2 << 32),
        (0, 5, 5 | 1 << 32),
        (0, 6, 7),
        (1, 1, 8192),
        (0, 2, 0),
        (0, 6, 9),
        (1, 3, 20_000),
        (0, 4, 0),
    ];
    assert_eq!(steps, expected);
    let is_touched: Vec<u8> = script
        .steps
        .as_chunks::<24>()
        .0
        .iter()
        .map(|step| step[14])
        .collect();
    assert_eq!(is_touched, [1, 0, 0, 0, 0, 0, 0, 0, 0]);
    let life = &script.lives[0];
    assert_eq!(life.samples, [[1000, 7, 3], [50_000, 9, 4]]);
    assert_eq!((life.peak_bytes, life.peak_at), (70_000, 8 * 24));
    assert_eq!((life.calls, life.slots, life.threads), (4, 2, 1));
}

#[test]
fn each_program_has_its_part_of_the_steps() {
    let (script, _) = parse(b"p\nm 8\nm 9\np\np\nt 3\nm 9\nf 0\n");
    let lives: Vec<_> = script
        .lives
        .iter()
        .map(|life| (life.steps.clone(), life.calls))
        .collect();
    assert_eq!(lives, [(0..72, 2), (72..144, 2)]);
    assert_eq!(script.lives[1].threads, 4);
}
