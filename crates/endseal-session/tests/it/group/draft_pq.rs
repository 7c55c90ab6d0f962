//! Draft cipher suites with ML-KEM.

use endseal_session::group::{GroupError, Opened, Suite};

use super::device::{NOW, device};

#[test]
fn three_members_speak_under_a_draft_suite() {
    for suite in [Suite::DraftXWingAes128, Suite::DraftMlKem768Aes128] {
        let ours = |number| device(number).with_suites(&[suite]);
        let mut first = ours(1).create(b"team", NOW).unwrap();
        assert_eq!(first.suite(), Some(suite));
        let mut groups = Vec::new();
        for number in [2, 3] {
            let device = ours(number);
            let (package, secret) = device.key_package(suite, NOW).unwrap();
            let commit = first.add([package.as_slice()], NOW).unwrap();
            first.accept_pending().unwrap();
            for group in &mut groups {
                let group: &mut endseal_session::group::Group = group;
                group.open(&commit.commit).unwrap();
            }
            let find = |id: &[u8]| (id == secret.id).then(|| secret.data.clone());
            groups.push(device.join(&commit.welcome[0], find).unwrap().0);
        }
        let message = groups[1].seal(b"post-quantum").unwrap();
        assert!(matches!(first.open(&message), Ok(Opened::Message { .. })));
        assert!(matches!(groups[0].open(&message), Ok(Opened::Message { .. })));
        let commit = groups[0].update(NOW).unwrap().commit;
        assert!(first.open(&commit).is_ok());
        assert!(groups[1].open(&commit).is_ok());
    }
}

#[test]
fn a_draft_is_never_chosen_unless_asked_for() {
    assert!(!Suite::DEFAULT.contains(&Suite::DraftXWingAes128));
    let refused = device(1).key_package(Suite::DraftXWingAes128, NOW);
    assert_eq!(refused.err(), Some(GroupError::UnknownSuite));
    assert_eq!(device(1).create(b"team", NOW).unwrap().suite(), Some(Suite::X25519Aes128));
}
