//! ChaCha20 against the vectors of RFC 8439, and every kernel against another implementation.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit as _, StreamCipher as _, StreamCipherSeek as _};
use endseal_crypto::chacha20::{BLOCK_LEN, apply_keystream};
use endseal_crypto::chacha20_kernel::{self, Kernel};

/// Encrypts `data` with each kernel and the public function, which must all agree.
fn encrypted(key: &[u8; 32], nonce: &[u8; 12], counter: u32, data: &[u8]) -> Vec<u8> {
    let mut out = data.to_vec();
    apply_keystream(key, nonce, counter, &mut out).expect("there are counters left");
    for kernel in Kernel::all() {
        let mut other = data.to_vec();
        chacha20_kernel::apply_keystream(kernel, key, nonce, counter, &mut other);
        assert!(other == out, "{kernel:?}, {} bytes", data.len());
    }
    out
}

/// Returns zeros with another last byte.
fn last<const N: usize>(byte: u8) -> [u8; N] {
    let mut bytes = [0; N];
    bytes[N - 1] = byte;
    bytes
}

/// RFC 8439, sections 2.3.2 and A.1: state after the block function.
#[test]
fn blocks_of_rfc_8439() {
    let counting = core::array::from_fn(low_byte);
    let with_ff = core::array::from_fn(|i| if i == 1 { 0xff } else { 0 });
    #[rustfmt::skip]
    let cases: [(_, _, _, [u32; 16]); 6] = [
        (counting, [0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0], 1, [
            0xe4e7_f110, 0x1559_3bd1, 0x1fdd_0f50, 0xc471_20a3,
            0xc7f4_d1c7, 0x0368_c033, 0x9aaa_2204, 0x4e6c_d4c3,
            0x4664_82d2, 0x09aa_9f07, 0x05d7_c214, 0xa202_8bd9,
            0xd19c_12b5, 0xb94e_16de, 0xe883_d0cb, 0x4e3c_50a2,
        ]),
        ([0; 32], [0; 12], 0, [
            0xade0_b876, 0x903d_f1a0, 0xe56a_5d40, 0x28bd_8653,
            0xb819_d2bd, 0x1aed_8da0, 0xccef_36a8, 0xc70d_778b,
            0x7c59_41da, 0x8d48_5751, 0x3fe0_2477, 0x374a_d8b8,
            0xf4b8_436a, 0x1ca1_1815, 0x69b6_87c3, 0x8665_eeb2,
        ]),
        ([0; 32], [0; 12], 1, [
            0xbee7_079f, 0x7a38_5155, 0x7c97_ba98, 0x0d08_2d73,
            0xa029_0fcb, 0x6965_e348, 0x3e53_c612, 0xed7a_ee32,
            0x7621_b729, 0x434e_e69c, 0xb033_71d5, 0xd539_d874,
            0x281f_ed31, 0x45fb_0a51, 0x1f0a_e1ac, 0x6f4d_794b,
        ]),
        (last(1), [0; 12], 1, [
            0x2452_eb3a, 0x9249_f8ec, 0x8d82_9d9b, 0xddd4_ceb1,
            0xe825_2083, 0x6081_8b01, 0xf384_22b8, 0x5aaa_49c9,
            0xbb00_ca8e, 0xda3b_a7b4, 0xc4b5_92d1, 0xfdf2_732f,
            0x4436_274e, 0x2561_b3c8, 0xebdd_4aa6, 0xa013_6c00,
        ]),
        (with_ff, [0; 12], 2, [
            0xfb4d_d572, 0x4bc4_2ef1, 0xdf92_2636, 0x327f_1394,
            0xa78d_ea8f, 0x5e26_9039, 0xa1be_bbc1, 0xcaf0_9aae,
            0xa25a_b213, 0x48a6_b46c, 0x1b9d_9bcb, 0x092c_5be6,
            0x546c_a624, 0x1bec_45d5, 0x87f4_7473, 0x96f0_992e,
        ]),
        ([0; 32], last(2), 0, [
            0x374d_c6c2, 0x3736_d58c, 0xb904_e24a, 0xcd3f_93ef,
            0x8822_8b1a, 0x96a4_dfb3, 0x5b76_ab72, 0xc727_ee54,
            0x0e0e_978a, 0xf314_5c95, 0x1b74_8ea8, 0xf786_c297,
            0x99c2_8f5f, 0x6283_14e8, 0x398a_19fa, 0x6ded_1b53,
        ]),
    ];
    for (key, nonce, counter, words) in cases {
        let keystream: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        assert_eq!(encrypted(&key, &nonce, counter, &[0; BLOCK_LEN]), keystream);
    }
}

/// RFC 8439, section 2.4.2: encryption of a text.
#[test]
fn text_of_rfc_8439() {
    let key = core::array::from_fn(low_byte);
    let text = b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for \
        the future, sunscreen would be it.";
    let ciphertext = "
        6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b
        f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8
        07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736
        5af90bbf74a35be6b40b8eedf2785e42874d";
    let nonce = [0, 0, 0, 0, 0, 0, 0, 0x4a, 0, 0, 0, 0];
    assert_eq!(encrypted(&key, &nonce, 1, text), hex(ciphertext));
}

/// RFC 8439, section A.2. Its first vector is the second one of [`blocks_of_rfc_8439`].
#[test]
fn longer_texts_of_rfc_8439() {
    let text = b"Any submission to the IETF intended by the Contributor for publication as all or \
        part of an IETF Internet-Draft or RFC and any statement made within the context of an IETF \
        activity is considered an \"IETF Contribution\". Such statements include oral statements in \
        IETF sessions, as well as written and electronic communications made at any time or place, \
        which are addressed to";
    let ciphertext = "
        a3fbf07df3fa2fde4f376ca23e82737041605d9f4f4f57bd8cff2c1d4b7955ec
        2a97948bd3722915c8f3d337f7d370050e9e96d647b7c39f56e031ca5eb6250d
        4042e02785ececfa4b4bb5e8ead0440e20b6e8db09d881a7c6132f420e527950
        42bdfa7773d8a9051447b3291ce1411c680465552aa6c405b7764d5e87bea85a
        d00f8449ed8f72d0d662ab052691ca66424bc86d2df80ea41f43abf937d3259d
        c4b2d0dfb48a6c9139ddd7f76966e928e635553ba76c5c879d7b35d49eb2e62b
        0871cdac638939e25e8a1e0ef9d5280fa8ca328b351c3c765989cbcf3daa8b6c
        cc3aaf9f3979c92b3720fc88dc95ed84a1be059c6499b9fda236e7e818b04b0b
        c39c1e876b193bfe5569753f88128cc08aaa9b63d1a16f80ef2554d7189c411f
        5869ca52c5b83fa36ff216b9c1d30062bebcfd2dc5bce0911934fda79a86f6e6
        98ced759c3ff9b6477338f3da4f9cd8514ea9982ccafb341b2384dd902f3d1ab
        7ac61dd29c6f21ba5b862f3730e37cfdc4fd806c22f221";
    assert_eq!(encrypted(&last(1), &last(2), 1, text), hex(ciphertext));

    let key = hex("1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0");
    let key: [u8; 32] = key.try_into().expect("32 bytes");
    let text = b"'Twas brillig, and the slithy toves\nDid gyre and gimble in the wabe:\nAll mimsy \
        were the borogoves,\nAnd the mome raths outgrabe.";
    let ciphertext = "
        62e6347f95ed87a45ffae7426f27a1df5fb69110044c0d73118effa95b01e5cf
        166d3df2d721caf9b21e5fb14c616871fd84c54f9d65b283196c7fe4f60553eb
        f39c6402c42234e32a356b3e764312a61a5532055716ead6962568f87d3f3f77
        04c6a8d1bcd1bf4d50d6154b6da731b187b58dfd728afa36757a797ac188d1";
    assert_eq!(encrypted(&key, &last(2), 42, text), hex(ciphertext));
}

/// Tests lengths, alignments and counters. Bytes around the data must stay unchanged.
#[test]
fn every_kernel_agrees_with_another_implementation() {
    const AROUND: usize = 67;
    let lengths = (0..=1_100).chain([
        1_535, 1_536, 1_537, 2_047, 2_048, 2_049, 2_112, 3_071, 4_096, 4_099, 8_191, 16_384,
        33_333, 65_535, 65_536, 65_603, 70_000,
    ]);
    for len in lengths {
        let before = 1 + len % AROUND;
        let blocks = u32::try_from(len.div_ceil(BLOCK_LEN)).expect("it is short");
        let counter = [0, 1, 0x7fff_fffd, u32::MAX - 3 - blocks, u32::MAX - blocks][len % 5];
        let key = core::array::from_fn(|i| low_byte(i * 7 + len));
        let nonce = core::array::from_fn(|i| low_byte(i * 29 + len));
        let content: Vec<u8> = (0..before + len + AROUND).map(|i| low_byte((i * i) >> 3)).collect();

        let mut expected = content.clone();
        let mut twin = ChaCha20::new(&key.into(), &nonce.into());
        twin.seek(u64::from(counter) * BLOCK_LEN as u64);
        twin.apply_keystream(&mut expected[before..before + len]);

        let mut data = content.clone();
        apply_keystream(&key, &nonce, counter, &mut data[before..before + len])
            .expect("there are counters left");
        assert!(data == expected, "{len} bytes");
        for kernel in Kernel::all() {
            let mut data = content.clone();
            let range = before..before + len;
            chacha20_kernel::apply_keystream(kernel, &key, &nonce, counter, &mut data[range]);
            assert!(data == expected, "{kernel:?}, {len} bytes");
        }
    }
}

#[test]
fn pieces_give_what_the_whole_gives() {
    let mut whole: Vec<u8> = (0..5_000_u32).map(|i| i.to_le_bytes()[0]).collect();
    let mut pieces = whole.clone();
    apply_keystream(&[1; 32], &[2; 12], 7, &mut whole).unwrap();
    for blocks in [1_u8, 2, 3, 5, 16, 31] {
        let mut pieces = pieces.clone();
        let mut counter = 7;
        for piece in pieces.chunks_mut(usize::from(blocks) * BLOCK_LEN) {
            apply_keystream(&[1; 32], &[2; 12], counter, piece).unwrap();
            counter += u32::from(blocks);
        }
        assert!(pieces == whole, "{blocks} blocks");
    }
    let content = pieces.clone();
    apply_keystream(&[1; 32], &[2; 12], 7, &mut pieces).unwrap();
    apply_keystream(&[1; 32], &[2; 12], 7, &mut pieces).unwrap();
    assert!(pieces == content, "the keystream cancels itself");
}

#[test]
fn counters_do_not_wrap_around() {
    for (blocks_left, blocks) in [(1, 1), (1, 2), (3, 3), (3, 4), (16, 17), (20, 20)] {
        for len in [blocks * BLOCK_LEN - 63, blocks * BLOCK_LEN] {
            let counter = u32::MAX - (blocks_left - 1);
            let mut data = vec![5; len];
            let outcome = apply_keystream(&[1; 32], &[2; 12], counter, &mut data);
            if blocks <= blocks_left as usize {
                assert_eq!(outcome, Ok(()));
                assert_eq!(data, encrypted(&[1; 32], &[2; 12], counter, &vec![5; len]));
            } else {
                assert!(outcome.is_err());
                assert_eq!(data, vec![5; len]);
            }
        }
    }
    assert_eq!(apply_keystream(&[1; 32], &[2; 12], u32::MAX, &mut []), Ok(()));
}

fn low_byte(i: usize) -> u8 {
    i.to_le_bytes()[0]
}

/// Decodes hexadecimal digits and ignores blanks between them.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let (pairs, rest) = digits.as_chunks::<2>();
    assert!(rest.is_empty(), "two digits a byte");
    let byte = |pair: &[u8; 2]| {
        let text = core::str::from_utf8(pair).expect("ASCII");
        u8::from_str_radix(text, 16).expect("a hexadecimal digit")
    };
    pairs.iter().map(byte).collect()
}
