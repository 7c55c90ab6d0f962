//! Vectors of recorded upload ids, and of the uploads in a list that they are shown for.

use std::path::Path;

use endseal_testing::Vector;

use super::upload_id::{BACKEND, upload_id};
use super::{BUCKET, KEY, WRAPPING_KEY, base64, flipped, header, parked, place};

pub(super) fn write(dir: &Path) {
    let vector = |scenario: &str, comment: &str, expect: &str, listed: &str, record: &str| {
        Vector::new(scenario, comment, expect)
            .with("kind", "recorded-id")
            .with("bucket", BUCKET)
            .with("key", KEY)
            .with_hex("wrapping-key", &WRAPPING_KEY)
            .with("listed-id", listed)
            .with_json("record", &format!("\"{}\"", record.replace('\n', "\\n")))
    };
    let here = place(2, BUCKET, KEY);
    let make = |binding, place: &[u8], id: &str| {
        upload_id(1, &header(2, binding, 0), place, id.as_bytes())
    };
    let good = make(2, &here, BACKEND);
    for (scenario, comment, binding) in [
        ("recorded-id", "of an upload bound to its key", 2),
        ("recorded-id-unbound", "the object is bound to nothing, the id is", 0),
    ] {
        let text = base64(&make(binding, &here, BACKEND));
        vector(scenario, comment, "ok", BACKEND, &text)
            .with_json("demanded-binding", &binding.to_string())
            .with("record-key", &format!(".endseal/upload/{}/id", parked::id(BACKEND)))
            .write(dir);
    }
    let other = "2~another-upload-id";
    let text = base64(&good);
    for (scenario, comment, listed, record) in [
        ("recorded-id-other-upload", "the id of another upload of the key", other, text.clone()),
        ("recorded-id-longer", "the list's id goes on", "2~backend-upload-id2", text.clone()),
        ("recorded-id-shorter", "the list's id ends early", "2~backend-upload-i", text.clone()),
        ("recorded-id-flipped", "its tag flipped", BACKEND, {
            base64(&flipped(&good, good.len() - 1))
        }),
        ("recorded-id-backends", "the backend's own id", BACKEND, BACKEND.to_owned()),
        ("recorded-id-line", "a line end behind it", BACKEND, format!("{text}\n")),
        ("recorded-id-blank", "a blank before it", BACKEND, format!(" {text}")),
        ("recorded-id-twice", "the id twice", BACKEND, format!("{text}{text}")),
        ("recorded-id-cut", "a character short", BACKEND, text[..text.len() - 1].to_owned()),
        ("recorded-id-nothing", "nothing", BACKEND, String::new()),
    ] {
        vector(scenario, comment, "authentication", listed, &record)
            .with_json("demanded-binding", "2")
            .write(dir);
    }
    for (scenario, comment, bucket, key) in [
        ("recorded-id-other-key", "the id of an upload of another key", BUCKET, "folder/key2"),
        ("recorded-id-other-bucket", "the id of an upload in another bucket", "bucket2", KEY),
    ] {
        // The object is bound to nothing, so that only the id identifies bucket and key.
        let text = base64(&make(0, &place(2, bucket, key), BACKEND));
        vector(scenario, comment, "authentication", BACKEND, &text)
            .with_json("demanded-binding", "0")
            .write(dir);
    }
    let text = base64(&make(0, &here, BACKEND));
    vector("recorded-id-binding", "a binding that is too low", "authentication", BACKEND, &text)
        .with_json("demanded-binding", "2")
        .write(dir);
}
