//! The signer of the crate `nostr-connect`, for the case `bunker_sign`. It approves every request.

use std::error::Error;
use std::io::{self, Write};
use std::time::Duration;

use nostr_connect::prelude::{
    AsyncGetPublicKey, Keys, NostrConnect, NostrConnectKeys, NostrConnectRemoteSigner,
    NostrConnectRequest, NostrConnectSignerActions, NostrConnectUri, PublicKey,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, stdin};

/// Timeout of one request that checks if the signer is listening.
const PROBE: Duration = Duration::from_millis(500);
const PROBES: usize = 40;

struct Approval;

impl NostrConnectSignerActions for Approval {
    fn approve(&self, _: &PublicKey, _: &NostrConnectRequest) -> bool {
        true
    }
}

/// Serves over a relay until standard input ends.
pub(crate) fn serve(relay: &str) -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serving(relay))
}

async fn serving(relay: &str) -> Result<(), Box<dyn Error>> {
    let keys = NostrConnectKeys::new(Keys::generate(), Keys::generate());
    let signer = NostrConnectRemoteSigner::new(keys, [relay], None, None)?;
    let uri = signer.bunker_uri();
    let served = tokio::spawn(async move { signer.serve(Approval).await });
    await_answer(&uri).await?;
    writeln!(io::stdout(), "{}", json!({"ok": true, "bunker": uri.to_string()}))?;
    let (mut input, mut dropped) = (stdin(), Vec::new());
    tokio::select! {
        ended = served => Ok(ended??),
        read = input.read_to_end(&mut dropped) => Ok(read.map(drop)?),
    }
}

/// Sends requests until one is answered: the crate does not report when it has subscribed.
async fn await_answer(uri: &NostrConnectUri) -> Result<(), Box<dyn Error>> {
    let mut last = None;
    for _ in 0..PROBES {
        let client = NostrConnect::new(uri.clone(), Keys::generate(), PROBE, None)?;
        let asked = client.get_public_key_async().await;
        client.shutdown().await;
        match asked {
            Ok(_) => return Ok(()),
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or_else(|| "the signer was not asked".into(), Into::into))
}
