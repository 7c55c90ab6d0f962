//! A case of the suite `transport`, ready to be run.

use std::collections::BTreeMap;

use crate::protocol::{Answer, Integer, Params, Refusal};
use crate::subject::transport::work::{Fault, Spent, Work};
use crate::subject::transport::{Prepared, Transport};

pub(crate) struct TransportCase {
    work: Work,
    authenticated: bool,
    prepared: Box<dyn Prepared>,
}

impl TransportCase {
    pub(crate) fn prepare(
        subject: &Transport,
        case: &str,
        params: &Params,
        inputs: Integer,
    ) -> Result<Self, Refusal> {
        let work = Work::new(case, &params.all())?;
        let prepared = (subject.prepare)(work, inputs.value())?;
        let authenticated = subject.properties.contains(&"authenticated");
        Ok(Self { work, authenticated, prepared })
    }

    pub(crate) fn check(&mut self) -> Result<Answer, Refusal> {
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

    pub(crate) fn run(&mut self, iterations: u64) -> Result<Answer, Refusal> {
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
