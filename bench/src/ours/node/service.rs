//! A person's service (`endseal up`) in a thread of its own.

use core::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

use endseal_node::local::LocalClient;
use endseal_node::messages::LetterKeys;
use endseal_node::service::{DialError, Dialed, Service, ServiceEvent, ServiceOptions};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::person::Person;
use super::wire::Link;
use crate::ours::sessions::folder::Failure;

/// A service that runs. [`Self::stop`] gives the person back.
pub(super) struct Running {
    pub(super) client: LocalClient,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<Person, String>>,
}

/// Starts the service of a person, which reaches the hub at `hub`. `connected` is told when the
/// service is there and has nothing to receive or send.
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
            let dial = async || match person.connect(hub).await {
                Ok(Link { endpoint, connection }) => Ok(Dialed { endpoint, connection }),
                Err(error) => Err(DialError { cause: error.to_string(), is_transient: true }),
            };
            let notify = |event| {
                if event == ServiceEvent::Connected {
                    // A second connection is told to none.
                    let _ = connected.send(());
                }
            };
            let stop = async {
                let _ = stopped.await;
            };
            let keys = LetterKeys::new(&person.home, &person.device);
            service.run(&mut engine, &person.record, &keys, dial, notify, stop).await;
            Ok::<_, String>(())
        })?;
        drop(engine);
        Ok(person)
    })?;
    // Nothing is sent: it ends when the socket is there, or the thread is gone.
    let _ = is_bound.recv();
    match LocalClient::find(&home)? {
        Some(client) => Ok(Running { client, stop, thread }),
        None => Err(match thread.join() {
            Ok(Err(why)) => why.into(),
            _ => "a service ended at once".into(),
        }),
    }
}

impl Running {
    /// Ends it.
    pub(super) fn stop(self) -> Result<Person, Failure> {
        let Self { stop, thread, .. } = self;
        // The service may have ended by itself, which the thread tells.
        let _ = stop.send(());
        Ok(thread.join().map_err(|_| "a service panicked")??)
    }
}
