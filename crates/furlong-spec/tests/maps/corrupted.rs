//! Corrupted maps and recordings: thousands of seeded corruptions of every form. None may cause a
//! panic, a map with a broken invariant, or a message of more than one line.
#![forbid(unsafe_code)]

use furlong::check::Check;
use furlong_spec::Random;
use furlong_spec::phys_map::{Form, MapError, MemoryMap, REAL_MAPS, Recording, parse, parse_as};

/// The number of corruptions of each sample.
const DAMAGES: u64 = 3000;

/// Words that have broken readers before.
const ODD: [&str; 20] = [
    "0xffffffffffffffff",
    "ffffffffffffffffffffffff",
    "10000000000000",
    "fffffffffffff",
    "18446744073709551616",
    "-1",
    "0",
    "\0",
    "\u{feff}",
    "é",
    "<",
    ">;",
    "{",
    "};",
    "\"",
    "/*",
    ": [mem ",
    " - ",
    "\r\n",
    "\t",
];

const SAMPLES: [&str; 2] = [
    "00000000-00000fff : Reserved\n00001000-0009ffff : System RAM\n000a0000-000bffff : PCI Bus\n  \
     000a0000-000affff : Reserved\n    000a8000-000a8fff : System RAM (kmem)\n\
     00100000-7fffffff : System RAM\n  01000000-01ffffff : Kernel code\n",
    "furlong.map/1\n0x0 0x9f000 usable 0\n0x9f000 0xa0000 reserved unknown\n\
     0x100000 0x40000000 usable 0\n0x40000000 0x80000000 plugged 1\n",
];

/// Makes one to four random changes to a text.
fn damage(sample: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = sample.to_vec();
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.index(bytes.len());
        let to = (at + random.index(12)).min(bytes.len());
        match random.below(9) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.drain(at..to)),
            2 => bytes.truncate(at),
            3 => bytes = bytes.split_off(at),
            4 => {
                let odd = ODD[random.index(ODD.len())];
                drop(bytes.splice(at..to, odd.bytes()));
            }
            5 => bytes[at] = b"0123456789abcdef-:x"[random.index(19)],
            6 => {
                let piece = bytes[at..to].to_vec();
                let place = random.index(bytes.len());
                drop(bytes.splice(place..place, piece));
            }
            7 => {
                let mut lines: Vec<Vec<u8>> = bytes
                    .split_inclusive(|b| *b == b'\n')
                    .map(<[u8]>::to_vec)
                    .collect();
                let line = lines[random.index(lines.len())].clone();
                lines.insert(random.index(lines.len() + 1), line);
                random.shuffle(&mut lines);
                bytes = lines.concat();
            }
            _ => bytes.insert(at, u8::try_from(random.below(256)).unwrap()),
        }
    }
    bytes
}

/// Checks that a message names the file and is one line of reasonable length without control
/// characters.
fn says_one_line(error: &MapError, what: &str) {
    let message = error.to_string();
    assert!(message.starts_with("damaged: "), "{what}: {message}");
    assert!(message.len() < 400, "{what}: {message}");
    assert!(
        !message.chars().any(char::is_control),
        "{what}: {message:?}"
    );
    assert_ne!(error.line, Some(0), "{what}: {message}");
}

fn is_sound(map: &MemoryMap, what: &str) {
    assert_eq!(map.check(), Ok(()), "{what}");
    let back = parse("copy", map.to_string().as_bytes());
    assert_eq!(back.unwrap(), *map, "{what}");
    for segment in map.segments(12) {
        assert!(segment.kind.is_allocatable(), "{what}");
    }
}

/// Corrupts a sample many times. Returns the number of results that could still be read.
fn readable(name: &str, sample: &[u8], form: Form) -> u64 {
    let mut count = 0;
    for seed in 0..DAMAGES {
        let bytes = damage(sample, &mut Random::new(seed));
        let what = format!("{name}, seed {seed}");
        match parse("damaged", &bytes) {
            Ok(map) => {
                is_sound(&map, &what);
                count += 1;
            }
            Err(error) => says_one_line(&error, &what),
        }
        match parse_as(form, "damaged", &bytes) {
            Ok(map) => is_sound(&map, &what),
            Err(error) => says_one_line(&error, &what),
        }
    }
    count
}

fn form_of(text: &str) -> Form {
    Form::of(text).unwrap_or_else(|| panic!("no form: {text}"))
}

#[test]
fn damaged_samples_of_every_form_give_a_map_or_one_line() {
    let mut forms: Vec<Form> = Vec::new();
    for sample in SAMPLES {
        let form = form_of(sample);
        let map = parse(form.name(), sample.as_bytes()).unwrap();
        is_sound(&map, form.name());
        let written = map.to_string();
        forms.extend([form, form_of(&written)]);
        for (text, form) in [(sample, form), (&written, form_of(&written))] {
            let count = readable(form.name(), text.as_bytes(), form);
            assert!(
                count > 0 && count < DAMAGES,
                "{form}: {count} of {DAMAGES} were read"
            );
        }
    }
    for form in Form::ALL {
        assert!(forms.contains(&form), "no sample of {form}");
    }
}

#[test]
fn damaged_real_maps_give_a_map_or_one_line() {
    for real in REAL_MAPS {
        let count = readable(real.name, real.text.as_bytes(), form_of(real.text));
        assert!(
            count > 0 && count < DAMAGES,
            "{}: {count} of {DAMAGES}",
            real.name
        );
    }
}

#[test]
fn damaged_recordings_give_a_recording_or_one_line() {
    let text = include_str!("../../../../traces/phys/hotplug-chunks.plugs");
    let start = text.lines().take(40).collect::<Vec<_>>().join("\n");
    let mut count = 0;
    for seed in 0..DAMAGES {
        let bytes = damage(start.as_bytes(), &mut Random::new(seed));
        let what = format!("recording, seed {seed}");
        match Recording::parse("damaged", &bytes) {
            Ok(recording) => {
                let written = recording.to_string();
                let back = Recording::parse("copy", written.as_bytes()).unwrap();
                assert_eq!(back, recording, "{what}");
                count += 1;
            }
            Err(error) => says_one_line(&error, &what),
        }
    }
    assert!(
        count > 0 && count < DAMAGES,
        "{count} of {DAMAGES} were read"
    );
}

#[test]
fn noise_gives_one_line() {
    for seed in 0..DAMAGES {
        let mut random = Random::new(seed);
        let length = random.below(200);
        let bytes: Vec<u8> = (0..length).map(|_| (random.next() & 0xff) as u8).collect();
        for form in Form::ALL {
            // Noise has no line of a kernel log, nor the heading of the project's own form.
            let error = parse_as(form, "damaged", &bytes).expect_err("noise is no map");
            says_one_line(&error, &format!("{form}, seed {seed}"));
        }
        says_one_line(
            &parse("damaged", &bytes).unwrap_err(),
            &format!("seed {seed}"),
        );
    }
}

#[test]
fn deep_and_long_input_is_no_trouble() {
    let braces = "a {".repeat(200_000);
    says_one_line(&parse("damaged", braces.as_bytes()).unwrap_err(), "braces");
    let line = format!("0-f : System RAM {}\n", "x".repeat(1 << 20));
    assert_eq!(parse("long", line.as_bytes()).unwrap().entries().len(), 1);
    let digits = format!("{}-f : System RAM\n", "0".repeat(1 << 20));
    assert_eq!(parse("long", digits.as_bytes()).unwrap().entries().len(), 1);
    let mut nested = String::new();
    for depth in 0..2000_usize {
        let blanks = " ".repeat(2 * depth);
        nested.push_str(&format!(
            "{blanks}{:x}-{:x} : System RAM\n",
            depth,
            9000 - depth
        ));
    }
    assert_eq!(parse("deep", nested.as_bytes()).unwrap().entries().len(), 1);
}

#[test]
fn empty_files_and_bare_comments_are_named_as_such() {
    for text in ["", "\n\n", "# machine: a\n", "\r\n# a\r\n", "\u{feff}"] {
        let message = parse("damaged", text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            message, "damaged: is empty, but for blanks and comments",
            "{text:?}"
        );
        let error = Recording::parse("damaged", text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let message = parse("damaged", b"hello\n").unwrap_err().to_string();
    assert!(
        message.starts_with("damaged: is no memory map that is known here"),
        "{message}"
    );
}
