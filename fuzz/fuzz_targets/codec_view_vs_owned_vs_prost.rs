#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| endseal_fuzz::codec_view_vs_owned_vs_prost(data));
