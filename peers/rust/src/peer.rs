//! What the peer does for each request.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::case::Case;
use crate::codec_case::CodecCase;
use crate::protocol::{Answer, Described, Integer, Params, Refusal, Request, VERSION};
use crate::subject::codec::{self, Codec};
use crate::subject::transport::{self, Transport};
use crate::subject::{SUBJECTS, Subject};
use crate::transport_case::TransportCase;
use crate::versions;

/// The specification asks for 64.
const HANDLE_LIMIT: usize = 1024;

#[derive(Default)]
pub(crate) struct Peer {
    cases: BTreeMap<u64, Ready>,
    last_handle: u64,
}

/// A case of one of the suites.
enum Ready {
    Envelope(Case),
    Codec(CodecCase),
    Transport(TransportCase),
}

impl Ready {
    fn check(&mut self) -> Result<Answer, Refusal> {
        match self {
            Self::Envelope(case) => case.check(),
            Self::Codec(case) => case.check(),
            Self::Transport(case) => case.check(),
        }
    }

    fn run(&mut self, iterations: u64) -> Result<Answer, Refusal> {
        match self {
            Self::Envelope(case) => case.run(iterations),
            Self::Codec(case) => case.run(iterations),
            Self::Transport(case) => case.run(iterations),
        }
    }
}

impl Peer {
    /// Never panics: what a subject does wrong is an answer.
    pub(crate) fn answer(&mut self, line: &[u8]) -> Result<Answer, Refusal> {
        let request = Request::from_line(line)?;
        catch_unwind(AssertUnwindSafe(|| self.serve(request)))
            .unwrap_or_else(|panic| Err(Refusal::failed(format!("panic: {}", text(&*panic)))))
    }

    fn serve(&mut self, request: Request) -> Result<Answer, Refusal> {
        match request {
            Request::Hello { protocol } => hello(protocol.value()),
            Request::Prepare { subject, case, params, inputs } => {
                self.prepare(&subject, &case, &params, inputs)
            }
            Request::Check { handle } => self.case(handle)?.check(),
            Request::Run { handle, iterations } => self.case(handle)?.run(iterations.value()),
            Request::Release { handle } => match self.cases.remove(&handle.value()) {
                Some(_) => Ok(Answer::Released {}),
                None => Err(no_handle(handle)),
            },
        }
    }

    fn prepare(
        &mut self,
        subject: &str,
        case: &str,
        params: &Params,
        inputs: Integer,
    ) -> Result<Answer, Refusal> {
        if self.cases.len() >= HANDLE_LIMIT {
            return Err(Refusal::failed(format!("{HANDLE_LIMIT} handles are in use")));
        }
        let case = if let Some(subject) = SUBJECTS.iter().find(|it| it.name == subject) {
            Ready::Envelope(Case::prepare(subject, case, params, inputs)?)
        } else if let Some(subject) = codec::SUBJECTS.iter().find(|it| it.name == subject) {
            Ready::Codec(CodecCase::prepare(subject, case, params, inputs)?)
        } else if let Some(subject) = transport::SUBJECTS.iter().find(|it| it.name == subject) {
            Ready::Transport(TransportCase::prepare(subject, case, params, inputs)?)
        } else {
            return Err(Refusal::unsupported(format!("no subject {subject}")));
        };
        self.last_handle += 1;
        self.cases.insert(self.last_handle, case);
        Ok(Answer::Prepared { handle: self.last_handle })
    }

    fn case(&mut self, handle: Integer) -> Result<&mut Ready, Refusal> {
        self.cases.get_mut(&handle.value()).ok_or_else(|| no_handle(handle))
    }
}

fn hello(protocol: u64) -> Result<Answer, Refusal> {
    if protocol != VERSION {
        return Err(Refusal::protocol(format!("version {protocol}; this peer speaks {VERSION}")));
    }
    let profile = if cfg!(debug_assertions) { ", debug build: do not measure" } else { "" };
    Ok(Answer::Hello {
        protocol: VERSION,
        peer: "rust",
        runtime: format!("{}{profile}", env!("PEER_RUSTC")),
        subjects: SUBJECTS
            .iter()
            .map(describe)
            .chain(codec::SUBJECTS.iter().map(describe_codec))
            .chain(transport::SUBJECTS.iter().map(describe_transport))
            .collect(),
    })
}

fn describe(subject: &Subject) -> Described {
    Described {
        subject: subject.name,
        about: format!("{}; many: on all cores", subject.about),
        versions: subject.crates.iter().map(version).collect(),
        settings: subject.settings,
        properties: subject.properties,
    }
}

fn describe_codec(subject: &Codec) -> Described {
    Described {
        subject: subject.name,
        about: subject.about.to_owned(),
        versions: subject.crates.iter().map(version).collect(),
        settings: subject.settings,
        properties: subject.properties,
    }
}

fn describe_transport(subject: &Transport) -> Described {
    Described {
        subject: subject.name,
        about: subject.about.to_owned(),
        versions: subject.crates.iter().map(version).collect(),
        settings: subject.settings,
        properties: subject.properties,
    }
}

fn version(name: &&'static str) -> (&'static str, &'static str) {
    (*name, versions::of(name).unwrap_or("unknown"))
}

fn no_handle(handle: Integer) -> Refusal {
    Refusal::protocol(format!("no handle {}", handle.value()))
}

fn text(panic: &dyn Any) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;
    use crate::protocol::to_line;
    use crate::subject::Group;

    struct Panics;

    impl Group for Panics {
        fn seal(&self, _: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
            panic!("out of\ncheese")
        }

        fn open(&self, _: usize, _: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
            Err("not sealed".into())
        }
    }

    #[test]
    fn a_panic_of_a_subject_is_an_answer() {
        let subject = Subject { group: |_| Ok(Box::new(Panics)), ..SUBJECTS[0] };
        let params = br#"{"members":1,"bytes":1}"#;
        let params: Params = serde_json::from_slice(params).unwrap();
        let mut peer = Peer::default();
        let case = Case::prepare(&subject, "seal", &params, 16.try_into().unwrap()).ok().unwrap();
        peer.cases.insert(1, Ready::Envelope(case));

        for request in [r#"{"op":"check","handle":1}"#, r#"{"op":"run","handle":1,"iterations":1}"#]
        {
            let line = to_line(&peer.answer(request.as_bytes())).unwrap();
            let expected = r#"{"ok":false,"error":"failed","message":"panic: out of cheese"}"#;
            assert_eq!(String::from_utf8(line).unwrap().trim_end(), expected);
        }
        assert!(peer.answer(br#"{"op":"release","handle":1}"#).is_ok());
    }
}
