//! A system call as an event.

use furlong::vmspace::linux::Mmap;
use furlong_spec::vmspace::trace::{Answer, What};

/// Converts the result of a system call; an errno is a result from -4095 to -1.
pub(super) fn answer(result: u64) -> Answer {
    let negated = result.wrapping_neg();
    match i32::try_from(negated) {
        Ok(errno @ 1..=4095) => Err(errno),
        _ => Ok(result),
    }
}

/// Converts a call to an event; `None` if it does not change a space.
pub(super) fn what(name: &str, arguments: &[u64], answer: Answer) -> Option<What> {
    let at = |place: usize| arguments.get(place).copied().unwrap_or(0);
    Some(match name {
        "mmap" => What::Map {
            call: Mmap {
                address: at(0),
                len: at(1),
                prot: at(2),
                flags: at(3),
                offset: at(5),
            },
            // A file descriptor takes 32 bits of its argument.
            fd: at(4) as u32 as i32,
            answer,
        },
        "munmap" => What::Unmap {
            start: at(0),
            len: at(1),
            answer,
        },
        "mprotect" | "pkey_mprotect" => What::Protect {
            start: at(0),
            len: at(1),
            prot: at(2),
            answer,
        },
        "mremap" => What::Remap {
            start: at(0),
            old_len: at(1),
            new_len: at(2),
            flags: at(3),
            new_start: at(4),
            answer,
        },
        "brk" => What::Brk { end: at(0), answer },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn small_negative_results_are_errors() {
        assert_eq!(answer(-12_i64 as u64), Err(12));
        assert_eq!(answer(-4095_i64 as u64), Err(4095));
        assert_eq!(answer(-4096_i64 as u64), Ok(u64::MAX - 4095));
        assert_eq!(answer(0), Ok(0));
        assert_eq!(answer(0x7fff_ffff_f000), Ok(0x7fff_ffff_f000));
    }
}
