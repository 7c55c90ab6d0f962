//! A prepared case of the suite `transport`.

use std::collections::BTreeMap;

use crate::peer::{Ready, Wanted};
use crate::protocol::{Answer, Described, Refusal};
use crate::transport::work::{Fault, Spent, Work};
use crate::transport::{Prepared, Transport};
use crate::versions;

/// Prepares a case of one of `subjects`.
pub(crate) fn prepare(
    subjects: &[Transport],
    wanted: &Wanted<'_>,
) -> Result<Box<dyn Ready>, Refusal> {
    let subject = subjects.iter().find(|it| it.name == wanted.subject);
    let subject = subject.ok_or_else(|| wanted.no_one())?;
    let work = Work::new(wanted.case, &wanted.params.all())?;
    let prepared = (subject.prepare)(work, wanted.inputs.value())?;
    let authenticated = subject.properties.contains(&"authenticated");
    Ok(Box::new(TransportCase { work, authenticated, prepared }))
}

/// Returns the description of a subject for `hello`.
pub(crate) fn describe(subject: &Transport) -> Described {
    Described {
        subject: subject.name,
        about: subject.about.to_owned(),
        versions: versions::of_all(subject.crates),
        settings: subject.settings,
        properties: subject.properties,
    }
}

struct TransportCase {
    work: Work,
    authenticated: bool,
    prepared: Box<dyn Prepared>,
}

impl Ready for TransportCase {
    fn check(&mut self) -> Result<Answer, Refusal> {
        let found = self.prepared.check()?;
        let mut figures = BTreeMap::new();
        if self.work == Work::Handshake {
            let delayed = self.prepared.delayed()?;
            figures.insert("bytes_sent", delayed.bytes_sent);
            figures.insert("bytes_received", delayed.bytes_received);
            figures.insert("delayed_ns", delayed.ns);
            let idle = self.prepared.idle_memory()?;
            figures.extend(idle.map(|bytes| ("idle_memory", vec![bytes])));
        }
        Ok(Answer::CheckedOnTheWire {
            round_trip: found.round_trip,
            tamper_refused: self.authenticated.then_some(found.refused),
            sealed_bytes: found.size,
            figures,
        })
    }

    fn run(&mut self, iterations: u64) -> Result<Answer, Refusal> {
        if iterations == 0 {
            return Err(Refusal::protocol("iterations: at least 1"));
        }
        let Spent { wall_ns, cpu_ns } = self.prepared.run(iterations)?;
        Ok(Answer::Ran { iterations, wall_ns, cpu_ns })
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Unsupported(why) => Self::unsupported(why),
            Fault::Failed(why) => Self::failed(why),
        }
    }
}
