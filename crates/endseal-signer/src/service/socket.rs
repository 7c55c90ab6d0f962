//! The socket for commands, from the signer's side.

use std::io;
use std::path::Path;

use endseal_transport::control::{ControlCall, ControlFrameError, ControlSocket};

use super::handle::Handle;
use crate::control::{CommandError, Reply, Request, SOCKET};

/// Makes the socket. One that is there was left behind: the store has one holder at a time.
pub(super) fn listen(directory: &Path) -> io::Result<ControlSocket> {
    // The directory has mode 0700.
    ControlSocket::bind(&directory.join(SOCKET))
}

/// Serves commands until it is dropped.
pub(super) async fn serve(socket: &ControlSocket, handle: Handle) {
    socket
        .serve(move |call| {
            let handle = handle.clone();
            async move {
                // The caller sees a connection that ends.
                let _ = answer(call, &handle).await;
            }
        })
        .await;
}

async fn answer(mut call: ControlCall, handle: &Handle) -> Result<(), ControlFrameError> {
    let secret = core::mem::take(&mut call.secret);
    let reply: Result<Reply, CommandError> = match call.parse() {
        Ok(command) => handle.request(Request { command, secret }).await,
        Err(ControlFrameError::Json(error)) => Err(CommandError::Invalid(error.to_string())),
        Err(error) => return Err(error),
    };
    call.reply(&reply, &[]).await
}
