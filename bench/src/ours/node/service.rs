//! A person's service (`endseal up`) in a thread of its own.

use core::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

use endseal_node::api::Client;
use endseal_node::messages::NodeFiles;
use endseal_node::service::{DialError, Dialed, Service, ServiceEvent, ServiceOptions};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::person::Person;
use super::wire::Link;
use crate::subject::Failure;

/// A running service. [`Self::stop`] returns the person.
pub(super) struct Running {
    pub(super) client: Client,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<Person, String>>,
}

/// Starts the service of a person, which connects to the hub at `hub`. `connected` receives a
/// message when the service is running and has nothing to receive or send.
pub(super) fn start(
    person: Person,
    hub: SocketAddr,
    connected: Sender<()>,
) -> Result<Running, Failure> {
    let (stop, stopped) = oneshot::channel::<()>();
    let (bound, is_bound) = std::sync::mpsc::channel::<()>();
    let home = person.home.clone();
    let thread = thread::Builder::new().name("member".to_owned()).spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let mut engine = person.engine().map_err(|error| error.to_string())?;
        runtime.block_on(async {
            let service = Service::bind(&person.home, ServiceOptions::default());
            let service = service.map_err(|error| error.to_string())?;
            drop(bound);
            let dial = async |_: &str| match person.connect(hub).await {
                Ok(Link { endpoint, connection }) => {
                    Ok(Dialed { endpoint, connection, addresses: hub.to_string() })
                }
                Err(error) => Err(DialError { cause: error.to_string(), is_transient: true }),
            };
            let notify = |event| {
                if event == ServiceEvent::Connected {
                    // Only the first connection is reported.
                    let _ = connected.send(());
                }
            };
            let stop = async {
                let _ = stopped.await;
            };
            let files = NodeFiles::new(&person.home);
            let own = (&person.record, &person.device);
            service.run(&mut engine, own, &files, dial, notify, stop).await;
            Ok::<_, String>(())
        })?;
        drop(engine);
        Ok(person)
    })?;
    // Nothing is ever sent on this channel: it closes when the socket exists or the thread has
    // ended.
    let _ = is_bound.recv();
    match Client::find(&home)? {
        Some(client) => Ok(Running { client, stop, thread }),
        None => Err(match thread.join() {
            Ok(Err(why)) => why.into(),
            _ => "a service ended at once".into(),
        }),
    }
}

impl Running {
    /// Stops the service and returns the person.
    pub(super) fn stop(self) -> Result<Person, Failure> {
        let Self { stop, thread, .. } = self;
        // The service may have ended by itself; then joining the thread returns the reason.
        let _ = stop.send(());
        Ok(thread.join().map_err(|_| "a service panicked")??)
    }
}
