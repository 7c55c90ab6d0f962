//! S3 as subjects: our proxy, a proxy that does nothing, no proxy at all, and the published
//! baseline's shape.

use std::cell::RefCell;
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;

use super::described;
use crate::case::{Case, OURS};
use crate::subject::{Failure, Prepared, Subject, unsupported};

mod check;
mod line;
mod memory;
mod multipart;
mod place;
pub(crate) mod rclone;
mod shape;
mod transfer;
mod world;

use shape::{Job, Shape};
use transfer::Transfer;
use world::World;

/// Path of objects between the client and the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Endseal,
    Direct,
    PassThrough,
    SeedCtr,
}

/// Returns all subjects of the suite. They share the backends, and each has one process for all
/// cases.
pub(crate) fn subjects() -> Vec<Subject> {
    let world = Rc::new(RefCell::new(World::default()));
    let subject = |(way, name, about, settings, properties): (_, &str, &str, &str, &[&str])| {
        let mut info = described("s3", name, about, settings, properties);
        info.runtime = "Rust, a process of its own".into();
        if way == Way::Direct {
            let files = place::of_files().display();
            info.runtime = format!("no process; files of real servers are in {files}");
        }
        let world = Rc::clone(&world);
        Subject::new(info, move |case, _| prepare(&world, way, case))
    };
    [
        (
            Way::Endseal,
            OURS,
            "endseal s3 serve with its defaults: signatures verified and made, a checksum behind \
             each upload, AES-256-GCM in chunks of 16 KiB, each authenticated before it is given \
             out",
            "docs/spec/s3-object.md",
            &["confidential", "authenticated", "committing"][..],
        ),
        (Way::Direct, "direct", "no proxy: the client speaks to the backend", "", &[]),
        (
            Way::PassThrough,
            "pass-through",
            "a proxy on the same hyper that passes requests and bodies on over kept connections: \
             no cryptography, no signatures",
            "",
            &[],
        ),
        (
            Way::SeedCtr,
            "seed-ctr",
            "the published method, implemented again: AES-256-CTR in segments of 12 MB, an HMAC \
             over the object that is compared when all has been sent, parts of 5 MB of which 3 \
             are sent at the same time; no ranges",
            "",
            &["confidential"],
        ),
    ]
    .map(subject)
    .into()
}

fn prepare(
    world: &Rc<RefCell<World>>,
    way: Way,
    case: &Case,
) -> Result<Box<dyn Prepared>, Failure> {
    let mut shape = Shape::new(case)?;
    match (shape.job, way) {
        (Job::Range | Job::PutChunked, Way::SeedCtr) => {
            return Err(unsupported("it has neither ranges nor chunks"));
        }
        (Job::Memory, Way::Direct) => return Err(unsupported("it has no process")),
        (Job::Memory, _) => {
            return Ok(Box::new(memory::Memory { world: Rc::clone(world), way, shape }));
        }
        // It cuts objects itself.
        (Job::Multipart, Way::SeedCtr) => shape.job = Job::Small,
        _ => {}
    }
    let line = world.borrow_mut().line(way, shape.backend)?;
    Ok(Box::new(Transfer::new(line, shape)?))
}

/// Returns the version that a program prints.
fn version(program: &Path) -> Option<String> {
    let asked = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&asked.stdout);
    let mut words = text.lines().next()?.split(' ');
    words.find(|word| word.contains(|c: char| c.is_ascii_digit())).map(str::to_owned)
}
