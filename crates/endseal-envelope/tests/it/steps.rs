//! Marking steps changes no result, and every step has a mark.

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_envelope::steps::Step;
use endseal_envelope::steps::Step::{
    Agreement, Content, Encoding, Keys, Lookup, Signature, Sort, Wrap,
};
use endseal_envelope::{Opener, Policy, Recipients, Sealer, Suite};

const CONTEXT: &[u8] = b"endseal/tests@v1";

#[test]
fn every_step_is_marked_and_the_envelope_opens() {
    let sender = Identity::generate(&mut OsRandom).unwrap();
    let reader = Identity::generate(&mut OsRandom).unwrap();
    let recipients = Recipients::from_identities([reader.public()]).unwrap();
    // A content of two blocks, so that the second is hashed while it is encrypted.
    let content = vec![7; (4 << 20) + 1];
    for suite in [Suite::X25519, Suite::X25519Compact, Suite::X25519MlKem768] {
        let sealer = Sealer::new(&sender, &recipients, CONTEXT).suite(suite);
        let mut envelope =
            vec![0; usize::try_from(sealer.sealed_len(content.len() as u64).unwrap()).unwrap()];
        let (_, marked) = marked(|mut mark| {
            sealer.seal_marked(&content, &mut envelope, &mut OsRandom, &mut mark).unwrap()
        });
        assert_eq!(marked, [Keys, Agreement, Wrap, Sort, Content, Signature, Encoding]);

        let opener = Opener::new(&reader, CONTEXT);
        let plain = opener.open(&envelope, &mut Policy::new()).unwrap();
        let (opened, marked) = self::marked(|mut mark| {
            opener.open_marked(&envelope, &mut Policy::new(), &mut mark).unwrap()
        });
        assert_eq!(opened, plain);
        assert_eq!(opened.content, content);
        assert_eq!(marked, [Agreement, Wrap, Content, Signature, Lookup]);
    }
}

/// Runs `work` and returns the steps that it marked, each once, in the order of their declaration.
fn marked<T>(work: impl FnOnce(&mut dyn FnMut(Step)) -> T) -> (T, Vec<Step>) {
    let mut marked = Vec::new();
    let done = work(&mut |step| marked.push(step));
    marked.sort_unstable();
    marked.dedup();
    (done, marked)
}
