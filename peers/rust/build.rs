//! Hands the compiler's version to the program, which reports it in `hello`, and generates code from
//! the contract of messages.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use prost_build::Config;
use protox::prost::Message;

const PROTO: &str = "../../proto";
const CONTRACT: &str = "endseal/v1/message.proto";

fn main() -> Result<(), Box<dyn Error>> {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(rustc).arg("--version").output().map(|output| output.stdout);
    let version = output.ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    println!("cargo::rustc-env=PEER_RUSTC={}", version.trim());
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={PROTO}");
    generate()
}

/// Both with what the contract asks for (entries of maps in the order of their keys), else as their
/// authors chose.
fn generate() -> Result<(), Box<dyn Error>> {
    let out = env::var("OUT_DIR")?;
    let contract = protox::compile([CONTRACT], [PROTO])?;

    let descriptors = Path::new(&out).join("contract.binpb");
    fs::write(&descriptors, contract.encode_to_vec())?;
    let buffa = Path::new(&out).join("buffa");
    fs::create_dir_all(&buffa)?;
    buffa_build::Config::new()
        .descriptor_set(descriptors)
        .files(&[CONTRACT])
        .map_type(buffa_build::MapRepr::BTreeMap)
        .out_dir(buffa)
        .include_file("contract.rs")
        .compile()?;

    let prost = Path::new(&out).join("prost");
    fs::create_dir_all(&prost)?;
    Config::new().btree_map(["."]).out_dir(prost).compile_fds(contract)?;
    Ok(())
}
