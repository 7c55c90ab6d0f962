//! Client of a remote signer.

use core::time::Duration;
use std::io::Write as _;
use std::path::Path;

use endseal_crypto::secret::Zeroizing;
use endseal_node::read_bounded;
use endseal_nostr::connect::{self, ConnectUri, MAX_URI};
use endseal_signer::client::{RemoteError, RemoteSigner, refused_relays};

use super::client_key;
use crate::ctx::{self, Ctx};
use crate::failure::Failure;
use crate::output::Input;
use crate::printable::{plural, printable};
use crate::{exposed, json, network};

/// A `bunker://` URL, and the timeout for an answer.
pub(super) struct Bunker {
    uri: Zeroizing<String>,
    timeout: Duration,
    /// True if `ws://` relays of every host are accepted.
    allow_private: bool,
}

impl Bunker {
    /// Accepts a URL as an argument, or reads it from a file or standard input.
    pub(super) fn read(
        typed: &str,
        timeout: Duration,
        allow_private: bool,
        ctx: &mut Ctx,
    ) -> Result<Self, Failure> {
        let is_typed = typed.contains("://");
        let uri = if is_typed {
            Zeroizing::new(typed.to_owned())
        } else {
            let path = Path::new(typed);
            exposed::warn(path, ctx);
            let input = Input::open(Some(path), ctx)?;
            let content = read_bounded(input.reader, path, MAX_URI + 2)?;
            let text = core::str::from_utf8(content.trim_ascii()).unwrap_or_default();
            Zeroizing::new(text.to_owned())
        };
        let mut buffer = Zeroizing::new(vec![0; uri.len()]);
        let bunker = parse(&uri, &mut buffer)?;
        warn_of_relays(&bunker, allow_private, ctx);
        let has_secret = bunker.secret.is_some();
        if is_typed && has_secret {
            ctx.note("warning: other processes can read the secret of a URL that is an argument");
        }
        Ok(Self { uri, timeout, allow_private })
    }

    /// Connects to the signer and calls `work` with it and the time in seconds since 1970.
    pub(super) fn ask<T>(
        &self,
        ctx: &mut Ctx,
        work: impl AsyncFnOnce(&mut RemoteSigner<'_>, u64) -> Result<T, RemoteError>,
    ) -> Result<T, Failure> {
        let mut buffer = Zeroizing::new(vec![0; self.uri.len()]);
        let bunker = parse(&self.uri, &mut buffer)?;
        let key = client_key::of(&bunker.signer, ctx)?;
        let as_json = ctx.global.json;
        network::run(as_json, async |mut interrupt| {
            let show = |url: &str| show_page(url, as_json, ctx);
            let now = ctx::now() / 1000;
            let mut signer = match self.allow_private {
                true => RemoteSigner::new_insecure(&bunker, key, now, |_| {}, show)?,
                false => RemoteSigner::new(&bunker, key, now, |_| {}, show)?,
            };
            signer.set_timeout(self.timeout);
            let asked = async {
                signer.connect(bunker.secret, now).await?;
                work(&mut signer, ctx::now() / 1000).await
            };
            let result = tokio::select! {
                result = asked => Ok(result?),
                () = interrupt.wait() => Err(network::interrupted()),
            };
            signer.close().await;
            result
        })
    }
}

fn parse<'b>(uri: &str, buffer: &'b mut [u8]) -> Result<connect::Bunker<'b>, Failure> {
    let no_uri = || Failure::usage("there is no bunker:// URL of a remote signer");
    match ConnectUri::parse(uri, buffer) {
        Ok(ConnectUri::Bunker(bunker)) => Ok(bunker),
        Ok(_) => Err(no_uri().hint("a nostrconnect:// URI is for: endseal signer connect")),
        Err(error) => Err(no_uri().because(&error)),
    }
}

/// Says which relays of a URL are not used, if others are.
fn warn_of_relays(bunker: &connect::Bunker<'_>, allow_private: bool, ctx: &mut Ctx) {
    if bunker.ignored_relays > 0 {
        let ignored = plural(bunker.ignored_relays as u64, "relay");
        ctx.note(&format!("warning: {ignored} of the URL cannot be used: no ws:// or wss:// URL"));
    }
    let refused: Vec<_> = refused_relays(bunker).filter(|_| !allow_private).collect();
    if refused.len() == bunker.relays.iter().count() {
        return;
    }
    for (relay, error) in refused {
        ctx.note(&format!("warning: '{}' is not used: {error}", printable(relay)));
    }
}

/// Shows the page on which the signer's user confirms. Without it the user could not, and the
/// command would wait until its timeout.
fn show_page(url: &str, as_json: bool, ctx: &mut Ctx) {
    let text = match as_json {
        true => json::line(&json::object([("confirm_at", url.into())])),
        false => format!("confirm at {}\n", printable(url)),
    };
    // If this fails, the signer refuses after some time.
    let _ = ctx.stderr.write_all(text.as_bytes());
}
