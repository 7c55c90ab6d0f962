//! Requests and answers of the benchmark peer protocol, `docs/spec/bench-peer.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of the protocol.
pub(crate) const VERSION: u64 = 1;

/// Largest length of a line in bytes, including its end, in both directions.
pub(crate) const LINE_LIMIT: usize = 1 << 20;

#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum Request {
    Hello { protocol: Integer },
    Prepare { subject: String, case: String, params: Params, inputs: Integer },
    Check { handle: Integer },
    Run { handle: Integer, iterations: Integer },
    Release { handle: Integer },
}

/// Parameters of a case by name. Each case reports the parameters that it lacks.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Params(BTreeMap<String, Integer>);

impl Params {
    /// Returns the values of `names`. Fails if one is missing or there are others.
    pub(crate) fn take<const N: usize>(&self, names: [&str; N]) -> Result<[usize; N], Refusal> {
        if let Some(other) = self.0.keys().find(|name| !names.contains(&name.as_str())) {
            return Err(Refusal::unsupported(format!("this case has no parameter {other}")));
        }
        let mut values = [0; N];
        for (value, name) in values.iter_mut().zip(names) {
            let given = self.0.get(name).map(|given| usize::try_from(given.value()));
            *value = match given {
                Some(Ok(given)) => given,
                Some(Err(_)) => return Err(Refusal::unsupported(format!("{name}: too large"))),
                None => return Err(Refusal::unsupported(format!("params lack {name}"))),
            };
        }
        Ok(values)
    }

    /// Returns true if the request has that parameter.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns all parameters of the request.
    pub(crate) fn all(&self) -> BTreeMap<String, u64> {
        self.0.iter().map(|(name, given)| (name.clone(), given.value())).collect()
    }
}

/// A number as the protocol allows it: an integer from 0 to below 2^53.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "u64")]
pub(crate) struct Integer(u64);

impl Integer {
    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for Integer {
    type Error = &'static str;

    fn try_from(value: u64) -> Result<Self, Self::Error> {
        if value < 1 << 53 { Ok(Self(value)) } else { Err("a number of 2^53 or more") }
    }
}

impl Request {
    pub(crate) fn from_line(line: &[u8]) -> Result<Self, Refusal> {
        serde_json::from_slice(line).map_err(|error| Refusal::protocol(error.to_string()))
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Answer {
    Hello {
        protocol: u64,
        peer: &'static str,
        runtime: String,
        subjects: Vec<Described>,
    },
    Prepared {
        handle: u64,
    },
    Checked {
        round_trip: bool,
        tamper_refused: Option<bool>,
        sealed_bytes: u64,
    },
    /// With figures other than time, if the case has any.
    CheckedOnTheWire {
        round_trip: bool,
        tamper_refused: Option<bool>,
        sealed_bytes: Option<u64>,
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        figures: BTreeMap<&'static str, Vec<u64>>,
    },
    Ran {
        iterations: u64,
        wall_ns: u64,
        cpu_ns: u64,
    },
    Released {},
}

/// Description of a subject for `hello`.
#[derive(Debug, Serialize)]
pub(crate) struct Described {
    pub(crate) subject: &'static str,
    pub(crate) about: String,
    pub(crate) versions: BTreeMap<&'static str, &'static str>,
    pub(crate) settings: &'static str,
    pub(crate) properties: &'static [&'static str],
}

/// An answer that reports an error.
#[derive(Debug, Serialize)]
pub(crate) struct Refusal {
    error: Class,
    message: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Class {
    Protocol,
    Unsupported,
    Failed,
}

impl Refusal {
    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Self::new(Class::Protocol, message.into())
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(Class::Unsupported, message.into())
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Class::Failed, message.into())
    }

    /// Creates a refusal. Its message may repeat parts of the request, so it is shortened to keep
    /// the answer below the limit.
    fn new(error: Class, message: String) -> Self {
        let printable = |c: char| if c.is_control() { ' ' } else { c };
        Self { error, message: message.chars().take(500).map(printable).collect() }
    }
}

/// Returns the answer as a line, including its end.
pub(crate) fn to_line<T: Serialize>(answer: &Result<T, Refusal>) -> serde_json::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Line<'a, T> {
        ok: bool,
        #[serde(flatten)]
        rest: &'a T,
    }
    let mut line = match answer {
        Ok(rest) => serde_json::to_vec(&Line { ok: true, rest })?,
        Err(rest) => serde_json::to_vec(&Line { ok: false, rest })?,
    };
    line.push(b'\n');
    Ok(line)
}
