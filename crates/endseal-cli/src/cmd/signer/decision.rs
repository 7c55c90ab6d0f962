//! Decisions about waiting requests.

use core::time::Duration;

use endseal_signer::control::{Command, Remember, Reply};

use super::{access, rules};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;

/// Options of a decision: the request, and the time for which it is remembered.
#[derive(clap::Args, Debug)]
pub(super) struct Decision {
    /// Number of the request, as endseal signer waiting shows it
    id: u32,
    /// Decide the same about the same kind, peer or URL for this time
    #[arg(long, value_name = "TIME", value_parser = rules::lifetime())]
    remember: Option<Duration>,
}

impl Decision {
    /// Number of the request.
    pub(super) const fn id(&self) -> u32 {
        self.id
    }

    /// Sends the decision to the running signer.
    pub(super) fn run(
        &self,
        command: impl FnOnce(u32, Option<Remember>) -> Command,
        done: &str,
        ctx: &Ctx,
    ) -> Result<Outcome, Failure> {
        let remember = self.remember.map(|it| Remember { lifetime: Some(it.as_secs()) });
        let reply = access::ask_running(command(self.id, remember), ctx)?;
        let Reply::Done = reply else { return Err(access::unexpected()) };
        let json = json::object([("id", self.id.into())]);
        Ok(Outcome::done(format!("request {} is {done}", self.id), json))
    }
}
