#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| endseal_fuzz::nostr_payload_vs_rust_nostr(data));
