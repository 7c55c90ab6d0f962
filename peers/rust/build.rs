//! Passes the compiler's version to the program, and generates code from the contract of messages.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use prost_build::Config;
use protox::prost::Message;

mod rustc;

const PROTO: &str = "../../proto";
const CONTRACT: &str = "endseal/v1/message.proto";

fn main() -> Result<(), Box<dyn Error>> {
    rustc::tell();
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={PROTO}");
    generate()
}

/// Generates code for both libraries. Maps are sorted by their keys, as the contract requires; all
/// other settings are the defaults.
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
