//! Corrupted maps and recordings: thousands of seeded corruptions of every form. None may cause a
//! panic, a map with a broken invariant, or a message of more than one line.

use furlong_spec::Random;
use furlong_spec::fuzz::maps;
use furlong_spec::phys_map::{Form, REAL_MAPS, Recording, parse, parse_as};

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

/// Reads bytes in each way: as a map of a detected form, as a recording, and as a map of each form.
/// Each reader must keep its promises to a fuzzer.
fn is_held(bytes: &[u8], what: &str) {
    for way in 0..2 + Form::ALL.len() as u8 {
        let held = maps(&[&[way], bytes].concat());
        held.unwrap_or_else(|broken| panic!("{what}, way {way}: {broken}"));
    }
}

/// Corrupts a sample many times. Checks that some results can still be read, and others cannot.
fn damages(name: &str, sample: &[u8], is_read: fn(&[u8]) -> bool) {
    let mut count = 0;
    for seed in 0..DAMAGES {
        let bytes = damage(sample, &mut Random::new(seed));
        is_held(&bytes, &format!("{name}, seed {seed}"));
        count += u64::from(is_read(&bytes));
    }
    let is_mixed = count > 0 && count < DAMAGES;
    assert!(is_mixed, "{name}: {count} of {DAMAGES} were read");
}

fn is_map(bytes: &[u8]) -> bool {
    parse("damaged", bytes).is_ok()
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
        let written = map.to_string();
        for text in [sample, &written] {
            forms.push(form_of(text));
            is_held(text.as_bytes(), text);
            damages(form_of(text).name(), text.as_bytes(), is_map);
        }
    }
    for form in Form::ALL {
        assert!(forms.contains(&form), "no sample of {form}");
    }
}

#[test]
fn damaged_real_maps_give_a_map_or_one_line() {
    for real in REAL_MAPS {
        assert!(Form::of(real.text).is_some(), "{}", real.name);
        damages(real.name, real.text.as_bytes(), is_map);
    }
}

#[test]
fn damaged_recordings_give_a_recording_or_one_line() {
    let text = include_str!("../../../../traces/phys/hotplug-chunks.plugs");
    let start = text.lines().take(40).collect::<Vec<_>>().join("\n");
    let is_recording = |bytes: &[u8]| Recording::parse("damaged", bytes).is_ok();
    damages("recording", start.as_bytes(), is_recording);
}

#[test]
fn noise_gives_one_line() {
    for seed in 0..DAMAGES {
        let mut random = Random::new(seed);
        let length = random.below(200);
        let bytes: Vec<u8> = (0..length).map(|_| (random.next() & 0xff) as u8).collect();
        is_held(&bytes, &format!("seed {seed}"));
        let is_some = Form::ALL.map(|form| parse_as(form, "damaged", &bytes).is_ok());
        assert!(!is_some.contains(&true) && !is_map(&bytes), "seed {seed}");
    }
}

#[test]
fn deep_and_long_input_is_no_trouble() {
    let braces = "a {".repeat(200_000);
    is_held(braces.as_bytes(), "braces");
    assert!(!is_map(braces.as_bytes()));
    let nested = (0..2000_usize).map(|depth| {
        let (blanks, last) = (" ".repeat(2 * depth), 9000 - depth);
        format!("{blanks}{depth:x}-{last:x} : System RAM\n")
    });
    for text in [
        format!("0-f : System RAM {}\n", "x".repeat(1 << 20)),
        format!("{}-f : System RAM\n", "0".repeat(1 << 20)),
        nested.collect(),
    ] {
        assert_eq!(parse("long", text.as_bytes()).unwrap().entries().len(), 1);
    }
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
