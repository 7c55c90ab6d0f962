//! Tests of the page with an engine that only notes its commands.

use core::net::SocketAddr;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::thread;

use endseal_service::browser_page::Sessions;
use tokio::runtime::Builder;
use tokio::sync::mpsc;

use super::*;
use crate::service::handle::Call;
use crate::words::tests::view;

const HOST: &str = "page.example";

/// Page with one waiting request, and a browser that is signed in.
struct Page {
    address: SocketAddr,
    cookie: String,
    decided: Arc<Mutex<Vec<String>>>,
}

impl Page {
    fn new(waiting: WaitingView) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (calls, mut received) = mpsc::channel::<Call>(1);
        let decided = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&decided);
        let engine = async move {
            while let Some(Call { request, reply }) = received.recv().await {
                let result = match request.command {
                    Command::Waiting { .. } => Reply::Waiting(vec![waiting.clone()]),
                    command => {
                        noted.lock().unwrap().push(serde_json::to_string(&command).unwrap());
                        Reply::Done
                    }
                };
                let _ = reply.send(Ok(result));
            }
        };
        let sessions = Arc::new(Sessions::default());
        let origin: endseal_service::browser_page::Origin =
            format!("http://{HOST}").parse().unwrap();
        let handle = Handle::new(calls, Arc::clone(&sessions), Some(origin.clone()));
        let link = sessions.link().unwrap();
        let site = Site { name: "test", cookie: COOKIE, sign_in: "sign-in", origin, sessions };
        // It serves until the tests end.
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                tokio::join!(engine, serve(site, handle, vec![listener]))
            })
        });
        let mut page = Self { address, cookie: String::new(), decided };
        let entered = page.send("POST", &link.0, "");
        let (_, cookie) = entered.split_once("set-cookie: ").unwrap();
        page.cookie = cookie.split(';').next().unwrap().to_owned();
        page
    }

    fn send(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let (cookie, len) = (&self.cookie, body.len());
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nCookie: {cookie}\r\nContent-Length: {len}\r\n\r\n{body}"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    /// Submits a form of the request. Returns the status and the commands that it caused.
    fn submit(&self, form: &str) -> (String, Vec<String>) {
        let shown = self.send("GET", "/request/7", "");
        let (_, token) = shown.split_once("name=\"token\" value=\"").unwrap();
        let token = token.split('"').next().unwrap();
        let answer = self.send("POST", "/request/7", &format!("token={token}&{form}"));
        let decided = core::mem::take(&mut *self.decided.lock().unwrap());
        (answer.split(' ').nth(1).unwrap().to_owned(), decided)
    }

    fn decides(&self, form: &str, command: &str) {
        assert_eq!(self.submit(form), ("303".to_owned(), vec![command.to_owned()]), "{form}");
    }

    fn decides_nothing(&self, form: &str) {
        assert_eq!(self.submit(form), ("400".to_owned(), Vec::new()), "{form}");
    }
}

#[test]
fn a_form_decides_what_its_page_has_shown() {
    let page = Page::new(view());
    page.decides("decision=deny&remember=", r#"{"deny":{"id":7,"remember":null}}"#);
    page.decides(
        "decision=deny&remember=always",
        r#"{"deny":{"id":7,"remember":{"lifetime":null}}}"#,
    );
    page.decides(
        "decision=allow&remember=",
        r#"{"approve":{"id":7,"remember":null,"requested":null}}"#,
    );
    page.decides(
        "decision=allow&remember=600",
        r#"{"approve":{"id":7,"remember":{"lifetime":600},"requested":null}}"#,
    );
    for form in ["decision=", "remember=600", "decision=allow&remember=x", "decision=Allow"] {
        page.decides_nothing(form);
    }
}

#[test]
fn all_that_an_app_asks_for_is_what_the_page_has_shown() {
    let mut view = view();
    view.requested = vec!["sign:1".to_owned(), "nip44_encrypt".to_owned()];
    let page = Page::new(view);
    let shown = page.send("GET", "/request/7", "");
    assert!(shown.contains("name=\"requested\" value=\"sign:1&#10;nip44_encrypt\""), "{shown}");
    // Browsers send line ends as CR LF. The app asks for something else meanwhile.
    let all = "decision=all&requested=sign:4%0D%0Aunwrap";
    page.decides_nothing(all);
    for (remember, lifetime) in [("", "2592000"), ("600", "600"), ("always", "null")] {
        page.decides(
            &format!("{all}&confirmed=on&remember={remember}"),
            &format!(
                r#"{{"approve":{{"id":7,"remember":null,"requested":{{"rules":["sign:4","unwrap"],"lifetime":{lifetime}}}}}}}"#
            ),
        );
    }
}

#[test]
fn kinds_that_act_elsewhere_need_a_second_step() {
    let box_of = |page: &Page| {
        let shown = page.send("GET", "/request/7", "");
        assert!(shown.contains("<form class=\"decision\"") && shown.contains("/decision.js\""));
        assert!(shown.contains("value=\"deny\" formnovalidate>"), "{shown}");
        shown.contains("<input type=\"checkbox\" name=\"confirmed\" required>")
    };
    for kind in endseal_nostr::policy::SENSITIVE_KINDS {
        let mut view = view();
        view.kind = Some(kind);
        let page = Page::new(view);
        assert!(box_of(&page), "{kind}");
        page.decides_nothing("decision=allow&remember=");
        page.decides("decision=deny&remember=", r#"{"deny":{"id":7,"remember":null}}"#);
        page.decides(
            "decision=allow&confirmed=on",
            r#"{"approve":{"id":7,"remember":null,"requested":null}}"#,
        );
    }
    for kind in [None, Some(1)] {
        let mut view = view();
        view.kind = kind;
        assert!(!box_of(&Page::new(view)), "{kind:?}");
    }
}
