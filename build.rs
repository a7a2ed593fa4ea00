//! Link settings: two extensions written in Rust in one backend must not see each other's symbols.
//! And the compiler's version, which the layout of values in shared memory depends on.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let compiler = std::env::var("RUSTC").expect("cargo names the compiler");
    let version = Command::new(compiler).arg("--version").output().expect("the compiler runs");
    let version = String::from_utf8_lossy(&version.stdout);
    println!("cargo:rustc-env=SIMHASH_COMPILER={}", version.trim());
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os != "macos" && os != "windows") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    }
}
