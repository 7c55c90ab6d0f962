//! `/readyz` reports whether the hub can work at present, and `/healthz` that it is running.

use std::env;
use std::net::SocketAddr;
use std::process::Command;

use endseal_codec::hub::{Answer, Code};
use endseal_hub::Hub;
use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::net::TcpListener;

use crate::metrics::ask;
use crate::puts::put_one;
use crate::world::{World, put};

/// Environment variable that marks the child process. The limit on file sizes applies to a whole
/// process, so the test runs in its own.
const CHILD: &str = "ENDSEAL_HUB_TEST_CHILD";
const TEST: &str = "readiness::a_hub_whose_disk_is_full_is_alive_and_not_ready";

/// Sets the maximum size of files that the process may write.
fn limit_files(len: Option<u64>) {
    setrlimit(Resource::Fsize, Rlimit { current: len, maximum: None }).unwrap();
}

async fn get(address: SocketAddr, path: &str) -> String {
    ask(address, format!("GET {path} HTTP/1.1\r\nHost: hub\r\n\r\n").as_bytes()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_whose_disk_is_full_is_alive_and_not_ready() {
    if World::new().path().is_none() {
        return;
    }
    if env::var_os(CHILD).is_none() {
        // While the signal is ignored, a write beyond the limit returns an error.
        let output = Command::new("sh")
            .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
            .arg(env::current_exe().unwrap())
            .args([TEST, "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    let hub: &Hub = world.hub.as_ref().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asking = async {
        for path in ["/healthz", "/readyz"] {
            assert!(get(address, path).await.starts_with("HTTP/1.1 200 OK\r\n"), "{path}");
        }
        limit_files(Some(0));
        let answer = put_one(&alice, put(&[&bob], &alice.frame(1, b"text"))).await;
        assert!(matches!(&answer, Answer::Refused(it) if it.code == Code::STORAGE), "{answer:?}");
        for _ in 0..2 {
            let answer = get(address, "/readyz").await;
            assert!(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{answer}");
            assert!(answer.ends_with("\r\n\r\nthe database cannot be written\n"), "{answer}");
        }
        assert!(get(address, "/healthz").await.starts_with("HTTP/1.1 200 OK\r\n"));
        // There is space again, and nothing has been written since.
        limit_files(None);
        assert!(get(address, "/readyz").await.starts_with("HTTP/1.1 200 OK\r\n"));
        let answer = put_one(&alice, put(&[&bob], &alice.frame(1, b"text"))).await;
        assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    };
    tokio::select! {
        () = hub.serve_metrics(listener) => panic!("it ended"),
        () = asking => {}
    }
}
