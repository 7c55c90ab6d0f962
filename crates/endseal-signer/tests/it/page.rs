//! Tests of the approval page of a running signer, with an app that waits.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;

use endseal_nostr::event::{Tags, Template};
use endseal_nostr::key::SigningKey;
use endseal_signer::client::RemoteSigner;
use endseal_signer::control::{Command, Reply, WaitingView};
use endseal_test_relay::Settings;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::remote::{SHORT, Serving, note, now, parse, with_relay};
use crate::world::secret_key;

/// Sends a request to a URL below `localhost`. Returns the whole response.
async fn send(method: &'static str, url: String, lines: String) -> String {
    let exchange = move || {
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let port: u16 = host.split_once(".localhost:").unwrap().1.parse().unwrap();
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(
            stream,
            "{method} /{path} HTTP/1.1\r\nHost: {host}\r\n{lines}Content-Length: 0\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    spawn_blocking(exchange).await.unwrap()
}

async fn waiting(signer: &Serving, id: Option<u32>) -> WaitingView {
    match signer.command(Command::Waiting { id }).await {
        Ok(Reply::Waiting(mut waiting)) => waiting.remove(0),
        _ => panic!("nothing waits"),
    }
}

#[test]
fn one_request_is_shown_with_all_of_its_content() {
    with_relay(Settings::default(), async |relay| {
        let signer = Serving::start(relay).await;
        let uri = signer.invite_to_ask("sign").await;
        let mut buffer = vec![0; uri.len()];
        let bunker = parse(&uri, &mut buffer);
        let (key, named) = (SigningKey::new(secret_key(7)), Mutex::new(String::new()));
        let on_page = |url: &str| *named.lock().unwrap() = url.to_owned();
        let mut client = RemoteSigner::new(&bunker, key, now(), |_| {}, on_page).unwrap();
        client.connect(bunker.secret, now()).await.unwrap();
        let content = format!("{}the end", "a".repeat(3_000));
        let values: Vec<_> = (0..40).map(|at| format!("value {at} {}", "b".repeat(200))).collect();
        let tags: Vec<_> = values.iter().map(|it| vec!["t", it.as_str(), "last"]).collect();
        let tags: Vec<_> = tags.iter().map(Vec::as_slice).collect();
        let tags = Tags::List(&tags);
        let template = Template { content: content.as_str().into(), tags, ..note(1) };
        // No one decides meanwhile.
        assert!(timeout(SHORT, client.sign(&template, now())).await.is_err());
        let listed = waiting(&signer, None).await;
        assert!(listed.content.chars().count() <= 501 && listed.tags.len() == 20);
        assert_eq!((listed.content_length, listed.tag_count), (3_007, 40));
        let whole = waiting(&signer, Some(listed.id)).await;
        assert_eq!((whole.content.as_str(), whole.tags.len()), (content.as_str(), 40));
        for (tag, value) in whole.tags.iter().zip(&values) {
            assert_eq!(tag, &["t", value, "last"]);
        }

        // The page shows as much.
        let Ok(Reply::Link(link)) = signer.command(Command::SignIn).await else {
            panic!("no link")
        };
        let link = link.expose_secret().to_owned();
        let page = link.split_once("/sign-in/").unwrap().0.to_owned();
        let entered = send("POST", link, String::new()).await;
        let cookie = entered.split_once("set-cookie: ").unwrap().1.split(';').next().unwrap();
        let cookie = format!("Cookie: {cookie}\r\n");
        let url = format!("{page}/request/{}", listed.id);
        assert_eq!(*named.lock().unwrap(), url);
        let shown = send("GET", url.clone(), cookie.clone()).await;
        assert!(shown.contains("aaathe end</pre>"), "{shown}");
        assert!(values.iter().all(|it| shown.contains(it.as_str())), "{shown}");

        // After the sign-out the cookie is worth nothing.
        assert!(matches!(signer.command(Command::SignOut).await, Ok(Reply::SignedOut(1))));
        assert!(send("GET", url, cookie).await.starts_with("HTTP/1.1 403 "));
        signer.end().await;
    });
}
