//! Tests of a site over connections of their own, with headers that no browser would send.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use tokio::runtime::{Builder, Runtime};

use super::*;

const PLAIN: &str = "http://page.example:8080";
const TLS: &str = "https://page.example";

/// Site that runs until it is dropped.
struct Server {
    address: SocketAddr,
    host: &'static str,
    origin: &'static str,
    sessions: Arc<Sessions>,
    _runtime: Runtime,
}

/// Browser that is signed in.
struct Browser {
    cookie: String,
    token: String,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn values(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().filter_map(|it| it.split_once(": "));
        lines.filter(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }
}

impl Server {
    fn start(origin: &'static str) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let sessions = Arc::new(Sessions::default());
        let site = Site {
            name: "test",
            cookie: "test",
            sign_in: "test sign-in",
            origin: origin.parse().unwrap(),
            sessions: Arc::clone(&sessions),
        };
        runtime.spawn(site.serve(vec![listener], |_, visit| async move {
            if matches!(&visit, Visit::Show { path, .. } if path == "/slow") {
                tokio::time::sleep(core::time::Duration::from_secs(1)).await;
            }
            Response::new(match visit {
                Visit::Show { path, token } => format!("shown {path} {}", *token),
                Visit::Submit { path, form } => {
                    format!("submitted {path} {}", form.get("x").map_or(0, str::len))
                }
            })
        }));
        let (_, host) = origin.split_once("://").unwrap();
        Self { address, host, origin, sessions, _runtime: runtime }
    }

    fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        // The server may close the connection before it has read all of a body.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").expect(&text);
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// Sends a request with the right `Host` and these further lines.
    fn ask(&self, method: &str, path: &str, lines: &str, body: &str) -> Answer {
        let (host, len) = (self.host, body.len());
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{lines}Content-Length: {len}\r\n\r\n{body}"
        ))
    }

    fn link(&self) -> String {
        self.sessions.link().unwrap().0.to_string()
    }

    fn sign_in(&self, lines: &str) -> Answer {
        let answer = self.ask("POST", &self.link(), lines, "");
        assert_eq!(answer.status, 303);
        answer
    }

    fn browser(&self) -> Browser {
        let answer = self.sign_in("");
        let cookie = answer.values("set-cookie")[0].split(';').next().unwrap().to_owned();
        let shown = self.get(&cookie, "/");
        assert_eq!(shown.status, 200);
        Browser { cookie, token: shown.body.split(' ').nth(2).unwrap().to_owned() }
    }

    fn get(&self, cookie: &str, path: &str) -> Answer {
        self.ask("GET", path, &format!("Cookie: {cookie}\r\n"), "")
    }

    fn submit(&self, browser: &Browser, lines: &str, form: &str) -> Answer {
        self.ask("POST", "/a", &format!("Cookie: {}\r\n{lines}", browser.cookie), form)
    }
}

#[test]
fn a_request_for_another_host_is_refused_and_learns_no_name() {
    let server = Server::start(PLAIN);
    let browser = server.browser();
    for host in ["evil.example", "page.example", "127.0.0.1:8080", "localhost:8080", ""] {
        for path in ["/", "/style.css", "/sign-in/0"] {
            let cookie = &browser.cookie;
            let answer = server
                .send(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n"));
            assert_eq!(answer.status, 421, "{host} {path}");
            assert!(!format!("{}{}", answer.head, answer.body).contains("page.example"));
            assert!(answer.values("location").is_empty() && answer.values("set-cookie").is_empty());
        }
    }
    assert_eq!(server.send("GET / HTTP/1.0\r\n\r\n").status, 421);
    let form = format!("token={}&x=1", browser.token);
    let answer = server.send(&format!(
        "POST /a HTTP/1.1\r\nHost: evil.example\r\nCookie: {}\r\nContent-Length: {}\r\n\r\n{form}",
        browser.cookie,
        form.len()
    ));
    assert_eq!(answer.status, 421);
}

#[test]
fn a_form_of_another_origin_is_refused() {
    let server = Server::start(PLAIN);
    let browser = server.browser();
    let form = format!("token={}&x=1", browser.token);
    for origin in
        ["http://evil.example", "null", "http://page.example", "https://page.example:8080"]
    {
        let answer = server.submit(&browser, &format!("Origin: {origin}\r\n"), &form);
        assert_eq!(answer.status, 403, "{origin}");
        assert!(answer.body.contains("another site"), "{}", answer.body);
    }
    // A sign-in is a form, too: its link stays valid.
    let link = server.link();
    assert_eq!(server.ask("POST", &link, "Origin: http://evil.example\r\n", "").status, 403);
    assert_eq!(server.ask("POST", &link, "", "").status, 303);
    for lines in ["", &format!("Origin: {}\r\n", server.origin)] {
        assert_eq!(server.submit(&browser, lines, &form).body, "submitted /a 1");
    }
}

#[test]
fn a_form_needs_the_token_of_its_session() {
    let server = Server::start(PLAIN);
    let (browser, other) = (server.browser(), server.browser());
    assert!(browser.token != other.token && browser.cookie != other.cookie);
    for token in ["", &other.token, &browser.token[1..], browser.cookie.split('=').nth(1).unwrap()]
    {
        let answer = server.submit(&browser, "", &format!("token={token}&x=1"));
        assert_eq!(answer.status, 403, "{token}");
        assert!(answer.body.contains("another session"), "{}", answer.body);
    }
    assert_eq!(server.submit(&browser, "", "x=1").status, 403);
    let form = format!("token={}&x=1", browser.token);
    let unknown = Browser { cookie: "test=0".to_owned(), token: String::new() };
    assert_eq!(server.submit(&unknown, "", &form).status, 403);
    assert_eq!(server.submit(&browser, "", &form).status, 200);
    server.sessions.end_all();
    assert_eq!(server.submit(&browser, "", &form).status, 403);
    assert_eq!(server.get(&browser.cookie, "/").status, 403);
}

#[test]
fn a_browser_gets_back_to_a_page_of_the_site_alone() {
    let server = Server::start(PLAIN);
    let answer = server.ask("GET", "/request/7", "", "");
    assert_eq!(answer.status, 403);
    let next = answer.values("set-cookie")[0].split(';').next().unwrap();
    assert_eq!(next, "test_next=/request/7");
    let location = |next: &str| {
        let answer = server.sign_in(&format!("Cookie: a=b; {next}\r\n"));
        answer.values("location")[0].to_owned()
    };
    assert_eq!(location(next), "/request/7");
    for evil in ["//evil.example", "http://evil.example", "/\\evil.example", "evil", "/%2f"] {
        assert_eq!(location(&format!("test_next={evil}")), "/", "{evil}");
    }
    for (method, path) in [("GET", "//evil.example"), ("GET", "/a;b"), ("POST", "/a")] {
        assert!(server.ask(method, path, "", "").values("set-cookie").is_empty(), "{path}");
    }
}

#[test]
fn a_link_signs_in_by_its_button_alone_and_once() {
    let server = Server::start(PLAIN);
    let link = server.link();
    for method in ["GET", "GET", "HEAD"] {
        let answer = server.ask(method, &link, "", "");
        assert_eq!((answer.status, answer.values("set-cookie").len()), (200, 0), "{method}");
    }
    let answer = server.ask("POST", &link, "", "");
    assert_eq!((answer.status, answer.values("set-cookie").len()), (303, 2));
    for link in [link.as_str(), "/sign-in/", "/sign-in/0"] {
        let answer = server.ask("POST", link, "", "");
        assert_eq!((answer.status, answer.values("set-cookie").len()), (403, 0), "{link}");
    }
    for method in ["PUT", "DELETE", "OPTIONS"] {
        assert_eq!(server.ask(method, "/", "", "").status, 405, "{method}");
    }
}

#[test]
fn cookies_belong_to_one_host_and_with_tls_to_it_alone() {
    for (origin, prefix, end) in [(PLAIN, "", ""), (TLS, "__Host-", "; Secure")] {
        let server = Server::start(origin);
        let unknown = server.ask("GET", "/a", "", "");
        let next = unknown.values("set-cookie");
        let common = "; Path=/; HttpOnly; SameSite=Lax; Max-Age=";
        assert_eq!(next, [format!("{prefix}test_next=/a{common}600{end}")]);
        let answer = server.sign_in("");
        let cookies = answer.values("set-cookie");
        assert!(cookies[0].starts_with(&format!("{prefix}test=")), "{}", cookies[0]);
        assert!(cookies[0].ends_with(&format!("{common}43200{end}")), "{}", cookies[0]);
        assert_eq!(cookies[1], format!("{prefix}test_next={common}0{end}"));
        // Other hosts of a domain can set cookies without the prefix.
        let value = cookies[0].split([';', '=']).nth(1).unwrap();
        assert_eq!(server.get(&format!("{prefix}test={value}"), "/").status, 200);
        let other = if prefix.is_empty() { "__Host-test" } else { "test" };
        assert_eq!(server.get(&format!("{other}={value}"), "/").status, 403);
    }
}

#[test]
fn every_response_forbids_frames_other_scripts_and_copies() {
    let server = Server::start(PLAIN);
    let browser = server.browser();
    for answer in [
        server.get(&browser.cookie, "/a"),
        server.get("", "/a"),
        server.get("", "/style.css"),
        server.get("", "/refresh.js"),
        server.get("", "/decision.js"),
        server.ask("GET", &server.link(), "", ""),
        server.sign_in(""),
        server.send("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
        server.submit(&browser, "", ""),
    ] {
        let policy = answer.values("content-security-policy");
        assert_eq!(policy.len(), 1, "{}", answer.head);
        let mut parts: Vec<_> = policy[0].split("; ").collect();
        parts.sort_unstable();
        assert_eq!(
            parts,
            [
                "base-uri 'none'",
                "connect-src 'self'",
                "default-src 'none'",
                "form-action 'self'",
                "frame-ancestors 'none'",
                "script-src 'self'",
                "style-src 'self'",
            ]
        );
        for (name, value) in [
            ("cache-control", "no-store"),
            ("referrer-policy", "same-origin"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(answer.values(name), [value], "{}", answer.head);
        }
    }
}

#[test]
fn a_form_has_at_most_4_kib() {
    let server = Server::start(PLAIN);
    let browser = server.browser();
    let form = |len: usize| {
        let start = format!("token={}&x=", browser.token);
        format!("{start}{}", "a".repeat(len - start.len()))
    };
    assert_eq!(server.submit(&browser, "", &form(4_096)).status, 200);
    for len in [4_097, 8_000] {
        assert_eq!(server.submit(&browser, "", &form(len)).status, 403, "{len}");
    }
}

#[test]
fn idle_connections_keep_no_browser_out() {
    let server = Server::start(PLAIN);
    let browser = server.browser();
    // A request whose answer takes long is not ended for them.
    let slow = {
        let (host, cookie) = (server.host, &browser.cookie);
        let mut stream = TcpStream::connect(server.address).unwrap();
        write!(stream, "GET /slow HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n").unwrap();
        stream
    };
    let idle: Vec<_> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(b"G").unwrap();
            stream
        })
        .collect();
    let start = std::time::Instant::now();
    assert_eq!(server.get(&browser.cookie, "/").status, 200);
    assert!(start.elapsed() < core::time::Duration::from_secs(3), "{:?}", start.elapsed());
    let mut text = String::new();
    (&slow).read_to_string(&mut text).unwrap();
    assert!(text.contains("shown /slow"), "{text}");
    drop(idle);
}

#[test]
fn only_a_plain_path_is_kept_for_after_the_sign_in() {
    for path in ["/", "/request/123456"] {
        assert!(is_path(path), "{path}");
    }
    for path in ["", "x", "//evil.example", "/a?b", "/a;b", "/a b", "/\u{e9}", "/a\\b", "/."] {
        assert!(!is_path(path), "{path}");
    }
    assert!(!is_path(&format!("/{}", "a".repeat(100))));
}

#[test]
fn a_cookie_is_found_by_its_whole_name() {
    let mut headers = HeaderMap::new();
    headers.append(COOKIE, HeaderValue::from_static("a_next=/x; ab=1; a=2"));
    assert_eq!(value(&headers, "a"), Some("2"));
    assert_eq!(value(&headers, "a_next"), Some("/x"));
    assert_eq!(value(&headers, "b"), None);
}
