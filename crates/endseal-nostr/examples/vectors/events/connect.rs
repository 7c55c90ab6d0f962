//! Cases of messages and URIs of NIP-46.

use serde_json::{Value, json};

use super::{accepted, hex, public_key, refused};

pub(super) fn cases() -> Vec<Value> {
    let mut cases = Vec::new();
    uris(&mut cases);
    malformed_uris(&mut cases);
    requests(&mut cases);
    malformed_requests(&mut cases);
    responses(&mut cases);
    cases
}

fn uris(cases: &mut Vec<Value>) {
    let key = "83f3b2ae6aa368e8275397b9c26cf550101d63ebaab900d19dd4a4429f5ad8f5";
    let example = "nostrconnect://83f3b2ae6aa368e8275397b9c26cf550101d63ebaab900d19dd4a4429f5ad8f5\
        ?relay=wss%3A%2F%2Frelay1.example.com&perms=nip44_encrypt%2Cnip44_decrypt%2Csign_event%3A13\
        %2Csign_event%3A14%2Csign_event%3A1059&name=My+Client&secret=0s8j2djs&relay=wss%3A%2F%2F\
        relay2.example2.com";
    let fields = json!({
        "key": key,
        "relays": ["wss://relay1.example.com", "wss://relay2.example2.com"],
        "ignored_relays": 0,
        "secret": "0s8j2djs",
        "permissions": "nip44_encrypt,nip44_decrypt,sign_event:13,sign_event:14,sign_event:1059",
        "name": "My Client",
    });
    cases.push(accepted("uri", "example of NIP-46", example, fields));
    let fields = |relays: Value, ignored: usize, secret: Value| json!({"key": key, "relays": relays, "ignored_relays": ignored, "secret": secret});
    let both = json!(["wss://r.x", "ws://b"]);
    let query = "relay=wss://r.x&relay=ws://b";
    let bunker = format!("bunker://{key}?{query}");
    let npub = npub(key);
    for (comment, uri, secret) in [
        ("relays that are not escaped", format!("{bunker}&secret=abc"), json!("abc")),
        ("no secret", bunker.clone(), Value::Null),
        ("an empty secret is none", format!("{bunker}&secret="), Value::Null),
        (
            "an unknown parameter, twice",
            format!("{bunker}&x=1&x=%zz&&secret=a%2Bb+c"),
            json!("a+b c"),
        ),
        ("a secret beyond ASCII", format!("{bunker}&secret=%C3%a9"), json!("é")),
        ("a scheme in upper case", format!("BUNKER://{key}?{query}"), Value::Null),
        ("npub", format!("bunker://{npub}?{query}&secret=abc"), json!("abc")),
        ("a slash behind the key", format!("bunker://{key}/?{query}"), Value::Null),
        ("a fragment", format!("{bunker}&secret=a#b&secret=c"), json!("a")),
        ("a space and a letter beyond ASCII", format!("{bunker}&secret=a é"), json!("a é")),
    ] {
        cases.push(accepted("uri", comment, uri, fields(both.clone(), 0, secret)));
    }
    let long = format!("wss://{}", "r".repeat(250));
    for (comment, relay) in [
        ("an empty relay", ""),
        ("a relay of another scheme", "https://r.y"),
        ("a relay without host", "wss://"),
        ("a relay with a line end", "wss://r.y%0a"),
        ("a relay beyond ASCII", "wss://%C3%A9"),
        ("a relay of 256 bytes", &long),
        ("a relay with a lone percent sign", "wss://r.y%"),
    ] {
        let uri = format!("bunker://{key}?relay={relay}&relay=wss://r.x&relay=ws://b");
        let comment = format!("{comment} before others");
        cases.push(accepted("uri", &comment, uri, fields(both.clone(), 1, Value::Null)));
    }
    let client = format!("nostrconnect://{key}?relay=wss://r.x&secret=abc");
    for (comment, rest, name, permissions) in [
        ("two names", "&name=a&name=b", json!("a"), ""),
        ("a name that is not UTF-8", "&name=%ff", Value::Null, ""),
        ("a name beyond ASCII, and a space", "&name=Café x", json!("Café x"), ""),
        ("malformed permissions", "&perms=sign_event:a, :1", Value::Null, "sign_event:a, :1"),
        ("permissions that cannot be decoded", "&perms=%zz", Value::Null, ""),
    ] {
        let fields = json!({
            "key": key, "relays": ["wss://r.x"], "ignored_relays": 0, "secret": "abc",
            "permissions": permissions, "name": name,
        });
        cases.push(accepted("uri", comment, format!("{client}{rest}"), fields));
    }
}

fn npub(key: &str) -> String {
    let mut out = [0; 63];
    let key = endseal_nostr::key::public_from_hex(key).expect("a public key");
    endseal_nostr::key::public_to_npub(&key, &mut out).expect("its length").to_owned()
}

fn malformed_uris(cases: &mut Vec<Value>) {
    let key = public_key();
    let query = "?relay=wss://r.x&secret=abc";
    let off_curve = hex(&super::key::off_curve());
    for (expect, comment, uri) in [
        ("scheme", "empty", String::new()),
        ("scheme", "another scheme", format!("nostr://{key}{query}")),
        ("scheme", "a letter beyond ASCII in the scheme", format!("bunkér://{key}{query}")),
        ("key", "no key", format!("bunker://{query}")),
        ("key", "npub with a wrong checksum", format!("bunker://npub1{}{query}", &key[..58])),
        ("key", "a key in upper case", format!("bunker://{}{query}", key.to_uppercase())),
        ("key", "a key off the curve", format!("bunker://{off_curve}{query}")),
        ("key", "two slashes behind the key", format!("bunker://{key}//{query}")),
        ("missing", "no query", format!("bunker://{key}")),
        ("missing", "no relay", format!("bunker://{key}?secret=abc")),
        ("missing", "a relay behind a fragment", format!("bunker://{key}#{query}")),
        ("missing", "a client without secret", format!("nostrconnect://{key}?relay=wss://r.x")),
        ("missing", "a client with an empty secret", {
            format!("nostrconnect://{key}?relay=wss://r.x&secret=")
        }),
        ("relay", "an empty relay alone", format!("bunker://{key}?relay=")),
        ("relay", "no relay of two", format!("bunker://{key}?relay=https://r.x&relay=%zz")),
        ("duplicate", "two secrets", format!("bunker://{key}{query}&secret=abc")),
        ("encoding", "a lone percent sign", format!("bunker://{key}?relay=wss://r.x&secret=%")),
        ("encoding", "one digit", format!("bunker://{key}?relay=wss://r.x&secret=a%4")),
        ("encoding", "no digits", format!("bunker://{key}?relay=wss://r.x&secret=%zz")),
        ("encoding", "a sign for a digit", format!("bunker://{key}?relay=wss://r.x&secret=%+1")),
        ("encoding", "not UTF-8", format!("bunker://{key}?relay=wss://r.x&secret=%ff")),
        ("secret", "a secret of 257 bytes", {
            format!("bunker://{key}?relay=wss://r.x&secret={}", "s".repeat(257))
        }),
        ("character", "a line end", format!("bunker://{key}{query}\n")),
        ("character", "a control character", format!("bunker://{key}{query}&x=\u{85}")),
        ("length", "4,097 bytes", {
            let uri = format!("bunker://{key}{query}&x=");
            format!("{uri}{}", "x".repeat(4_097 - uri.len()))
        }),
    ] {
        cases.push(refused("uri", expect, comment, uri));
    }
}

/// Adds requests with the values that they are parsed to.
fn requests(cases: &mut Vec<Value>) {
    let key = public_key();
    let event = r#"{\"kind\":1,\"content\":\"a \\\"b\\\"\",\"tags\":[],\"created_at\":1714078911}"#;
    let metadata = r#"{\"name\":\"My Client\",\"url\":\"https://x\",\"image\":null}"#;
    for (comment, method, params, written) in [
        ("ping", "ping", String::new(), Some(String::new())),
        ("get_public_key", "get_public_key", String::new(), Some(String::new())),
        ("switch_relays", "switch_relays", String::new(), Some(String::new())),
        ("logout", "logout", String::new(), Some(String::new())),
        ("a parameter too many", "ping", "\"a\"".to_owned(), Some(String::new())),
        ("a signer only", "connect", format!("\"{key}\""), Some(format!("\"{key}\",\"\",\"\""))),
        ("no signer, a secret", "connect", "\"\",\"abc\"".into(), Some("\"\",\"abc\",\"\"".into())),
        (
            "null for what is left out",
            "connect",
            "\"\",null,null".into(),
            Some("\"\",\"\",\"\"".into()),
        ),
        (
            "a malformed wish",
            "connect",
            "\"\",\"\",\"sign_event:a,:1\"".into(),
            Some("\"\",\"\",\"sign_event:a,:1\"".into()),
        ),
        (
            "metadata that are no object",
            "connect",
            "\"\",\"\",\"\",\"[]\"".into(),
            Some("\"\",\"\",\"\"".into()),
        ),
        (
            "a name that is a number",
            "connect",
            r#""","","","{\"name\":1}""#.into(),
            Some("\"\",\"\",\"\"".into()),
        ),
        (
            "metadata without permissions",
            "connect",
            format!("\"{key}\",\"abc\",\"\",\"{metadata}\""),
            Some(format!(
                "\"{key}\",\"abc\",\"\",\"{}\"",
                metadata.replace(",\\\"image\\\":null", "")
            )),
        ),
        (
            "five parameters",
            "connect",
            format!("\"{key}\",\"\",\"ping,sign_event:4\",\"\",\"x\""),
            Some(format!("\"{key}\",\"\",\"ping,sign_event:4\"")),
        ),
        (
            "an event",
            "sign_event",
            format!("\"{event}\""),
            Some(
                "\"{\\\"created_at\\\":1714078911,\\\"kind\\\":1,\\\"tags\\\":[],\
                 \\\"content\\\":\\\"a \\\\\\\"b\\\\\\\"\\\"}\""
                    .to_owned(),
            ),
        ),
        ("a text", "nip44_encrypt", format!("\"{key}\",\"a\\u0062\\n\""), {
            Some(format!("\"{key}\",\"ab\\n\""))
        }),
        ("a payload", "nip44_decrypt", format!("\"{key}\",\"Ag==\""), {
            Some(format!("\"{key}\",\"Ag==\""))
        }),
        (
            "an empty text",
            "nip04_encrypt",
            format!("\"{key}\",\"\""),
            Some(format!("\"{key}\",\"\"")),
        ),
        ("a payload of NIP-04", "nip04_decrypt", format!("\"{key}\",\"AA==?iv=AA==\""), {
            Some(format!("\"{key}\",\"AA==?iv=AA==\""))
        }),
    ] {
        let request = |params: &str| {
            format!("{{\"id\":\"7f\",\"method\":\"{method}\",\"params\":[{params}]}}")
        };
        let fields =
            json!({"id": "7f", "method": method, "written": written.map(|it| request(&it))});
        cases.push(accepted("request", comment, request(&params), fields));
    }
    let written = |id: &str| format!("{{\"id\":\"{id}\",\"method\":\"ping\",\"params\":[]}}");
    for (comment, input, id, escaped) in [
        (
            "an id of any characters",
            written("a/<>\\\"é\\u0001"),
            "a/<>\"é\u{1}",
            "a/<>\\\"é\\u0001",
        ),
        ("an empty id", written(""), "", ""),
        ("no parameters", "{\"method\":\"\\u0070ing\",\"id\":\"1\"}".to_owned(), "1", "1"),
        (
            "parameters that are an object",
            "{\"params\":{\"a\":[]},\"method\":\"ping\",\"id\":\"1\"}".to_owned(),
            "1",
            "1",
        ),
        (
            "parameters that are null",
            "{\"params\":null,\"method\":\"ping\",\"id\":\"1\"}".to_owned(),
            "1",
            "1",
        ),
        (
            "other members",
            { "{\"params\":[],\"jsonrpc\":2.0,\"method\":\"ping\",\"id\":\"1\"}".to_owned() },
            "1",
            "1",
        ),
    ] {
        let fields = json!({"id": id, "method": "ping", "written": written(escaped)});
        cases.push(accepted("request", comment, input, fields));
    }
}

fn malformed_requests(cases: &mut Vec<Value>) {
    let key = public_key();
    let off_curve = hex(&super::key::off_curve());
    // Requests that have an id and are answered with an error.
    for (expect, comment, method, params) in [
        ("method", "an unknown method", "nip44_decrypt_batch", String::new()),
        ("method", "an empty method", "", String::new()),
        ("method", "a method in upper case", "PING", String::new()),
        ("method", "an unknown method and an object", "nosuch", "{\"a\":1}".to_owned()),
        ("params", "an event that is an object", "sign_event", "{\"kind\":1}".to_owned()),
        ("params", "a text that is a number", "nip44_encrypt", format!("\"{key}\",1")),
        ("params", "no signer", "connect", String::new()),
        ("params", "no event", "sign_event", String::new()),
        ("params", "no text", "nip44_encrypt", format!("\"{key}\"")),
        ("params", "half a pair in a text", "nip44_encrypt", format!(r#""{key}","a\ud83d""#)),
        ("params", "the wrong half", "nip04_encrypt", format!(r#""{key}","\ude00\ud83d""#)),
        ("params", "no payload", "nip04_decrypt", format!("\"{key}\"")),
        ("key", "no key", "nip44_encrypt", "\"\",\"a\"".to_owned()),
        ("key", "a key off the curve", "nip44_decrypt", format!("\"{off_curve}\",\"a\"")),
        (
            "key",
            "a key in upper case",
            "nip04_encrypt",
            format!("\"{}\",\"a\"", key.to_uppercase()),
        ),
        ("event", "an event that is null", "sign_event", "null".to_owned()),
        ("event", "an event that is cut", "sign_event", "\"{\"".to_owned()),
        ("event", "an event without content", "sign_event", {
            r#""{\"kind\":1,\"tags\":[],\"created_at\":1}""#.to_owned()
        }),
        ("event", "an event with two kinds", "sign_event", {
            r#""{\"kind\":1,\"kind\":4,\"content\":\"\",\"tags\":[],\"created_at\":1}""#.to_owned()
        }),
        ("secret", "a secret of 257 bytes", "connect", format!("\"\",\"{}\"", "s".repeat(257))),
    ] {
        let input = format!("{{\"id\":\"7f\",\"method\":\"{method}\",\"params\":[{params}]}}");
        let mut case = refused("request", expect, comment, input);
        case["id"] = "7f".into();
        cases.push(case);
    }
    let ping = r#"{"id":"1","method":"ping","params":[]}"#;
    for (comment, input) in [
        ("no method", ping.replace("\"method\"", "\"Method\"")),
        ("a method that is null", ping.replace("\"ping\"", "null")),
        ("a method that is an object", ping.replace("\"ping\"", "{}")),
    ] {
        let mut case = refused("request", "method", comment, input);
        case["id"] = "1".into();
        cases.push(case);
    }
    for (expect, comment, input) in [
        ("unexpected", "empty", String::new()),
        ("unexpected", "an array", format!("[{ping}]")),
        ("unexpected", "an id that is a number", ping.replace("\"1\"", "1")),
        ("unexpected", "parameters that are cut", ping.replace("[]", "{")),
        ("missing", "a result and no method", r#"{"id":"1","result":"pong"}"#.to_owned()),
        ("missing", "an error and no method", r#"{"id":"1","error":null,"params":[]}"#.to_owned()),
        ("missing", "no id", ping.replace("\"id\"", "\"ID\"")),
        ("duplicate", "two methods", ping.replace('}', ",\"method\":\"logout\"}")),
        ("duplicate", "two ids", ping.replace('}', ",\"\\u0069d\":\"2\"}")),
        ("surrogate", "half a pair in the id", ping.replace("\"1\"", "\"\\ud800\"")),
        ("surrogate", "half a pair in the method", ping.replace("ping", "\\udc00")),
        ("depth", "arrays for parameters", ping.replace("[]", &"[".repeat(2_000))),
        ("trailing", "two messages", format!("{ping}{ping}")),
    ] {
        cases.push(refused("request", expect, comment, input));
    }
    let bomb = ping.replace("\"id\"", &format!("\"x\":{},\"id\"", "[".repeat(2_000)));
    cases.push(refused("request", "depth", "a bomb in another member", bomb));
}

fn responses(cases: &mut Vec<Value>) {
    let with = |members: &str| format!("{{\"id\":\"7f\",{members}}}");
    for (comment, members, kind, value, written) in [
        ("a result", r#""result":"ack""#, "text", "ack", r#""result":"ack""#),
        (
            "a result and no error",
            r#""result":"a\u0062","error":"""#,
            "text",
            "ab",
            r#""result":"ab""#,
        ),
        (
            "an error that is null",
            r#""error":null,"result":"ack""#,
            "text",
            "ack",
            r#""result":"ack""#,
        ),
        ("an empty result", r#""result":"""#, "text", "", r#""result":"""#),
        ("relays", r#""result":"[\"wss://r.x\"]""#, "text", r#"["wss://r.x"]"#, {
            r#""result":"[\"wss://r.x\"]""#
        }),
        ("relays that stay", r#""result":"null""#, "text", "null", r#""result":"null""#),
        ("a result that is null", r#""result":null"#, "unchanged", "", r#""result":"null""#),
        ("an error", r#""error":"no \"way\"""#, "error", "no \"way\"", r#""error":"no \"way\"""#),
        (
            "an error beside a result",
            r#""result":"x","error":"no""#,
            "error",
            "no",
            r#""error":"no""#,
        ),
        ("a page", r#""result":"auth_url","error":"https://x""#, "auth_url", "https://x", {
            r#""result":"auth_url","error":"https://x""#
        }),
    ] {
        let fields = json!({"id": "7f", "answer": kind, "value": value, "written": with(written)});
        cases.push(accepted("response", comment, with(members), fields));
    }
    for (expect, comment, input) in [
        ("missing", "neither result nor error", "{\"id\":\"7f\"}".to_owned()),
        ("missing", "an empty error only", with(r#""error":"""#)),
        ("missing", "an error of null only", with(r#""error":null"#)),
        ("missing", "no id", "{\"result\":\"ack\"}".to_owned()),
        ("unexpected", "a result that is an object", with(r#""result":{}"#)),
        ("unexpected", "a result that is true", with(r#""result":true"#)),
        ("unexpected", "an error that is a number", with(r#""error":1"#)),
        ("unexpected", "an id that is null", "{\"id\":null,\"result\":\"ack\"}".to_owned()),
        ("duplicate", "two results", with(r#""result":"a","result":"b""#)),
        ("duplicate", "a result and null", with(r#""result":null,"result":"b""#)),
        ("surrogate", "half a pair", with(r#""result":"\ud800""#)),
        ("trailing", "a second value", format!("{} 1", with(r#""result":"a""#))),
    ] {
        cases.push(refused("response", expect, comment, input));
    }
}
