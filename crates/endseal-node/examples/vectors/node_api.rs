//! Lines with requests: docs/spec/node-api.md.

use std::path::Path;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::identity::PublicIdentity;
use endseal_keyring::IdentityText;
use endseal_node::api::Request;
use endseal_testing::Vector;

use super::node::identity;

const GROUP: &str = "00112233445566778899aabbccddeeff";

pub(crate) fn write_all(dir: &Path) {
    accepted(dir);
    refused(dir);
    let not_utf8 = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"stat\xffus\"}";
    Vector::new("refused-not-utf8", "a byte that UTF-8 does not have", "-32700")
        .with_hex("line_hex", not_utf8)
        .with("id", "null")
        .write(dir);
}

fn person() -> String {
    let key = PublicKey::from_bytes(&identity(1)).unwrap();
    IdentityText::from(PublicIdentity::short(key)).to_string()
}

/// A line with the id 1.
fn line(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

fn say(texts: &str) -> String {
    line("say", &format!(r#"{{"to":"{}","texts":{texts}}}"#, person()))
}

fn accepted(dir: &Path) {
    let person = person();
    let with =
        |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"status","params":{{}}}}"#);
    for (name, comment, line) in [
        ("version", "the version of the interface", line("version", "{}")),
        ("no-params", "no parameters", r#"{"jsonrpc":"2.0","id":1,"method":"status"}"#.to_owned()),
        ("null-params", "no parameters, said by null", line("status", "null")),
        ("say-person", "a text to a person", say(r#"["at noon"]"#)),
        ("say-none", "no text", say("[]")),
        ("say-escapes", "all escapes, and a pair of surrogates", {
            say(r#"["\"\\\/\b\f\n\r\t\u00e9\u0000\u001F\ud83d\uDD11", ""]"#)
        }),
        ("say-letters", "letters beyond ASCII", say("[\"\u{e9}t\u{e9} \u{1f511}\u{2028}\u{7f}\"]")),
        ("say-group", "a text to a group, parameters in another order", {
            line("say", &format!(r#"{{"texts":["x"],"to":"{GROUP}"}}"#))
        }),
        ("answer", "an answer to a text of the inbox", {
            line("answer", r#"{"number":7,"texts":["yes"]}"#)
        }),
        ("answer-none", "a text that needs no answer", {
            line("answer", r#"{"texts":[],"number":18446744073709551615}"#)
        }),
        ("sync", "a sync that tries twice", line("sync", r#"{"attempts":2}"#)),
        ("mark-read", "numbers up to the last", {
            line("mark_read", r#"{"numbers":[0,1,18446744073709551615]}"#)
        }),
        ("backup", "a backup", line("backup", "{}")),
        ("history", "a page of a conversation", {
            line("history", &format!(r#"{{"with":"{person}","after":0,"limit":256}}"#))
        }),
        ("unsent", "texts that wait unencrypted", line("unsent", r#"{"after":3}"#)),
        ("unsend", "texts to a group that are cancelled", {
            line("unsend", &format!(r#"{{"to":"{GROUP}","numbers":[7,9]}}"#))
        }),
        ("unsend-all", "all texts to a person that have not left", {
            line("unsend_all", &format!(r#"{{"to":"{person}"}}"#))
        }),
        ("delete-texts", "texts of the history that are deleted", {
            line("delete_texts", &format!(r#"{{"with":"{person}","numbers":[1]}}"#))
        }),
        ("delete-texts-before", "texts of the history before a time", {
            let params = format!(r#"{{"with":"{person}","time":1790000000000}}"#);
            line("delete_texts_before", &params)
        }),
        ("requests", "texts of unknown senders", line("requests", r#"{"after":0}"#)),
        ("accept", "a request is accepted", {
            line("accept", &format!(r#"{{"person":"{person}"}}"#))
        }),
        ("block", "a person is blocked", line("block", &format!(r#"{{"person":"{person}"}}"#))),
        ("unblock", "a person is unblocked", {
            line("unblock", &format!(r#"{{"person":"{person}"}}"#))
        }),
        ("mute", "a person is unmuted", {
            line("mute", &format!(r#"{{"person":"{person}","is_muted":false}}"#))
        }),
        ("verify", "a safety number was compared", {
            line("verify", &format!(r#"{{"person":"{person}","is_verified":true}}"#))
        }),
        ("persons", "blocked and muted persons", line("persons", "{}")),
        ("teams", "known teams", line("teams", "{}")),
        ("members", "members of a team", {
            line("members", &format!(r#"{{"team":"{GROUP}","after":0}}"#))
        }),
        ("leave", "a team is left", line("leave", &format!(r#"{{"team":"{GROUP}"}}"#))),
        ("departures", "members who have left teams", line("departures", "{}")),
        ("devices", "devices of a person", line("devices", &format!(r#"{{"person":"{person}"}}"#))),
        ("name-device", "a device is named", {
            line("name_device", r#"{"device":7,"name":"Ann's phone"}"#)
        }),
        ("follow", "texts as they arrive", line("follow", r#"{"after":7}"#)),
        ("spaces", "white space wherever JSON has it, and members in another order", {
            " {\t\"params\" : { \"after\" :0 } ,\"method\":\"unread\", \"id\" : 1,\"jsonrpc\":\"2.0\"}\r"
                .to_owned()
        }),
        ("escaped-names", "escapes in names", {
            r#"{"jsonr\u0070c":"2\u002e0","id":1,"method":"\u0075nread","params":{"\u0061fter":5}}"#
                .to_owned()
        }),
        ("id-text", "an id that is a text", with(r#""a\u00e9\n""#)),
        ("id-long", "an id of 1,024 bytes", with(&format!("\"{}\"", "i".repeat(1_024)))),
        ("id-last", "the last id that is a number", with("18446744073709551615")),
    ] {
        let (id, request) = Request::read(line.as_bytes()).ok().unwrap();
        let written = request.to_line(&id).unwrap();
        let written = str::from_utf8(&written).unwrap().trim_end();
        Vector::new(name, comment, "ok")
            .with("line", &line)
            .with("id", &serde_json::to_string(&id).unwrap())
            .with("request", written)
            .write(dir);
    }
}

fn refused(dir: &Path) {
    let status = r#"{"jsonrpc":"2.0","id":1,"method":"status"}"#;
    let with = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"status"}}"#);
    let unread = |params: &str| line("unread", params);
    let parse = [
        ("empty", "nothing", String::new()),
        ("no-json", "words", "status".to_owned()),
        ("cut", "the end is missing", status[..status.len() - 1].to_owned()),
        ("two-values", "two requests on a line", [status, status].concat()),
        ("byte-order-mark", "a byte order mark", format!("\u{feff}{status}")),
        ("trailing-comma", "a comma behind the last member", status.replace('}', ",}")),
        ("nan", "NaN, which JSON does not have", unread(r#"{"after":NaN}"#)),
        ("zero-first", "a number that begins with 0", unread(r#"{"after":01}"#)),
        ("control-character", "a tab in a text", say("[\"a\tb\"]")),
        ("escape", "an escape that JSON does not have", say(r#"["\x41"]"#)),
    ];
    let invalid = [
        ("array", "several requests in an array", format!("[{status}]")),
        ("text", "a text", "\"status\"".to_owned()),
        ("no-members", "an object without members", "{}".to_owned()),
        ("version-1", "another version of JSON-RPC", status.replace("2.0", "1.0")),
        ("version-number", "the version as a number", status.replace("\"2.0\"", "2.0")),
        ("no-id", "a notification", status.replace("\"id\":1,", "")),
        ("id-null", "no id, said by null", with("null")),
        ("id-negative", "a negative id", with("-1")),
        ("id-fraction", "an id with a fraction", with("1.0")),
        ("id-long", "an id of 1,025 bytes", with(&format!("\"{}\"", "i".repeat(1_025)))),
        ("id-above", "2^64 as the id", with("18446744073709551616")),
        ("id-object", "an object as the id", with("{}")),
        ("id-surrogate", "half of a pair of surrogates", with(r#""\ud83d""#)),
        ("id-twice", "two ids", with("1,\"id\":1")),
        ("no-method", "no method", r#"{"jsonrpc":"2.0","id":1}"#.to_owned()),
        ("method-number", "a number as the method", status.replace("\"status\"", "1")),
        ("other-member", "a member that requests do not have", status.replace('}', ",\"x\":1}")),
    ];
    let unknown = [
        ("method", "a method that does not exist", line("shout", "{}")),
        ("method-capital", "a method in capitals", line("STATUS", "{}")),
        ("method-empty", "an empty method", line("", "{}")),
        ("method-quote", "a quote in the method", line(r#"status\",\"x"#, "{}")),
        ("method-before-params", "both are wrong: the method counts", line("shout", "[]")),
    ];
    let person = person();
    let long = "endseal1".to_owned() + &"q".repeat(58);
    let to = |to: &str| line("say", &format!(r#"{{"to":{to},"texts":[]}}"#));
    let params = [
        ("array", "parameters by position", unread("[0]")),
        ("number", "a number", unread("0")),
        ("missing", "a parameter is missing", unread("{}")),
        (
            "none",
            "all parameters are missing",
            r#"{"jsonrpc":"2.0","id":1,"method":"unread"}"#.to_owned(),
        ),
        ("other", "a parameter of another method", unread(r#"{"after":0,"limit":1}"#)),
        ("for-none", "a parameter where there is none", line("status", r#"{"after":0}"#)),
        ("twice", "a parameter twice", unread(r#"{"after":0,"after":0}"#)),
        ("negative", "a negative number", unread(r#"{"after":-1}"#)),
        ("minus-zero", "minus zero", unread(r#"{"after":-0}"#)),
        ("fraction", "a number with a fraction", unread(r#"{"after":1.0}"#)),
        ("exponent", "a number with an exponent", unread(r#"{"after":1e1}"#)),
        ("above", "2^64", unread(r#"{"after":18446744073709551616}"#)),
        ("digits", "a number in quotes", unread(r#"{"after":"1"}"#)),
        ("boolean", "true as a number", unread(r#"{"after":true}"#)),
        ("null", "null as a number", unread(r#"{"after":null}"#)),
        ("limit-zero", "a page without rows", {
            line("history", &format!(r#"{{"with":"{person}","after":0,"limit":0}}"#))
        }),
        ("attempts-above", "2^32 attempts", line("sync", r#"{"attempts":4294967296}"#)),
        ("numbers-text", "a text among numbers", line("mark_read", r#"{"numbers":[1,"2"]}"#)),
        ("surrogate-high", "the first half of a pair of surrogates", say(r#"["\ud83d"]"#)),
        ("surrogate-low", "the second half", say(r#"["\udd11"]"#)),
        ("surrogate-order", "both in the wrong order", say(r#"["\udd11\ud83d"]"#)),
        ("surrogate-split", "a letter between both", say(r#"["\ud83dx\udd11"]"#)),
        ("texts-one", "a text where texts are expected", say("\"x\"")),
        ("texts-number", "a number among texts", say("[1]")),
        ("texts-null", "null among texts", say("[null]")),
        ("to-empty", "an empty receiver", to("\"\"")),
        ("to-number", "a number as receiver", to("1")),
        ("to-checksum", "an identity with a wrong checksum", to(&format!("\"{long}\""))),
        ("to-capitals", "an identity in capitals", to(&format!("\"{}\"", person.to_uppercase()))),
        ("to-space", "a space behind an identity", to(&format!("\"{person} \""))),
        ("to-group-31", "31 digits of a group", to(&format!("\"{}\"", &GROUP[1..]))),
        ("to-group-capitals", "a group in capitals", to(&format!("\"{}\"", GROUP.to_uppercase()))),
        ("name-empty", "an empty name of a device", {
            line("name_device", r#"{"device":7,"name":""}"#)
        }),
        ("name-long", "a name of 65 bytes", {
            line("name_device", &format!(r#"{{"device":7,"name":"{}"}}"#, "x".repeat(65)))
        }),
        ("name-blank", "a name that ends in a blank", {
            line("name_device", r#"{"device":7,"name":"phone "}"#)
        }),
        ("name-control", "a line end in a name", {
            line("name_device", r#"{"device":7,"name":"a\nb"}"#)
        }),
        ("name-device", "a device above 32 bits", {
            line("name_device", r#"{"device":4294967296,"name":"phone"}"#)
        }),
        ("person-group", "a group where a person is expected", {
            line("devices", &format!(r#"{{"person":"{GROUP}"}}"#))
        }),
    ];
    write_refused(dir, "parse", -32700, &parse);
    write_refused(dir, "request", -32600, &invalid);
    write_refused(dir, "method", -32601, &unknown);
    write_refused(dir, "params", -32602, &params);
}

fn write_refused(dir: &Path, class: &str, code: i32, lines: &[(&str, &str, String)]) {
    for (name, comment, line) in lines {
        let (id, error) = Request::read(line.as_bytes()).err().unwrap();
        assert_eq!(error.code, code, "{class} {name}");
        Vector::new(&format!("refused-{class}-{name}"), comment, &code.to_string())
            .with("line", line)
            .with("id", &serde_json::to_string(&id).unwrap())
            .write(dir);
    }
}
