//! Links the program for Linux with packed relocations where the C library of this machine can load them.
//!
//! The tables of time zones, of rules and of traits need about a hundred thousand relative relocations: 2.4 MB as ordinary
//! records, all of which the loader reads at each start and which stay resident; packed (`DT_RELR`) they take some ten
//! kilobytes.
//! glibc loads them since 2.36. A program for an older system than the one it is built on is built with
//! `NIAGARA_BRIDGE_OLD_GLIBC=1`.

use std::process::Command;

/// First release of glibc that loads packed relative relocations (its release notes, 2.36).
const LOADS_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=NIAGARA_BRIDGE_OLD_GLIBC");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let for_this_machine = variable("HOST") == variable("TARGET");
    let glibc =
        variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    let for_an_older_one = !matches!(variable("NIAGARA_BRIDGE_OLD_GLIBC").as_str(), "" | "0");
    if glibc
        && for_this_machine
        && !for_an_older_one
        && glibc_here().is_some_and(|version| version >= LOADS_PACKED)
    {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Version of the C library of this machine, as `getconf` tells it ("glibc 2.36"); `None` where that is not known.
fn glibc_here() -> Option<(u32, u32)> {
    let told = Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .ok()?;
    let text = String::from_utf8(told.stdout).ok()?;
    let (major, rest) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}
