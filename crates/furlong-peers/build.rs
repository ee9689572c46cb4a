//! Builds peers that are written in C and C++ as libraries that can be preloaded, each as its own
//! build does it, from the sources that its crate brings.
#![forbid(unsafe_code)]

use std::env;
use std::path::{Path, PathBuf};

/// A library, and how it is made.
struct Library {
    /// As in its file's name and, in capitals, in the variable that has its path.
    name: &'static str,
    /// The crate that brings the sources, with its version, and where they are in it.
    package: &'static str,
    root: &'static str,
    cpp: bool,
    /// Below the root.
    includes: &'static [&'static str],
    sources: &'static [&'static str],
    /// What its own build gives, but for warnings.
    flags: &'static [&'static str],
    /// The same where the compiler has it for the target.
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
        flags: &[
            "-O3",
            "-DNDEBUG",
            "-DMI_BUILD_RELEASE",
            "-DMI_SHARED_LIB",
            "-DMI_SHARED_LIB_EXPORT",
            "-DMI_MALLOC_OVERRIDE",
            "-fvisibility=hidden",
            "-ftls-model=initial-exec",
            "-fno-builtin-malloc",
        ],
        perhaps: &[],
    },
    // Its target `snmallocshim`: release, and the defaults of all its options.
    Library {
        name: "snmalloc",
        package: "snmalloc-sys-0.7.6",
        root: "upstream/src",
        cpp: true,
        includes: &["."],
        sources: &["snmalloc/override/malloc.cc", "snmalloc/override/new.cc"],
        flags: &[
            "-O3",
            "-DNDEBUG",
            "-std=gnu++20",
            "-fno-rtti",
            "-fvisibility=hidden",
            "-fomit-frame-pointer",
            "-ffunction-sections",
            "-ftls-model=initial-exec",
            "-DSNMALLOC_EXPORT=__attribute__((visibility(\"default\")))",
            "-DSNMALLOC_USE_CXX11_THREAD_ATEXIT_DIRECT",
            "-DSNMALLOC_USE_WAIT_ON_ADDRESS=1",
            "-DSNMALLOC_CHECK_LOADS=false",
            "-DSNMALLOC_PAGEID=false",
            "-DSNMALLOC_NO_REALLOCARRAY",
            "-DSNMALLOC_NO_REALLOCARR",
            "-DSNMALLOC_PLATFORM_HAS_GETENTROPY",
            "-DSNMALLOC_PTHREAD_ATFORK_WORKS",
            "-DSNMALLOC_HAS_LINUX_RANDOM_H",
            "-DSNMALLOC_HAS_LINUX_FUTEX_H",
            "-static-libstdc++",
        ],
        perhaps: &["-mcx16", "-mprfchw"],
    },
    // Its library `rpmallocwrap`: release, with gcc. Its flags for fast floating point are left
    // out: it has none, and in one step with linking they would change how the program counts.
    Library {
        name: "rpmalloc",
        package: "rpmalloc-sys-0.2.3+b097fd0",
        root: "rpmalloc/rpmalloc",
        cpp: false,
        includes: &[],
        sources: &["rpmalloc.c"],
        flags: &[
            "-O3",
            "-std=c11",
            "-funit-at-a-time",
            "-fstrict-aliasing",
            "-funroll-loops",
            "-D_GNU_SOURCE=1",
            "-DRPMALLOC_COMPILE=1",
            "-DBUILD_RELEASE=1",
            "-DBUILD_DYNAMIC_LINK=1",
            "-DENABLE_PRELOAD=1",
            "-DENABLE_OVERRIDE=1",
        ],
        perhaps: &[],
    },
];

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for this build script"))
}

/// Where cargo has unpacked crates: beside each other, and one of them says where it is.
fn unpacked() -> PathBuf {
    let told = variable("DEP_MIMALLOC_INCLUDE_DIR");
    let mut above = Path::new(&told).ancestors();
    let manifest = |folder: &&Path| folder.join("Cargo.toml").is_file();
    let package = above.find(manifest).and_then(Path::parent);
    package.expect("a crate has a manifest").to_owned()
}

impl Library {
    /// Where its sources are. A folder of vendored crates has them without their versions.
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
        compiler.args(["-shared", "-fPIC"]).args(self.flags);
        for include in self.includes {
            compiler.arg("-I").arg(root.join(include));
        }
        compiler.args(self.sources.iter().map(|source| root.join(source)));
        // What is not needed of these is not recorded in the library.
        compiler.args(["-Wl,--as-needed", "-pthread", "-latomic", "-ldl", "-o"]);
        let output = compiler.arg(library).output().expect("there is a compiler");
        let said = String::from_utf8_lossy(&output.stderr);
        let built = output.status.success();
        assert!(built, "{} cannot be built: {said}", self.name);
    }
}

/// Leaves the libraries' paths in `FURLONG_<NAME>`. There is nothing where none can be preloaded,
/// or the feature was not asked for.
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
