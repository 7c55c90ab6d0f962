#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| endseal_fuzz::gcm_in_place_vs_aws_lc(data));
