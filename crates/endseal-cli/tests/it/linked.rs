//! `devices link` and `devices add`: a further device of a person.

use core::time::Duration;
use std::fs::File;
use std::thread::sleep;

use endseal_testing::Scratch;

use crate::devices::{address, friends};
use crate::messages::Hub;
use crate::people::Person;
use crate::up::Running;

#[test]
fn a_device_is_linked_while_another_command_has_its_store() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, _] = friends(&scratch, &hub);
    let phone = Person { name: "phone", scratch: &scratch };
    let hub_address = address(&alice);
    let args = ["devices", "link", "--no-passphrase", &hub_address];
    let mut link = Running::of(phone.command(&args));
    let text = link.line();

    // Commands say that the device is not ready, and give no advice that would spoil it.
    for args in [&["status"][..], &["inbox"], &["devices", "revoke", "7"]] {
        let ran = phone.run(args);
        assert_eq!(ran.code, 4, "{args:?}: {}", ran.err);
        assert!(ran.err.contains("this device is not linked yet"), "{args:?}: {}", ran.err);
        assert!(ran.err.contains("endseal devices link"), "{args:?}: {}", ran.err);
        assert!(!ran.err.contains("endseal init"), "{args:?}: {}", ran.err);
    }

    // The lock of the store, which each command holds.
    let lock = File::options().write(true).open(scratch.path("phone/store/lock")).unwrap();
    lock.lock().unwrap();
    alice.feed(&["devices", "add", "--yes", "-"], text.as_bytes()).ok();
    sleep(Duration::from_secs(3));
    assert!(link.is_running());
    drop(lock);
    assert_eq!(link.ended(), Some(0));
    phone.run(&["sync"]).ok();
    assert!(phone.run(&["history", "bob"]).ok().text().contains("> hello"));
    // It does not announce itself to its person.
    let ran = phone.run(&["inbox"]).ok();
    assert!(!ran.err.contains("you have a new device"), "{}", ran.err);
}
