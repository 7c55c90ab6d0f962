//! The three suites of this peer: `envelope`, `codec` and `transport`.

use crate::case::Case;
use crate::codec_case::CodecCase;
use crate::peer::{Program, Ready, Wanted};
use crate::protocol::{Answer, Described, Refusal};
use crate::subject::codec::{self, Codec};
use crate::subject::transport;
use crate::subject::{SUBJECTS, Subject};
use crate::{transport_case, versions};

pub(crate) const PROGRAM: Program = Program { name: "rust", subjects, prepare };

fn subjects() -> Vec<Described> {
    SUBJECTS
        .iter()
        .map(describe)
        .chain(codec::SUBJECTS.iter().map(describe_codec))
        .chain(transport::SUBJECTS.iter().map(transport_case::describe))
        .collect()
}

fn prepare(wanted: &Wanted<'_>) -> Result<Box<dyn Ready>, Refusal> {
    let &Wanted { case, params, inputs, .. } = wanted;
    if let Some(subject) = SUBJECTS.iter().find(|it| it.name == wanted.subject) {
        Ok(Box::new(Case::prepare(subject, case, params, inputs)?))
    } else if let Some(subject) = codec::SUBJECTS.iter().find(|it| it.name == wanted.subject) {
        Ok(Box::new(CodecCase::prepare(subject, case, params, inputs)?))
    } else {
        transport_case::prepare(&transport::SUBJECTS, wanted)
    }
}

impl Ready for Case {
    fn check(&mut self) -> Result<Answer, Refusal> {
        Self::check(self)
    }

    fn run(&mut self, iterations: u64) -> Result<Answer, Refusal> {
        Self::run(self, iterations)
    }
}

impl Ready for CodecCase {
    fn check(&mut self) -> Result<Answer, Refusal> {
        Self::check(self)
    }

    fn run(&mut self, iterations: u64) -> Result<Answer, Refusal> {
        Self::run(self, iterations)
    }
}

fn describe(subject: &Subject) -> Described {
    Described {
        subject: subject.name,
        about: format!("{}; many: on all cores", subject.about),
        versions: versions::of_all(subject.crates),
        settings: subject.settings,
        properties: subject.properties,
    }
}

fn describe_codec(subject: &Codec) -> Described {
    Described {
        subject: subject.name,
        about: subject.about.to_owned(),
        versions: versions::of_all(subject.crates),
        settings: subject.settings,
        properties: subject.properties,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_subjects_fits_the_lock_file() {
        versions::assert_fit(&subjects());
    }

    #[test]
    fn the_direct_dependency_is_meant() {
        assert!(versions::of("curve25519-dalek").is_some_and(|version| version.starts_with("5.")));
    }
}
