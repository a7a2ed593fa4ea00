//! Asks the compiler whether it has the hook.

use std::io::Write;
use std::process::{Command, Stdio};

const PROBE: &str = "#![feature(alloc_error_hook)]
    pub fn probe(hook: fn(std::alloc::Layout)) { std::alloc::set_alloc_error_hook(hook) }";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_alloc_error_hook)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_BOOTSTRAP");
    if has_hook().unwrap_or(false) {
        println!("cargo::rustc-cfg=has_alloc_error_hook");
    } else {
        println!(
            "cargo::warning=this compiler gives no alloc_error_hook (is .cargo/config.toml read?): \
             a failed allocation will end the server process instead of the query"
        );
    }
}

fn has_hook() -> Option<bool> {
    let mut probe = Command::new(std::env::var_os("RUSTC")?)
        .args(["--crate-name", "simhash_oom", "--crate-type", "lib", "--edition", "2024"])
        .args(["--emit", "metadata", "--target", &std::env::var("TARGET").ok()?, "--out-dir"])
        .arg(std::env::var_os("OUT_DIR")?)
        .arg("-")
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    probe.stdin.take()?.write_all(PROBE.as_bytes()).ok()?;
    Some(probe.wait().ok()?.success())
}
