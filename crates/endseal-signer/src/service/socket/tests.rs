//! Connections that send nothing.

use std::time::Instant;

use endseal_testing::Scratch;
use tokio::runtime::Builder;
use tokio::sync::mpsc;

use super::*;
use crate::control::Command;
use crate::service::page::Sessions;

#[test]
fn connections_that_say_nothing_are_closed_and_keep_no_command_out() {
    let scratch = Scratch::new();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (calls, mut received) = mpsc::channel(16);
        let handle = Handle::new(calls, Arc::new(Sessions::default()), None);
        let listener = listen(scratch.folder()).unwrap();
        tokio::spawn(serve(listener, handle));
        tokio::spawn(async move {
            while let Some(crate::service::handle::Call { reply, .. }) = received.recv().await {
                assert!(reply.send(Ok(Reply::Done)).is_ok());
            }
        });
        let path = scratch.path(SOCKET);
        let connect = async || UnixStream::connect(&path).await.unwrap();
        let begin = Instant::now();
        let mut silent = Vec::new();
        for _ in 0..CONNECTIONS {
            silent.push(connect().await);
        }
        // More commands than there are places.
        for _ in 0..CONNECTIONS + 2 {
            let mut stream = connect().await;
            stream.write_all(&control::to_bytes(&Command::Lock, &[]).unwrap()).await.unwrap();
            let mut reply = Vec::new();
            stream.read_to_end(&mut reply).await.unwrap();
            assert!(String::from_utf8_lossy(&reply).contains("done"), "{reply:?}");
        }
        assert!(begin.elapsed() < FIRST_FRAME, "{:?}", begin.elapsed());
        // Those that are left have a second.
        for mut stream in silent {
            let mut reply = Vec::new();
            let ended = timeout(Duration::from_secs(8), stream.read_to_end(&mut reply)).await;
            assert!(ended.is_ok() && reply.is_empty());
        }
        assert!(begin.elapsed() >= FIRST_FRAME);
    });
}
