//! Names of functions by their place in a file, from its table of symbols.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use furlong_lab::measure::launch::names::demangled;
use object::read::elf::{ElfFile64, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectSymbol, SymbolKind};

/// The symbols of one file.
struct File {
    /// Its segments: place in the file, length, address.
    segments: Vec<(u64, u64, u64)>,
    /// Its functions by address: start, length, name.
    functions: Vec<(u64, u64, String)>,
}

/// The symbols of the files that have been read.
#[derive(Default)]
pub(super) struct Symbols {
    files: HashMap<String, Option<File>>,
}

impl Symbols {
    /// The name of the function at an offset of a file; the file's own name in brackets if the file
    /// does not tell.
    pub(super) fn name(&mut self, path: &str, offset: u64) -> String {
        if !self.files.contains_key(path) {
            self.files.insert(path.to_owned(), File::read(path));
        }
        let file = self.files.get(path).and_then(Option::as_ref);
        let found = file.and_then(|file| file.name(offset));
        let name = || {
            Path::new(path)
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
        };
        found.map_or_else(
            || format!("[{}]", name().trim_matches(['[', ']'])),
            demangled,
        )
    }
}

impl File {
    fn read(path: &str) -> Option<Self> {
        let bytes = fs::read(path).ok()?;
        let file = ElfFile64::<Endianness>::parse(&*bytes).ok()?;
        let order = file.endian();
        let headers = file.elf_program_headers().iter();
        let loaded = headers.filter(|header| header.p_type(order) == object::elf::PT_LOAD);
        let segments = loaded.map(|header| {
            let (start, len) = (header.p_offset(order), header.p_filesz(order));
            (start, len, header.p_vaddr(order))
        });
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let functions = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text);
        let mut functions: Vec<_> = functions
            .filter(ObjectSymbol::is_definition)
            .filter_map(|symbol| {
                let name = symbol.name().ok()?.to_owned();
                Some((symbol.address(), symbol.size(), name))
            })
            .collect();
        functions.sort();
        Some(Self {
            segments: segments.collect(),
            functions,
        })
    }

    fn name(&self, offset: u64) -> Option<&str> {
        let within = |(start, len, _): &&(u64, u64, u64)| (*start..start + len).contains(&offset);
        let (start, _, address) = self.segments.iter().find(within)?;
        let address = offset - start + address;
        let before = self
            .functions
            .partition_point(|(start, ..)| *start <= address);
        let (start, len, name) = self.functions[..before].last()?;
        // Functions in assembly have no length.
        (address < start + len || *len == 0).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::Symbols;

    #[test]
    fn a_file_without_symbols_names_itself() {
        let mut symbols = Symbols::default();
        assert_eq!(symbols.name("/nowhere/libx.so", 5), "[libx.so]");
        assert_eq!(symbols.name("[vdso]", 5), "[vdso]");
        assert_eq!(symbols.name("/proc/self/exe", u64::MAX), "[exe]");
    }
}
