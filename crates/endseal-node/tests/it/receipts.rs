//! Receipts of a series of messages, without a connection.

use endseal_codec::{Codec as _, Content, Limits, Message, Receipt, ReceiptKind};
use endseal_node::transfer::{DueReceipts, Refusal, Unconfirmed};

fn id(n: u32) -> [u8; 16] {
    let mut id = [0; 16];
    id[..4].copy_from_slice(&n.to_le_bytes());
    id
}

fn receipt(message: &[u8]) -> Receipt {
    match Message::decode(message, Limits::default()).unwrap().content {
        Some(Content::Receipt(receipt)) => receipt,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_receipt_names_what_was_handed_over() {
    let mut due = DueReceipts::default();
    assert_eq!(due.take([9; 32], 7), None);
    for n in 0..256 {
        assert!(!due.is_due() && due.takes(b"team"));
        due.add(b"team", id(n));
    }
    assert!(due.is_due() && !due.takes(b"other"));
    let receipt = receipt(&due.take([9; 32], 7).unwrap());
    assert_eq!(
        (&*receipt.conversation, receipt.sender, receipt.timestamp),
        (&b"team"[..], [9; 32], 7)
    );
    assert_eq!(receipt.messages, (0..256).map(id).collect::<Vec<_>>());
    assert!(due.is_empty() && due.takes(b"other"));
}

#[test]
fn a_receipt_never_has_more_ids_than_the_contract_allows() {
    let mut due = DueReceipts::default();
    (0..1500).for_each(|n| due.add(b"team", id(n)));
    let lengths = [(); 2].map(|()| receipt(&due.take([9; 32], 0).unwrap()).messages.len());
    assert_eq!(lengths, [1024, 476]);
}

#[test]
fn a_sender_waits_when_4096_messages_have_no_receipt() {
    let mut waiting = Unconfirmed::default();
    let mut due = DueReceipts::default();
    for n in 0..4096 {
        assert!(waiting.has_room());
        waiting.add(id(n));
        due.add(b"c", id(n));
    }
    assert!(!waiting.has_room());
    for _ in 0..4 {
        let receipt = receipt(&due.take([9; 32], 0).unwrap());
        assert_eq!(waiting.confirm(&receipt), Ok(1024));
        assert!(waiting.has_room());
        assert_eq!(waiting.confirm(&receipt), Err(Refusal::Receipt), "not twice");
    }
    assert!(waiting.is_empty());
}

#[test]
fn a_receipt_of_another_kind_confirms_nothing() {
    let mut waiting = Unconfirmed::default();
    waiting.add(id(1));
    let read = Receipt {
        conversation: (*b"c").into(),
        kind: ReceiptKind::READ,
        messages: vec![id(1)],
        ..Receipt::default()
    };
    assert_eq!(waiting.confirm(&read), Err(Refusal::Order));
    assert!(!waiting.is_empty());
}
