//! Serves a relay on this machine until standard input ends, and prints its URL. With `--auth` it
//! asks for authentication (NIP-42). For tests of programs that are not written in Rust.

use std::io::{self, Read as _, Write as _};

use endseal_test_relay::{Server, Settings};

fn main() -> io::Result<()> {
    let mut settings = Settings::default();
    settings.auth = std::env::args().any(|it| it == "--auth");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let address = ([127, 0, 0, 1], 0).into();
    let server = runtime.block_on(Server::bind(address, settings))?;
    writeln!(io::stdout(), "{}", server.url())?;
    io::stdin().read_to_end(&mut Vec::new())?;
    runtime.block_on(server.stop());
    Ok(())
}
