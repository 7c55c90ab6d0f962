#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| endseal_fuzz::envelope_stream_vs_whole(data));
