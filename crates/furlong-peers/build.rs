//! Builds the peers in C and C++ as libraries that can be preloaded. Each is built from the sources
//! in its crate with the flags of its own build.
#![forbid(unsafe_code)]

use std::env;
use std::path::{Path, PathBuf};

/// A library and its build.
struct Library {
    /// Used in the file's name and, in capitals, in the variable that holds its path.
    name: &'static str,
    /// The crate with the sources, with its version, and the folder in it.
    package: &'static str,
    root: &'static str,
    cpp: bool,
    /// Relative to the root.
    includes: &'static [&'static str],
    sources: &'static [&'static str],
    /// The flags of its own build, except for warnings; separated by spaces.
    flags: &'static str,
    /// Further flags, used if the compiler supports them for the target.
    perhaps: &'static [&'static str],
}

const LIBRARIES: [Library; 3] = [
    Library {
        name: "mimalloc",
        package: "libmimalloc-sys-0.1.49",
        root: "c_src/mimalloc/v2",
        cpp: false,
        includes: &["include", "src"],
        sources: &["src/static.c"],
        flags: "-O3 -DNDEBUG -DMI_BUILD_RELEASE -DMI_SHARED_LIB -DMI_SHARED_LIB_EXPORT \
            -DMI_MALLOC_OVERRIDE -fvisibility=hidden -ftls-model=initial-exec \
            -fno-builtin-malloc",
        perhaps: &[],
    },
    // Its target `snmallocshim`: release, with the default of every option.
    Library {
        name: "snmalloc",
        package: "snmalloc-sys-0.7.6",
        root: "upstream/src",
        cpp: true,
        includes: &["."],
        sources: &["snmalloc/override/malloc.cc", "snmalloc/override/new.cc"],
        flags: "-O3 -DNDEBUG -std=gnu++20 -fno-rtti -fvisibility=hidden -fomit-frame-pointer \
            -ffunction-sections -ftls-model=initial-exec \
            -DSNMALLOC_EXPORT=__attribute__((visibility(\"default\"))) \
            -DSNMALLOC_USE_CXX11_THREAD_ATEXIT_DIRECT -DSNMALLOC_USE_WAIT_ON_ADDRESS=1 \
            -DSNMALLOC_CHECK_LOADS=false -DSNMALLOC_PAGEID=false \
            -DSNMALLOC_NO_REALLOCARRAY -DSNMALLOC_NO_REALLOCARR \
            -DSNMALLOC_PLATFORM_HAS_GETENTROPY -DSNMALLOC_PTHREAD_ATFORK_WORKS \
            -DSNMALLOC_HAS_LINUX_RANDOM_H -DSNMALLOC_HAS_LINUX_FUTEX_H -static-libstdc++",
        perhaps: &["-mcx16", "-mprfchw"],
    },
    // Its library `rpmallocwrap`: release, with gcc. Its fast floating-point flags are left out. It
    // has no floating-point code, and passed to the linker they would change the program's
    // arithmetic.
    Library {
        name: "rpmalloc",
        package: "rpmalloc-sys-0.2.3+b097fd0",
        root: "rpmalloc/rpmalloc",
        cpp: false,
        includes: &[],
        sources: &["rpmalloc.c"],
        flags: "-O3 -std=c11 -funit-at-a-time -fstrict-aliasing -funroll-loops -D_GNU_SOURCE=1 \
            -DRPMALLOC_COMPILE=1 -DBUILD_RELEASE=1 -DBUILD_DYNAMIC_LINK=1 \
            -DENABLE_PRELOAD=1 -DENABLE_OVERRIDE=1",
        perhaps: &[],
    },
];

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for this build script"))
}

/// The folder in which cargo unpacks crates side by side, found from the path of one of them.
fn unpacked() -> PathBuf {
    let told = variable("DEP_MIMALLOC_INCLUDE_DIR");
    let mut above = Path::new(&told).ancestors();
    let manifest = |folder: &&Path| folder.join("Cargo.toml").is_file();
    let package = above.find(manifest).and_then(Path::parent);
    package.expect("a crate has a manifest").to_owned()
}

impl Library {
    /// The root of its sources. A folder of vendored crates has no versions in its names.
    fn root(&self, unpacked: &Path) -> PathBuf {
        let versioned = unpacked.join(self.package);
        let (name, _) = self.package.rsplit_once('-').expect("it has a version");
        let package = if versioned.is_dir() {
            versioned
        } else {
            unpacked.join(name)
        };
        package.join(self.root)
    }

    fn build(&self, root: &Path, library: &Path) {
        let mut build = cc::Build::new();
        build.cpp(self.cpp).no_default_flags(true).warnings(false);
        for flag in self.perhaps {
            build.flag_if_supported(flag);
        }
        let mut compiler = build.get_compiler().to_command();
        compiler
            .args(["-shared", "-fPIC"])
            .args(self.flags.split(' '));
        for include in self.includes {
            compiler.arg("-I").arg(root.join(include));
        }
        compiler.args(self.sources.iter().map(|source| root.join(source)));
        // The linker records only those of these libraries that are needed.
        compiler.args(["-Wl,--as-needed", "-pthread", "-latomic", "-ldl", "-o"]);
        let output = compiler.arg(library).output().expect("there is a compiler");
        let said = String::from_utf8_lossy(&output.stderr);
        let built = output.status.success();
        assert!(built, "{} cannot be built: {said}", self.name);
    }
}

/// Stores the libraries' paths in `FURLONG_<NAME>`. No file is built if the target cannot preload
/// libraries, or if the feature is off.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for library in LIBRARIES {
        let path = PathBuf::from(variable("OUT_DIR")).join(format!("lib{}.so", library.name));
        let name = library.name.to_uppercase();
        println!("cargo::rustc-env=FURLONG_{name}={}", path.display());
        let is_wanted = !library.cpp || env::var_os("CARGO_FEATURE_SNMALLOC").is_some();
        if is_wanted && variable("CARGO_CFG_TARGET_OS") == "linux" {
            library.build(&library.root(&unpacked()), &path);
        }
    }
}
