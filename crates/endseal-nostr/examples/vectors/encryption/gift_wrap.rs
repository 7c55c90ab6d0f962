//! Cases of gift wraps, each built layer by layer.

use endseal_crypto::secp256k1::{PublicKey, SecretKey, SigningKey};
use endseal_crypto::sha256;

use super::case::{Case, fixed, hex};
use super::nip44;

fn key(name: &str) -> SigningKey {
    SigningKey::new(SecretKey::from_bytes(&fixed(name)).unwrap())
}

/// An event whose tags are JSON and whose content needs no escapes.
#[derive(Clone)]
struct Event {
    kind: u32,
    created_at: u64,
    tags: String,
    content: String,
}

impl Event {
    fn id(&self, author: &PublicKey) -> [u8; 32] {
        let Self { kind, created_at, tags, content } = self;
        let author = hex(&author.to_bytes());
        let text = format!("[0,\"{author}\",{created_at},{kind},{tags},\"{content}\"]");
        sha256::digest(text.as_bytes())
    }

    /// Returns the JSON of the event with `id`, without the last brace.
    fn open(&self, id: &[u8; 32], author: &PublicKey) -> String {
        let Self { kind, created_at, tags, content } = self;
        let (id, author) = (hex(id), hex(&author.to_bytes()));
        format!(
            "{{\"id\":\"{id}\",\"pubkey\":\"{author}\",\"created_at\":{created_at},\
             \"kind\":{kind},\"tags\":{tags},\"content\":\"{content}\""
        )
    }

    fn unsigned(&self, author: &PublicKey) -> String {
        format!("{}}}", self.open(&self.id(author), author))
    }

    fn signed(&self, author: &SigningKey) -> String {
        let id = self.id(author.public_key());
        let sig = author.sign(&id, &fixed("aux"));
        format!("{},\"sig\":\"{}\"}}", self.open(&id, author.public_key()), hex(&sig))
    }
}

/// All layers of a wrap.
struct Layers {
    author: SigningKey,
    receiver: SigningKey,
    once: SigningKey,
    rumor: Event,
    seal: Event,
    wrap: Event,
}

impl Layers {
    fn new() -> Self {
        let receiver = key("receiver");
        let tag = format!("[[\"p\",\"{}\"]]", hex(&receiver.public_key().to_bytes()));
        let event = |kind, created_at, tags: &str, content: &str| Event {
            kind,
            created_at,
            tags: tags.to_owned(),
            content: content.to_owned(),
        };
        Self {
            author: key("author"),
            receiver,
            once: key("once"),
            rumor: event(14, 1_700_000_000, &tag, "Are you there?"),
            seal: event(13, 1_699_900_000, "[]", ""),
            wrap: event(1059, 1_699_950_000, &tag, ""),
        }
    }

    fn rumor_json(&self) -> String {
        self.rumor.unsigned(self.author.public_key())
    }

    fn payload(&self, own: &SigningKey, peer: &SigningKey, plaintext: &str) -> String {
        let key = nip44::conversation_key(own.secret_key(), peer.public_key());
        nip44::payload(&key, &fixed("nonce"), plaintext.as_bytes())
    }

    fn seal_json(&self, rumor: &str) -> String {
        let content = self.payload(&self.author, &self.receiver, rumor);
        Event { content, ..self.seal.clone() }.signed(&self.author)
    }

    fn wrap_json(&self, seal: &str) -> String {
        let content = self.payload(&self.once, &self.receiver, seal);
        Event { content, ..self.wrap.clone() }.signed(&self.once)
    }

    fn case(&self, comment: &str, expect: &str, wrap: &str) -> Case {
        Case::new(comment, expect)
            .with_hex("receiver_secret", self.receiver.secret_key().expose_secret())
            .with("wrap", wrap)
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = unwrapped();
    cases.extend(wraps());
    cases.extend(seals());
    cases.extend(rumors());
    cases
}

fn unwrapped() -> Vec<Case> {
    let ok = |comment: &str, expiration: Option<u64>, change: &dyn Fn(&mut Layers)| {
        let mut layers = Layers::new();
        change(&mut layers);
        let rumor = layers.rumor_json();
        let wrap = layers.wrap_json(&layers.seal_json(&rumor));
        let lifetime = if layers.wrap.kind == 1059 { "stored" } else { "ephemeral" };
        let case = layers
            .case(comment, "ok", &wrap)
            .with_hex("author", &layers.author.public_key().to_bytes())
            .with("rumor", &rumor)
            .with("lifetime", lifetime);
        match expiration {
            Some(time) => case.with_number("expiration", time),
            None => case,
        }
    };
    let expiration = |time: u64| format!("[\"expiration\",\"{time}\"]");
    let mut cases = vec![
        ok("a message", None, &|_| {}),
        ok("a file", None, &|layers| {
            layers.rumor.kind = 15;
            layers.rumor.content = "https://example.org/3f".to_owned();
        }),
        ok("a reaction", None, &|layers| {
            layers.rumor.kind = 7;
            layers.rumor.content = "+".to_owned();
        }),
        ok("a deletion", None, &|layers| {
            layers.rumor.kind = 5;
            layers.rumor.content = String::new();
        }),
        ok("a note, in an ephemeral wrap", None, &|layers| {
            layers.rumor.kind = 1;
            layers.wrap.kind = 21059;
        }),
        ok("an expiration of the wrap", Some(1_700_600_000), &|layers| {
            layers.wrap.tags = format!("[{}]", expiration(1_700_600_000));
        }),
        ok(
            "an expiration of seal and wrap, that of the seal first",
            Some(1_700_500_000),
            &|layers| {
                layers.seal.tags = format!("[{}]", expiration(1_700_500_000));
                layers.wrap.tags = format!("[[\"p\",\"x\"],{}]", expiration(1_700_600_000));
            },
        ),
        ok("the author's own copy", None, &|layers| layers.receiver = key("author")),
    ];
    let layers = Layers::new();
    let rumor = layers.rumor_json();
    let seal = layers.seal_json(&rumor);
    let spaced = layers.wrap_json(&seal.replace(",\"", ", \"")).replace('/', "\\/");
    cases.push(
        layers
            .case("blanks between members, escaped slashes in the content", "ok", &spaced)
            .with_hex("author", &layers.author.public_key().to_bytes())
            .with("rumor", &rumor)
            .with("lifetime", "stored"),
    );
    cases
}

/// Returns `text` with the first digit after `member` changed.
fn other_digit(text: &str, member: &str) -> String {
    let at = text.find(&format!("\"{member}\":\"")).unwrap() + member.len() + 4;
    let digit = if text.as_bytes()[at] == b'0' { '1' } else { '0' };
    format!("{}{digit}{}", &text[..at], &text[at + 1..])
}

/// Returns refusals of the wrap.
fn wraps() -> Vec<Case> {
    let layers = Layers::new();
    let good = layers.wrap_json(&layers.seal_json(&layers.rumor_json()));
    let case = |comment: &str, expect: &str, wrap: &str| layers.case(comment, expect, wrap);
    let of_kind = |kind| {
        let mut layers = Layers::new();
        layers.wrap.kind = kind;
        layers.wrap_json(&layers.seal_json(&layers.rumor_json()))
    };
    let with_content = |content: &str| {
        let event = Event { content: content.to_owned(), ..layers.wrap.clone() };
        event.signed(&layers.once)
    };
    let mut other_receiver = Layers::new();
    other_receiver.receiver = key("another receiver");
    let misdirected = other_receiver.wrap_json(&other_receiver.seal_json(&layers.rumor_json()));
    vec![
        case("nothing", "wrap", ""),
        case("no object", "wrap", "[]"),
        case("a cut wrap", "wrap", &good[..good.len() - 1]),
        case("a byte behind the wrap", "wrap", &format!("{good}x")),
        case("no signature", "wrap", &format!("{}}}", good.split(",\"sig\"").next().unwrap())),
        case("a kind twice", "wrap", &good.replace("\"kind\":", "\"kind\":1059,\"kind\":")),
        case("a rumor alone", "wrap", &layers.rumor_json()),
        case("a seal alone", "kind", &layers.seal_json(&layers.rumor_json())),
        case("kind 1060", "kind", &of_kind(1060)),
        case("kind 1", "kind", &of_kind(1)),
        case("another id", "authentication", &other_digit(&good, "id")),
        case("another signature", "authentication", &other_digit(&good, "sig")),
        case("another time", "authentication", &good.replace("1699950000", "1699950001")),
        case(
            "an ephemeral wrap that is said to be stored",
            "authentication",
            &of_kind(21059).replace("21059", "1059"),
        ),
        case("for another receiver", "authentication", &misdirected),
        case("no payload in the wrap", "authentication", &with_content("")),
        case("a payload that is no Base64", "authentication", &with_content(&"*".repeat(132))),
        case("a payload of version 3", "version", &with_content(&format!("Aw{}", "A".repeat(130)))),
        case("a payload with '#'", "version", &with_content(&format!("#{}", "A".repeat(131)))),
    ]
}

/// Returns refusals of the seal.
fn seals() -> Vec<Case> {
    let changed = |comment: &str, expect: &str, change: &dyn Fn(&mut Layers)| {
        let mut layers = Layers::new();
        change(&mut layers);
        let wrap = layers.wrap_json(&layers.seal_json(&layers.rumor_json()));
        layers.case(comment, expect, &wrap)
    };
    let layers = Layers::new();
    let good = layers.seal_json(&layers.rumor_json());
    let text = |comment: &str, expect: &str, seal: &str| {
        layers.case(comment, expect, &layers.wrap_json(seal))
    };
    let with_tags = |comment: &str, tags: &'static str| {
        changed(comment, "seal", &|layers| layers.seal.tags = tags.to_owned()).lenient()
    };
    let sealed = |content: &str| {
        Event { content: content.to_owned(), ..layers.seal.clone() }.signed(&layers.author)
    };
    vec![
        with_tags("a seal with a p tag", "[[\"p\",\"x\"]]"),
        with_tags(
            "a seal with an expiration and another tag",
            "[[\"expiration\",\"1\"],[\"p\",\"x\"]]",
        ),
        with_tags("a seal with two expirations", "[[\"expiration\",\"1\"],[\"expiration\",\"2\"]]"),
        with_tags("a seal with an expiration that is no time", "[[\"expiration\",\"soon\"]]"),
        with_tags("a seal with an expiration of three texts", "[[\"expiration\",\"1\",\"\"]]"),
        changed("a seal of kind 14", "seal", &|layers| layers.seal.kind = 14).lenient(),
        changed("a wrap in a wrap", "seal", &|layers| layers.seal.kind = 1059).lenient(),
        text("no JSON in the wrap", "seal", "hello"),
        text("a rumor for the seal", "seal", &layers.rumor_json()),
        text("a byte behind the seal", "seal", &format!("{good}}}")),
        text("a seal with another id", "authentication", &other_digit(&good, "id")),
        text("a seal with another signature", "authentication", &other_digit(&good, "sig")),
        text(
            "a seal with another time",
            "authentication",
            &good.replace("1699900000", "1699900001"),
        ),
        text("a seal of version 1", "version", &sealed(&format!("AQ{}", "A".repeat(130)))),
        text("a seal without a payload", "authentication", &sealed("")),
        text("a seal for another receiver", "authentication", &{
            let mut other = Layers::new();
            other.receiver = key("another receiver");
            other.seal_json(&layers.rumor_json())
        }),
    ]
}

/// Returns refusals of the rumor.
fn rumors() -> Vec<Case> {
    let layers = Layers::new();
    let good = layers.rumor_json();
    let case = |comment: &str, expect: &str, rumor: &str| {
        layers.case(comment, expect, &layers.wrap_json(&layers.seal_json(rumor)))
    };
    let author = layers.author.public_key();
    let id = hex(&layers.rumor.id(author));
    let posing = layers.rumor.unsigned(key("the one who is posed as").public_key());
    vec![
        case("a rumor of another author than the seal", "author", &posing),
        case("a signed rumor", "rumor", &layers.rumor.signed(&layers.author)).lenient(),
        case(
            "a rumor with an empty signature",
            "rumor",
            &good.replace("\"id\"", "\"sig\":\"\",\"id\""),
        )
        .lenient(),
        case("a rumor without an id", "rumor", &good.replace(&format!("\"id\":\"{id}\","), ""))
            .lenient(),
        case("a rumor with another id", "rumor", &other_digit(&good, "id")).lenient(),
        case("a rumor with an empty id", "rumor", &good.replace(&id, "")).lenient(),
        case("a rumor with other content", "rumor", &good.replace("there?", "here?")).lenient(),
        case(
            "a rumor with its content twice",
            "rumor",
            &good.replace("\"content\"", "\"content\":\"x\",\"content\""),
        )
        .lenient(),
        case(
            "a rumor whose time is a fraction",
            "rumor",
            &good.replace("1700000000", "1700000000.5"),
        )
        .lenient(),
        case(
            "a rumor whose kind is text",
            "rumor",
            &good.replace("\"kind\":14", "\"kind\":\"14\""),
        )
        .lenient(),
        case("a byte behind the rumor", "rumor", &format!("{good}.")),
        case("no JSON in the seal", "rumor", "hello"),
    ]
}
