//! Generates the contract's types for prost.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    const FOLDER: &str = "../proto";
    const FILE: &str = "endseal/v1/message.proto";
    println!("cargo::rerun-if-changed={FOLDER}/{FILE}");
    let descriptors = protox::compile([FILE], [FOLDER])?;
    // Maps are sorted by their keys, as endseal writes them.
    prost_build::Config::new().btree_map(["."]).compile_fds(descriptors)?;
    Ok(())
}
