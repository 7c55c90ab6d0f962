//! Server side of the control socket.

use std::io;
use std::path::Path;

use endseal_service::control::{ControlLines, ControlSocket, to_line};

use super::handle::Handle;
use crate::control::{CommandError, Reply, Request, SOCKET};

/// Creates the socket. An existing one is a leftover, because a store has one owner at a time.
pub(super) fn listen(directory: &Path) -> io::Result<ControlSocket> {
    // The directory has mode 0700.
    ControlSocket::bind(&directory.join(SOCKET))
}

/// Serves commands, one on each connection, until the future is dropped.
pub(super) async fn serve(socket: &ControlSocket, handle: Handle) {
    let busy: Result<Reply, CommandError> = Err(CommandError::Busy);
    let busy = to_line(&busy).unwrap_or_default();
    socket.serve(&busy, |caller| answer(caller, handle.clone())).await;
}

async fn answer(mut caller: ControlLines, handle: Handle) {
    let Some(line) = caller.next().await else { return };
    let reply: Result<Reply, CommandError> = match serde_json::from_slice::<Request>(&line) {
        Ok(request) => match caller.until_closed(handle.request(request)).await {
            Some(reply) => reply,
            // The caller has disconnected. A command that has not started is not executed then.
            None => return,
        },
        // The parser's message would repeat what was sent, as a passphrase in the wrong place.
        Err(error) => {
            let message = format!("no command, from column {} on", error.column());
            Err(CommandError::Invalid(message))
        }
    };
    if let Ok(line) = to_line(&reply) {
        // If this fails, the caller sees that the connection closes.
        let _ = caller.send(&line).await;
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use endseal_service::control::ControlClient;
    use endseal_testing::Scratch;
    use tokio::sync::mpsc;
    use tokio::time::timeout;

    use super::*;
    use crate::control::Command;

    fn line(command: Command) -> Vec<u8> {
        to_line(&Request { command, secret: Default::default() }).unwrap().to_vec()
    }

    /// Callers of slow commands disconnect: the engine notices it, and others are served.
    #[tokio::test]
    async fn callers_who_gave_up_keep_no_place() {
        let scratch = Scratch::new();
        let directory = scratch.path("");
        let socket = listen(&directory).unwrap();
        let (calls, mut received) = mpsc::channel(16);
        let handle = Handle::new(calls, Default::default(), None);
        tokio::spawn(async move { serve(&socket, handle).await });
        let connect = || ControlClient::connect(&directory.join(SOCKET), None).unwrap();
        let mut waiting = Vec::new();
        for _ in 0..16 {
            let mut client = connect();
            client.send(&line(Command::Verify)).unwrap();
            waiting.push(received.recv().await.unwrap());
            drop(client);
        }
        let mut client = connect();
        client.send(&line(Command::Status)).unwrap();
        let call = timeout(Duration::from_secs(5), received.recv()).await;
        let call = call.expect("the places are free").unwrap();
        assert!(matches!(call.request.command, Command::Status));
        assert!(waiting.iter().all(|it| it.reply.is_closed()));
    }
}
