//! Access to the store with the sessions, for one command.

use core::time::Duration;

use endseal_crypto::identity::Identity;
use endseal_node::Home;
use endseal_node::api::Client;
use endseal_node::sessions::SessionsError;
use endseal_session::{Engine, EngineError};
use endseal_store::OpenStoreError;

use crate::ctx::Ctx;
use crate::failure::{self, Failure, Kind, STOP_UP};
use crate::passphrase;

/// Opens the store, calls `work`, and closes the store.
pub(crate) fn with<T>(
    wait: Duration,
    ctx: &mut Ctx,
    work: impl FnOnce(&mut Engine, &mut Ctx) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (home, device) = unlock(ctx)?;
    let engine = open(&home, &device, wait)?;
    drop(device);
    work_and_close(engine, ctx, work)
}

/// Opens the sessions. Waits for another command that has the store open, and not for `endseal up`,
/// which keeps it.
pub(crate) fn open(home: &Home, device: &Identity, wait: Duration) -> Result<Engine, Failure> {
    home.sessions(device, wait_of(home, wait)).map_err(|error| not_opened(error, home))
}

/// Time for which a command waits for the store: none while `endseal up` has it.
pub(crate) fn wait_of(home: &Home, wait: Duration) -> Duration {
    match Client::find(home) {
        Ok(Some(_)) => Duration::ZERO,
        _ => wait,
    }
}

/// Makes the failure for a store that was not opened. It names `endseal up` if that uses the store.
pub(crate) fn not_opened(error: SessionsError, home: &Home) -> Failure {
    let is_locked = matches!(error, SessionsError::Open { error: OpenStoreError::Locked, .. });
    if is_locked && matches!(Client::find(home), Ok(Some(_))) {
        return up_uses_store();
    }
    let has_no_device = matches!(error, SessionsError::Engine(EngineError::NoDevice));
    if has_no_device && home.identity_path().symlink_metadata().is_err() {
        return failure::not_linked();
    }
    if !is_locked && matches!(home.next_device(), Ok(Some(_))) {
        return Failure::new(Kind::Environment, "a renewal of this device was interrupted")
            .because(&error)
            .hint("run it again: endseal devices renew");
    }
    error.into()
}

/// Makes the failure for a command that cannot work while `endseal up` runs.
pub(crate) fn up_uses_store() -> Failure {
    Failure::new(Kind::Environment, "endseal up uses the store").hint(STOP_UP)
}

pub(crate) fn unlock(ctx: &mut Ctx) -> Result<(Home, Identity), Failure> {
    let home = ctx.home()?;
    let device = passphrase::unlock_device(ctx, &home)?;
    Ok((home, device))
}

pub(crate) fn work_and_close<T>(
    mut engine: Engine,
    ctx: &mut Ctx,
    work: impl FnOnce(&mut Engine, &mut Ctx) -> Result<T, Failure>,
) -> Result<T, Failure> {
    engine.expire(ctx.now)?;
    let done = work(&mut engine, ctx)?;
    engine.into_store().close()?;
    Ok(done)
}
