//! Rosters. `roster-api.js` makes a class of the texts that these functions return.

use endseal_facade as facade;
use endseal_facade::PublicIdentity;
use napi::bindgen_prelude::{AsyncTask, Uint8Array};
use napi::{Env, Result, Task};
use napi_derive::napi;

use crate::error::exception;

#[napi(ts_return_type = "Promise<string[]>")]
pub fn roster_read(file: Uint8Array, owner: String) -> Result<AsyncTask<ReadRoster>> {
    let owner = PublicIdentity::parse(owner.trim()).map_err(exception)?;
    Ok(AsyncTask::new(ReadRoster { file: file.to_vec(), trust: Trust::Owner(owner) }))
}

#[napi(ts_return_type = "Promise<string[]>")]
pub fn roster_read_next(
    held: Uint8Array,
    file: Uint8Array,
    allows_gap: bool,
) -> AsyncTask<ReadRoster> {
    let trust = Trust::Held { file: held.to_vec(), allows_gap };
    AsyncTask::new(ReadRoster { file: file.to_vec(), trust })
}

enum Trust {
    Owner(PublicIdentity),
    Held { file: Vec<u8>, allows_gap: bool },
}

pub struct ReadRoster {
    file: Vec<u8>,
    trust: Trust,
}

impl Task for ReadRoster {
    type Output = Vec<String>;
    type JsValue = Vec<String>;

    fn compute(&mut self) -> Result<Vec<String>> {
        let roster = match &self.trust {
            Trust::Owner(owner) => facade::Roster::read(&self.file, owner),
            Trust::Held { file, allows_gap } => {
                facade::Roster::parse(file).and_then(|held| held.read_next(&self.file, *allows_gap))
            }
        };
        roster.map(|it| it.texts()).map_err(exception)
    }

    fn resolve(&mut self, _: Env, facts: Vec<String>) -> Result<Vec<String>> {
        Ok(facts)
    }
}
