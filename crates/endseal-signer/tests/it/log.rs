//! Tests of the audit log, and of manipulated log records in the store.

use endseal_signer::{
    BoundedText, LoadError, LogEntry, LogFault, LogHead, LogVerdict, Matter, OpenSignerError,
    RecordError, SignerStore, VerifyError, verify_log,
};
use endseal_store::{OpenOptions, Store, WriteTransaction};

use crate::world::{NOW, PASSPHRASE, World};

const LINE: u32 = 5;
const HEAD: u32 = 6;

fn entry(app: u32) -> LogEntry {
    let mut entry = LogEntry::new(Matter::Request, NOW);
    entry.app = app;
    entry.verdict = LogVerdict::Allowed;
    entry.kind = Some(1);
    entry.text = BoundedText::new("phone").unwrap();
    entry
}

/// Creates a signer with a log of `count` lines and returns all its heads, starting with the empty
/// one.
fn with_lines(count: u32) -> (World, SignerStore, Vec<LogHead>) {
    let (world, mut signer) = World::new();
    let mut transaction = signer.begin().unwrap();
    let mut heads = vec![LogHead::START];
    heads.extend((1..=count).map(|app| transaction.append(entry(app)).unwrap()));
    transaction.commit().unwrap();
    (world, signer, heads)
}

#[test]
fn lines_are_numbered_and_chained_across_openings() {
    let (world, mut signer, heads) = with_lines(3);
    assert_eq!(signer.verify_log(None).unwrap(), heads[3]);
    drop(signer);
    let mut signer = world.open();
    assert_eq!(signer.state().head(), &heads[3]);
    let mut transaction = signer.begin().unwrap();
    let head = transaction.append(entry(4)).unwrap();
    transaction.commit().unwrap();
    assert_eq!(head.number, 4);
    for noted in heads.iter().chain([&head]) {
        assert_eq!(signer.verify_log(Some(noted)).unwrap(), head);
    }
    let lines = signer.log_lines(1, 2).unwrap();
    let found: Vec<_> = lines.iter().map(|line| (line.number, &line.entry, line.hash)).collect();
    assert_eq!(found, [(2, &entry(2), heads[2].hash), (3, &entry(3), heads[3].hash)]);
    assert_eq!(signer.log_lines(4, 2).unwrap(), []);
}

/// The log has more lines than a page.
#[test]
fn a_log_of_pages_is_verified() {
    let (world, signer, heads) = with_lines(2_500);
    drop(signer);
    let mut store = world.store();
    assert_eq!(verify_log(&store.read().unwrap(), Some(&heads[1_500])).unwrap(), heads[2_500]);
    let found = broken(&mut store, None, |transaction| {
        transaction.remove_record(LINE, &2_049_u64.to_be_bytes()).unwrap();
    });
    assert_eq!(found, (2_049, LogFault::Missing));
}

/// Changes the store in a transaction that is dropped, and returns the fault that verification
/// finds.
fn broken(
    store: &mut Store,
    noted: Option<&LogHead>,
    change: impl FnOnce(&WriteTransaction<'_>),
) -> (u64, LogFault) {
    let transaction = store.begin().unwrap();
    change(&transaction);
    match verify_log(&transaction, noted) {
        Err(VerifyError::Broken(broken)) => (broken.at, broken.fault),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_line_that_was_removed_changed_reordered_or_inserted_is_found() {
    let (world, signer, heads) = with_lines(5);
    drop(signer);
    let mut store = world.store();
    let name = u64::to_be_bytes;
    for number in 1..=5 {
        let found = broken(&mut store, None, |transaction| {
            assert!(transaction.remove_record(LINE, &name(number)).unwrap());
        });
        assert_eq!(found, (number, LogFault::Missing));

        // Each single byte of the line is changed.
        let value = store.read().unwrap().record(LINE, &name(number)).unwrap().unwrap();
        for at in 0..value.len() {
            let (at_line, fault) = broken(&mut store, None, |transaction| {
                let mut value = value.clone();
                value[at] ^= 1;
                transaction.put_record(LINE, &name(number), &value).unwrap();
            });
            assert_eq!(at_line, number, "{at}");
            assert!(matches!(fault, LogFault::Hash | LogFault::Record(_)), "{at}: {fault:?}");
        }

        let later = number % 5 + 1;
        let (at, fault) = broken(&mut store, None, |transaction| {
            let (a, b) = (name(number), name(later));
            let first = transaction.record(LINE, &a).unwrap().unwrap();
            let second = transaction.record(LINE, &b).unwrap().unwrap();
            transaction.put_record(LINE, &a, &second).unwrap();
            transaction.put_record(LINE, &b, &first).unwrap();
        });
        let expected = (number.min(later), LogFault::Record(RecordError::Value));
        assert_eq!((at, fault), expected);

        let (at, _) = broken(&mut store, None, |transaction| {
            for number in (number..=5).rev() {
                let value = transaction.record(LINE, &name(number)).unwrap().unwrap();
                transaction.put_record(LINE, &name(number + 1), &value).unwrap();
            }
        });
        assert_eq!(at, number + 1);
    }
    assert_eq!(verify_log(&store.read().unwrap(), None).unwrap(), heads[5]);
}

#[test]
fn an_end_that_was_cut_is_found_by_the_head_and_with_it_by_what_was_noted() {
    let (world, signer, heads) = with_lines(5);
    drop(signer);
    let mut store = world.store();
    let cut = |transaction: &WriteTransaction<'_>| {
        transaction.remove_record(LINE, &4_u64.to_be_bytes()).unwrap();
        transaction.remove_record(LINE, &5_u64.to_be_bytes()).unwrap();
    };
    assert_eq!(broken(&mut store, None, cut), (4, LogFault::Missing));
    let with_head = |transaction: &WriteTransaction<'_>| {
        cut(transaction);
        transaction.put_record(HEAD, &[], &heads[3].to_bytes()).unwrap();
    };
    assert_eq!(broken(&mut store, Some(&heads[5]), with_head), (5, LogFault::Noted));
    let no_head = |transaction: &WriteTransaction<'_>| {
        transaction.remove_record(HEAD, &[]).unwrap();
    };
    assert_eq!(broken(&mut store, None, no_head), (1, LogFault::Head));

    // A signer does not continue such a log.
    let transaction = store.begin().unwrap();
    cut(&transaction);
    transaction.commit().unwrap();
    store.close().unwrap();
    let opened = SignerStore::open(&world.path(), PASSPHRASE, OpenOptions::new());
    assert!(matches!(opened.err(), Some(OpenSignerError::Load(LoadError::Inconsistent(_)))));
}
