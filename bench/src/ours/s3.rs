//! S3 as subjects: our proxy, a proxy that does nothing, no proxy at all, and the published
//! baseline's shape.

use core::net::SocketAddr;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;

use crate::record::{Better, Params, SubjectInfo};
use crate::s3::{COUNTERS, Failure, client, signer};
use crate::subject::{Extra, Prepared, Subject, SubjectError};
use crate::suite::s3::{
    DIRECT, GET, MEMORY, MULTIPART, PASS_THROUGH, PUT, PUT_CHUNKED, RANGE, SEED, SMALL,
};

mod buckets;
mod check;
mod line;
mod memory;
mod multipart;
mod place;
mod range;
pub(crate) mod rclone;
mod shape;
mod small;
mod transfer;
mod world;

use shape::{Job, Shape};
use world::World;

/// Path of objects between the client and the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    Endseal,
    Direct,
    PassThrough,
    SeedCtr,
}

/// Returns all subjects of the suite. They share the backends, and each has one process for all
/// cases.
pub(crate) fn subjects() -> Vec<Box<dyn Subject>> {
    let world = Rc::new(RefCell::new(World::default()));
    let subject = |way| {
        let world = Rc::clone(&world);
        Box::new(S3 { info: info(way), way, world }) as Box<dyn Subject>
    };
    vec![
        subject(Way::Endseal),
        subject(Way::Direct),
        subject(Way::PassThrough),
        subject(Way::SeedCtr),
    ]
}

fn info(way: Way) -> SubjectInfo {
    let (subject, about, settings, properties): (_, _, _, &[&str]) = match way {
        Way::Endseal => (
            crate::case::OURS,
            "endseal s3 serve with its defaults: signatures verified and made, a checksum behind each \
             upload, AES-256-GCM in chunks of 16 KiB, each authenticated before it is given out",
            "docs/spec/s3-object.md",
            &["confidential", "authenticated", "committing"],
        ),
        Way::Direct => (DIRECT, "no proxy: the client speaks to the backend", "", &[]),
        Way::PassThrough => (
            PASS_THROUGH,
            "a proxy on the same hyper that passes requests and bodies on over kept connections: no \
             cryptography, no signatures",
            "",
            &[],
        ),
        Way::SeedCtr => (
            SEED,
            "the published method, implemented again: AES-256-CTR in segments of 12 MB, an HMAC over \
             the object that is compared when all has been sent, parts of 5 MB of which 3 are sent at \
             the same time; no ranges",
            "",
            &["confidential"],
        ),
    };
    let runtime = match way {
        Way::Direct => {
            format!("no process; files of real servers are in {}", place::of_files().display())
        }
        _ => "Rust, a process of its own".to_owned(),
    };
    SubjectInfo {
        settings: settings.into(),
        versions: BTreeMap::from([("endseal".into(), env!("CARGO_PKG_VERSION").into())]),
        ..described(subject, about, &runtime, properties)
    }
}

fn described(subject: &str, about: &str, runtime: &str, properties: &[&str]) -> SubjectInfo {
    SubjectInfo {
        subject: subject.into(),
        suite: Some("s3".into()),
        about: about.into(),
        runtime: runtime.into(),
        properties: properties.iter().map(|it| (*it).into()).collect(),
        ..SubjectInfo::default()
    }
}

/// Returns the version that a program prints.
fn version(program: &Path) -> BTreeMap<String, String> {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let asked = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let text = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let line = text.unwrap_or_default().lines().next().unwrap_or_default().to_owned();
    let found = line.split(' ').find(|word| word.contains(|c: char| c.is_ascii_digit()));
    found.map(|version| (name, version.to_owned())).into_iter().collect()
}

/// A subject of the suite.
struct S3 {
    info: SubjectInfo,
    way: Way,
    world: Rc<RefCell<World>>,
}

impl Subject for S3 {
    fn info(&self) -> &SubjectInfo {
        &self.info
    }

    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        _: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
        let shape = Shape::new(case, params)?;
        let authenticates = self.info.properties.iter().any(|it| it == "authenticated");
        let mut world = self.world.borrow_mut();
        if shape.job == Job::Range && self.way == Way::SeedCtr {
            return Err(SubjectError::Unsupported("it has no ranges".into()));
        }
        if shape.job == Job::PutChunked && self.way == Way::SeedCtr {
            return Err(SubjectError::Unsupported("it takes no chunks".into()));
        }
        if shape.job == Job::Memory {
            if self.way == Way::Direct {
                return Err(SubjectError::Unsupported("it has no process".into()));
            }
            drop(world);
            let world = Rc::clone(&self.world);
            return Ok(Box::new(memory::Ready::new(world, self.way, shape, authenticates)));
        }
        let line = world.line(self.way, shape.backend)?;
        Ok(match shape.job {
            Job::Put | Job::PutChunked | Job::Get => {
                Box::new(transfer::Ready::new(line, shape, authenticates)?)
            }
            Job::Multipart => {
                let whole = self.way == Way::SeedCtr;
                Box::new(multipart::Ready::new(line, shape, authenticates, whole)?)
            }
            Job::Range => Box::new(range::Ready::new(line, shape, authenticates)?),
            Job::Small => Box::new(small::Ready::new(line, shape, authenticates)?),
            Job::Memory => return Err(SubjectError::Failed("it is prepared above".into())),
        })
    }
}

/// Counters that the sink reports.
struct Counters {
    requests: f64,
    bytes_out: f64,
}

fn counters(sink: SocketAddr) -> Result<Counters, Failure> {
    let head = client::head(&signer(), sink, "GET", COUNTERS, &[])?;
    let (_, _, text) = client::Connection::open(sink)?.ask(&head, &[])?;
    let text = String::from_utf8(text)?;
    let of = |name: &str| -> Result<f64, Failure> {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        Ok(line.ok_or("the sink does not report this counter")?.trim().parse()?)
    };
    Ok(Counters { requests: of("requests ")?, bytes_out: of("bytes_out ")? })
}

fn failed(why: Failure) -> SubjectError {
    SubjectError::Failed(why.to_string())
}

fn figure(metric: &'static str, unit: &'static str, better: Better, samples: Vec<f64>) -> Extra {
    Extra { metric, unit, better, samples }
}
