//! Links the agent so that it runs with an older C library than that of the machine it was built on.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Rust's standard library looks for these functions of glibc 2.39 by weak references, and does without where there
    // are none. A linker that finds them makes glibc 2.39 a condition of starting at all. Here they are null, as on
    // Debian 12 (glibc 2.36); nothing of the agent asks for a child's pidfd, for which alone they would be called.
    for function in ["pidfd_spawnp", "pidfd_getpid"] {
        println!("cargo::rustc-link-arg-bins=-Wl,--defsym={function}=0");
    }
}
