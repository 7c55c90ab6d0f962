//! Answers each request of the harness.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::protocol::{Answer, Described, Integer, Params, Refusal, Request, VERSION};

/// Largest number of open handles. The specification requires at least 64.
const HANDLE_LIMIT: usize = 1024;

/// Description of a peer's program, with its subjects.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    /// Name of the peer in `hello`.
    pub(crate) name: &'static str,
    /// Returns the subjects, in the order of `hello`.
    pub(crate) subjects: fn() -> Vec<Described>,
    /// Prepares a case of one of the subjects.
    pub(crate) prepare: fn(&Wanted<'_>) -> Result<Box<dyn Ready>, Refusal>,
}

/// The case that a request asks for.
pub(crate) struct Wanted<'a> {
    pub(crate) subject: &'a str,
    pub(crate) case: &'a str,
    pub(crate) params: &'a Params,
    pub(crate) inputs: Integer,
}

/// A prepared case with its inputs.
pub(crate) trait Ready {
    /// Checks that the subject does what it claims.
    fn check(&mut self) -> Result<Answer, Refusal>;

    /// Does the work of the case `iterations` times.
    fn run(&mut self, iterations: u64) -> Result<Answer, Refusal>;
}

pub(crate) struct Peer {
    program: Program,
    cases: BTreeMap<u64, Box<dyn Ready>>,
    last_handle: u64,
}

impl Peer {
    pub(crate) fn new(program: Program) -> Self {
        Self { program, cases: BTreeMap::new(), last_handle: 0 }
    }

    /// Answers a request. It never panics: an error of a subject is an answer as well.
    pub(crate) fn answer(&mut self, line: &[u8]) -> Result<Answer, Refusal> {
        let request = Request::from_line(line)?;
        catch_unwind(AssertUnwindSafe(|| self.serve(request)))
            .unwrap_or_else(|panic| Err(Refusal::failed(format!("panic: {}", text(&*panic)))))
    }

    fn serve(&mut self, request: Request) -> Result<Answer, Refusal> {
        match request {
            Request::Hello { protocol } => self.hello(protocol.value()),
            Request::Prepare { subject, case, params, inputs } => {
                self.prepare(&Wanted { subject: &subject, case: &case, params: &params, inputs })
            }
            Request::Check { handle } => self.case(handle)?.check(),
            Request::Run { handle, iterations } => self.case(handle)?.run(iterations.value()),
            Request::Release { handle } => match self.cases.remove(&handle.value()) {
                Some(_) => Ok(Answer::Released {}),
                None => Err(no_handle(handle)),
            },
        }
    }

    fn hello(&self, protocol: u64) -> Result<Answer, Refusal> {
        if protocol != VERSION {
            let why = format!("version {protocol}; this peer speaks {VERSION}");
            return Err(Refusal::protocol(why));
        }
        let profile = if cfg!(debug_assertions) { ", debug build: do not measure" } else { "" };
        Ok(Answer::Hello {
            protocol: VERSION,
            peer: self.program.name,
            runtime: format!("{}{profile}", env!("PEER_RUSTC")),
            subjects: (self.program.subjects)(),
        })
    }

    fn prepare(&mut self, wanted: &Wanted<'_>) -> Result<Answer, Refusal> {
        if self.cases.len() >= HANDLE_LIMIT {
            return Err(Refusal::failed(format!("{HANDLE_LIMIT} handles are in use")));
        }
        let case = (self.program.prepare)(wanted)?;
        self.last_handle += 1;
        self.cases.insert(self.last_handle, case);
        Ok(Answer::Prepared { handle: self.last_handle })
    }

    fn case(&mut self, handle: Integer) -> Result<&mut Box<dyn Ready>, Refusal> {
        self.cases.get_mut(&handle.value()).ok_or_else(|| no_handle(handle))
    }
}

impl Wanted<'_> {
    /// Returns the refusal that there is no such subject.
    pub(crate) fn no_one(&self) -> Refusal {
        Refusal::unsupported(format!("no subject {}", self.subject))
    }
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
    use super::*;
    use crate::protocol::to_line;

    struct Panics;

    impl Ready for Panics {
        fn check(&mut self) -> Result<Answer, Refusal> {
            panic!("out of\ncheese")
        }

        fn run(&mut self, _: u64) -> Result<Answer, Refusal> {
            panic!("out of\ncheese")
        }
    }

    #[test]
    fn a_panic_of_a_subject_is_an_answer() {
        let program =
            Program { name: "panics", subjects: Vec::new, prepare: |_| Ok(Box::new(Panics)) };
        let mut peer = Peer::new(program);
        let prepare = r#"{"op":"prepare","subject":"it","case":"any","params":{},"inputs":1}"#;
        assert!(peer.answer(prepare.as_bytes()).is_ok());

        for request in [r#"{"op":"check","handle":1}"#, r#"{"op":"run","handle":1,"iterations":1}"#]
        {
            let line = to_line(&peer.answer(request.as_bytes())).unwrap();
            let expected = r#"{"ok":false,"error":"failed","message":"panic: out of cheese"}"#;
            assert_eq!(String::from_utf8(line).unwrap().trim_end(), expected);
        }
        assert!(peer.answer(br#"{"op":"release","handle":1}"#).is_ok());
    }
}
