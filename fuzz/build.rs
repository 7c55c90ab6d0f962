//! Types of the contract, for prost.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    const FOLDER: &str = "../proto";
    const FILE: &str = "endseal/v1/message.proto";
    println!("cargo::rerun-if-changed={FOLDER}/{FILE}");
    let descriptors = protox::compile([FILE], [FOLDER])?;
    // Maps in the order of their keys, as endseal writes them.
    prost_build::Config::new().btree_map(["."]).compile_fds(descriptors)?;
    Ok(())
}
