//! Files of a run. Each is written to a temporary file and renamed, so that it appears whole or not
//! at all.

use std::fs;
use std::path::Path;

use endseal_bench::record::Record;
use endseal_bench::report;
use endseal_node::{AtomicFile, Existing, Readers, write_file};

use crate::failure::{Failure, Kind};

/// Makes the folder and checks that files can be created in it, before a measurement begins.
pub(crate) fn prepare(out: &Path) -> Result<(), Failure> {
    make_folder(out)?;
    drop(AtomicFile::create(&out.join("run.json"), Existing::Replace, Readers::Umask)?);
    Ok(())
}

/// Writes `run.json`, the record of the run, into the folder of results.
pub(crate) fn write_record(out: &Path, record: &Record) -> Result<(), Failure> {
    let mut json = serde_json::to_vec(record).map_err(|error| {
        Failure::new(Kind::Environment, "the figures have no JSON form").because(&error)
    })?;
    json.push(b'\n');
    write(out, "run.json", &json)
}

/// Writes `report.html`, the report for people, into the folder of results.
pub(crate) fn write_report(out: &Path, record: &Record) -> Result<(), Failure> {
    make_folder(out)?;
    write(out, "report.html", report::html(record).as_bytes())
}

fn make_folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| {
        Failure::new(Kind::Environment, format!("cannot use the folder '{}'", path.display()))
            .because(&error)
    })
}

fn write(out: &Path, name: &str, content: &[u8]) -> Result<(), Failure> {
    Ok(write_file(&out.join(name), content, Existing::Replace, Readers::Umask)?)
}
