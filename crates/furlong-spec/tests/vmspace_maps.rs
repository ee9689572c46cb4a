//! `/proc/PID/maps`: this process's own listing, read into a space and written again; and invalid
//! lines.
#![forbid(unsafe_code)]

use std::fmt;
use std::fs;

use furlong::addr::{Address, VirtAddr};
use furlong::check::Check;
use furlong::vmspace::{
    Access, Area, Flags, Layout, LayoutError, MapError, MapsError, MapsLine, MapsLineError, Prot,
    Space, Value,
};

/// The name of an area. Names never merge.
#[derive(Clone, Debug)]
struct Name(String);

impl Value for Name {
    fn merges(&self, _: &Self) -> bool {
        false
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn named(line: &MapsLine<'_>) -> Name {
    Name(line.name.to_owned())
}

/// The range, the protection and the offset of each line.
fn heads(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.ends_with("[vsyscall]"));
    lines
        .map(|line| {
            line.match_indices(' ')
                .nth(2)
                .map_or(line, |(at, _)| &line[..at])
        })
        .collect()
}

#[test]
fn this_process_is_a_space_and_is_shown_as_the_kernel_shows_it() {
    let text = fs::read_to_string("/proc/self/maps").expect("there is a listing");
    let space = Space::<Name>::of_maps(Layout::LINUX_X86_64, &text, named);
    let mut space = space.unwrap_or_else(|error| panic!("{error}\n{text}"));
    space.check().expect("it is whole");
    assert_eq!(heads(&space.maps().to_string()), heads(&text));
    // The addresses of this variable and of this function.
    let here = VirtAddr::new((&raw const text).addr() as u64);
    let code = this_process_is_a_space_and_is_shown_as_the_kernel_shows_it as fn();
    let code = VirtAddr::new(code as usize as u64);
    assert!(space.fault(here, Access::Write).is_ok());
    assert_eq!(
        space
            .fault(code, Access::Write)
            .err()
            .map(|error| error.errno().number()),
        Some(13)
    );
    let found = space.fault(code, Access::Execute).expect("it is running");
    assert!(found.value.0.contains("vmspace_maps"), "{found:?}");
}

#[test]
fn stacks_grow_and_what_is_shared_or_an_object_says_so() {
    let text = "\
00400000-00403000 r-xp 00001000 fe:00 7                                  /bin/a b\n\
00800000-00801000 rw-s 00000000 00:01 9                                  /dev/zero (deleted)\n\
00900000-00902000 rw-p 00000000 00:00 0                                  [heap]\n\
7ffccdef4000-7ffccdf15000 rw-p 00000000 00:00 0                          [stack]\n\
7ffccdff0000-7ffccdff2000 r-xp 00000000 00:00 0                          [vdso]\n\
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";
    let space = Space::<Name>::of_maps(Layout::LINUX_X86_64, text, named);
    let mut space = space.unwrap_or_else(|error| panic!("{error}"));
    let flags = |area: Area<'_, Name>| (area.value.0.clone(), area.flags.bits());
    let expected = [
        ("/bin/a b", Flags::OBJECT),
        ("/dev/zero (deleted)", Flags::OBJECT | Flags::SHARED),
        ("[heap]", Flags::NONE),
        ("[stack]", Flags::GROWS_DOWN),
        ("[vdso]", Flags::OBJECT),
    ];
    let expected = expected.map(|(name, flags)| (name.to_owned(), flags.bits()));
    assert_eq!(space.areas().map(flags).collect::<Vec<_>>(), expected);
    let below = VirtAddr::new(0x7ffc_cdef_4000 - 1);
    let grown = space.fault(below, Access::Write).expect("the stack grows");
    assert_eq!(grown.extent.start().raw(), 0x7ffc_cdef_3000);
    let code = space.find(VirtAddr::new(0x40_0000)).expect("it is mapped");
    assert_eq!((code.offset, code.prot), (0x1000, Prot::READ | Prot::EXEC));
}

/// The first line of a listing.
const FIRST: &str = "00400000-00403000 r-xp 00000000 fe:00 7 /bin/a\n";

/// The error for a second line.
fn refused(line: &str) -> MapsError {
    let text = format!("{FIRST}{line}\n");
    let space = Space::<Name>::of_maps(Layout::LINUX_X86_64, &text, named);
    space.map(drop).expect_err("a line is wrong")
}

#[test]
fn a_line_that_is_none_is_named() {
    for (line, error) in [
        ("", MapsLineError::Range),
        ("00500000 r-xp 00000000 fe:00 7 a", MapsLineError::Range),
        (
            "00500000-00500000 r-xp 00000000 fe:00 7 a",
            MapsLineError::Range,
        ),
        (
            "00600000-00500000 r-xp 00000000 fe:00 7 a",
            MapsLineError::Range,
        ),
        (
            "+0500000-00600000 r-xp 00000000 fe:00 7 a",
            MapsLineError::Range,
        ),
        (
            "00500000-10000000000000000 r-xp 00000000 fe:00 7 a",
            MapsLineError::Range,
        ),
        (
            "00500000-00600000 xr-p 00000000 fe:00 7 a",
            MapsLineError::Prot,
        ),
        (
            "00500000-00600000 r-x 00000000 fe:00 7 a",
            MapsLineError::Prot,
        ),
        (
            "00500000-00600000 r-x- 00000000 fe:00 7 a",
            MapsLineError::Prot,
        ),
        (
            "00500000-00600000 r-xp 0x000000 fe:00 7 a",
            MapsLineError::Offset,
        ),
        (
            "00500000-00600000 r-xp 00000000 fe00 7 a",
            MapsLineError::Inode,
        ),
        (
            "00500000-00600000 r-xp 00000000 fe:00 a",
            MapsLineError::Inode,
        ),
        (
            "00500000-00600000 r-xp 00000000 fe:00",
            MapsLineError::Inode,
        ),
    ] {
        assert_eq!(refused(line), MapsError::Line(2, error), "{line:?}");
        assert!(refused(line).to_string().starts_with("line 2: "));
    }
}

#[test]
fn an_area_that_cannot_be_mapped_is_named() {
    for (line, error) in [
        (
            "00402000-00500000 r-xp 00000000 fe:00 7 a",
            MapError::Occupied,
        ),
        (
            "00500001-00600000 r-xp 00000000 fe:00 7 a",
            MapError::Unaligned,
        ),
        (
            "00500000-00600000 r-xp 00000001 fe:00 7 a",
            MapError::Offset,
        ),
        (
            "00001000-00002000 r-xp 00000000 fe:00 7 a",
            MapError::BelowLow,
        ),
        (
            "fff000000000-fff000001000 r-xp 00000000 fe:00 7 a",
            MapError::Beyond,
        ),
        (
            "00000000-ffffffffffffffff r-xp 00000000 fe:00 7 a",
            MapError::TooLong,
        ),
    ] {
        assert_eq!(refused(line), MapsError::Map(2, error), "{line:?}");
    }
    let layout = Layout {
        page: 3,
        ..Layout::LINUX_X86_64
    };
    let none = Space::<Name>::of_maps(layout, FIRST, named);
    assert_eq!(
        none.map(drop).err(),
        Some(MapsError::Layout(LayoutError::Page))
    );
}
