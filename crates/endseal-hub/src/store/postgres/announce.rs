//! Announces changed devices to other processes, and hears of theirs (LISTEN, NOTIFY).

use core::future::poll_fn;
use std::thread;
use std::time::Duration;

use endseal_crypto::random::{OsRandom, Random as _};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, SimpleQueryMessage};

use super::link::Server;
use super::runtime;
use crate::store::{ChangeListener, DeviceRow, StorageError};

/// Devices in one notification, which may have 8,000 bytes.
const DEVICES: usize = 300;
/// Announcements that wait at most. Those that find no room are dropped: processes look at all
/// connected devices once a second.
const WAITING: usize = 16_384;
/// Longest wait for an answer while another connection is in a transaction.
const POOLED: Duration = Duration::from_secs(3);
/// Time after which a broken connection is made again.
const RETRY: Duration = Duration::from_secs(1);

/// Starts the thread. It ends when the returned sender is dropped.
pub(super) fn start(
    server: Server,
    listener: ChangeListener,
) -> Result<mpsc::Sender<DeviceRow>, StorageError> {
    let runtime = runtime()?;
    let mut process = [0; 8];
    OsRandom.fill(&mut process).map_err(|error| StorageError::Database(Box::new(error)))?;
    let process = format!("{:016x}", u64::from_le_bytes(process));
    let (sender, mut receiver) = mpsc::channel(WAITING);
    runtime.block_on(check(&server))?;
    let work = move || {
        runtime.block_on(async {
            loop {
                match serve(&server, &listener, &process, &mut receiver).await {
                    Ok(()) => return,
                    Err(cause) => {
                        tracing::warn!(
                            target: "hub", %cause,
                            "other processes are not heard; mailboxes are looked at once a second"
                        );
                        sleep(RETRY).await;
                    }
                }
            }
        });
    };
    let thread = thread::Builder::new().name("hub-announcer".to_owned());
    thread.spawn(work).map_err(|error| StorageError::Database(Box::new(error)))?;
    Ok(sender)
}

/// Checks that a connection stays the same one between its transactions, as prepared statements and
/// LISTEN need it: a pooler gives it to the other connection here.
async fn check(server: &Server) -> Result<(), StorageError> {
    let connect = async || {
        let (client, driver) = server.connect().await?;
        tokio::spawn(async move { drop(driver.await) });
        Ok::<_, StorageError>(client)
    };
    let (first, second) = (connect().await?, connect().await?);
    let number = async || {
        let rows = first.simple_query("SELECT pg_backend_pid()").await?;
        let number = rows.iter().find_map(|row| match row {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        Ok::<_, StorageError>(number)
    };
    let before = number().await?;
    second.batch_execute("BEGIN").await?;
    let after = timeout(POOLED, number()).await;
    second.batch_execute("ROLLBACK").await?;
    let after = after.map_err(|_| StorageError::Pooled)??;
    if after == before { Ok(()) } else { Err(StorageError::Pooled) }
}

async fn serve(
    server: &Server,
    listener: &ChangeListener,
    process: &str,
    receiver: &mut mpsc::Receiver<DeviceRow>,
) -> Result<(), StorageError> {
    let (client, mut driver) = server.connect().await?;
    let (heard, mut notifications) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| driver.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message
                && heard.send(notification).is_err()
            {
                return;
            }
        }
    });
    // A notification needs not survive a crash of the server.
    client.batch_execute("SET synchronous_commit = off; LISTEN endseal_hub").await?;
    let notify = client.prepare("SELECT pg_notify('endseal_hub', $1)").await?;
    let mut devices = Vec::new();
    loop {
        tokio::select! {
            notification = notifications.recv() => {
                let Some(notification) = notification else {
                    return Err(StorageError::Database("the connection has ended".into()));
                };
                if let Some((from, rows)) = notification.payload().split_once(' ')
                    && from != process
                {
                    let rows = rows.split(',').filter_map(|row| row.parse().ok());
                    listener(&rows.map(DeviceRow).collect::<Vec<_>>());
                }
            }
            received = receiver.recv_many(&mut devices, DEVICES) => {
                if received == 0 {
                    return Ok(());
                }
                devices.sort_unstable();
                devices.dedup();
                let rows: Vec<_> = devices.drain(..).map(|it: DeviceRow| it.0.to_string()).collect();
                client.execute(&notify, &[&format!("{process} {}", rows.join(","))]).await?;
            }
        }
    }
}
