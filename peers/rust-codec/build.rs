//! Generates the contract's types for both libraries from the same descriptor.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message as _;

const FOLDER: &str = "../../proto";
const FILE: &str = "endseal/v1/message.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={FOLDER}/{FILE}");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let descriptors = protox::compile([FILE], [FOLDER])?;
    let file = out.join("contract.bin");
    fs::write(&file, descriptors.encode_to_vec())?;

    for library in ["prost", "buffa"] {
        fs::create_dir_all(out.join(library))?;
    }
    // Maps are sorted by their keys, as endseal writes them.
    prost_build::Config::new()
        .btree_map(["."])
        .out_dir(out.join("prost"))
        .compile_fds(descriptors)?;
    buffa_build::Config::new()
        .descriptor_set(&file)
        .files(&[FILE])
        .out_dir(out.join("buffa"))
        .include_file("all.rs")
        .compile()?;
    Ok(())
}
