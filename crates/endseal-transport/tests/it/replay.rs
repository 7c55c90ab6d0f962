//! Replay windows of several senders. (One of them alone is tested where it is.)

use endseal_transport::{PeerId, ReplayError, ReplayWindows};

#[test]
fn senders_have_windows_of_their_own_and_none_is_forgotten_for_another() {
    let peer = |n| PeerId::from_bytes(&[n; 32]);
    let mut windows = ReplayWindows::new(2);
    assert_eq!(windows.accept(peer(1), 5), Ok(()));
    assert_eq!(windows.accept(peer(2), 5), Ok(()));
    assert_eq!(windows.accept(peer(1), 5), Err(ReplayError::Replayed));
    assert_eq!(windows.accept(peer(3), 5), Err(ReplayError::TooManySenders));
    assert_eq!(windows.accept(peer(2), 6), Ok(()), "those who are known have room");
    windows.forget(&peer(2));
    assert_eq!(windows.accept(peer(3), 5), Ok(()));
    assert_eq!(windows.accept(peer(2), 5), Err(ReplayError::TooManySenders));
}
