//! Counter mode and GHASH side by side.

use core::arch::x86_64::{
    __m512i, _mm_set_epi64x, _mm512_add_epi32, _mm512_aesenclast_epi128, _mm512_castsi512_si128,
    _mm512_maskz_mov_epi8, _mm512_set_epi32, _mm512_setzero_si512, _mm512_xor_si512,
};

use alloc::boxed::Box;
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::aes256::Aes256;
use super::ghash::{BLOCKS, Powers, Products, widen};
use super::memory::{VECTOR, broadcast, load_partial, reverse, store_block};
use super::text::{GROUP, Group, Text, VECTORS};
use crate::low::cpu::HaveVaes;

/// Longest message in bytes (SP 800-38D, 5.2.1.1): 2^32 - 2 blocks, as one counter is the tag's and
/// none repeats.
const MAX_LEN: u64 = (1 << 36) - 32;

/// AES-256-GCM with nonces of 12 bytes under one key. There is one only where a CPU runs it.
pub(crate) struct Aes256Gcm {
    cipher: Aes256,
    powers: Powers,
}

impl Aes256Gcm {
    /// Where it will stay: a move would leave a copy of the key behind.
    pub(crate) fn new(_: HaveVaes, key: &[u8; 32]) -> Box<Self> {
        let mut gcm = Box::new(Self { cipher: Aes256::ZERO, powers: Powers::ZERO });
        // SAFETY: the token proves that the CPU has the features.
        unsafe { gcm.expand(key) }
        gcm
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,aes,vaes,vpclmulqdq")]
    fn expand(&mut self, key: &[u8; 32]) {
        self.cipher.expand(key);
        let h = reverse(self.cipher.encrypt(_mm512_setzero_si512()));
        self.powers.expand(_mm512_castsi512_si128(h));
    }

    /// Encrypts `plaintext` into `out` of the same length, and gives the tag of both `data` and
    /// ciphertext.
    ///
    /// # Panics
    /// If the lengths differ, or exceed [`MAX_LEN`].
    pub(crate) fn seal(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        plaintext: &[u8],
        out: &mut [u8],
    ) -> [u8; 16] {
        // SAFETY: `new` had a proof that the CPU has the features.
        unsafe { self.crypt::<true>(nonce, data, Text::between(plaintext, out)) }
    }

    /// [`Self::seal`] of `buffer[from..]` into the beginning of `buffer`. Nothing behind the
    /// ciphertext is written.
    ///
    /// # Panics
    /// If `from` is beyond the end.
    pub(crate) fn seal_within(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        buffer: &mut [u8],
        from: usize,
    ) -> [u8; 16] {
        // SAFETY: `new` had a proof that the CPU has the features.
        unsafe { self.crypt::<true>(nonce, data, Text::within(buffer, from)) }
    }

    /// Decrypts `ciphertext` into `out` of the same length, and gives the tag of both `data` and
    /// ciphertext: the caller MUST compare it in constant time, and wipe `out` if it is another
    /// one.
    ///
    /// # Panics
    /// If the lengths differ.
    pub(crate) fn open_unverified(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> [u8; 16] {
        // SAFETY: `new` had a proof that the CPU has the features.
        unsafe { self.crypt::<false>(nonce, data, Text::between(ciphertext, out)) }
    }

    /// [`Self::open_unverified`] of `buffer[from..]` into the beginning of `buffer`. Nothing behind
    /// the content is written.
    ///
    /// # Panics
    /// If `from` is beyond the end.
    pub(crate) fn open_unverified_within(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        buffer: &mut [u8],
        from: usize,
    ) -> [u8; 16] {
        // SAFETY: `new` had a proof that the CPU has the features.
        unsafe { self.crypt::<false>(nonce, data, Text::within(buffer, from)) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,aes,vaes,vpclmulqdq")]
    fn crypt<const SEAL: bool>(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        mut text: Text<'_>,
    ) -> [u8; 16] {
        let len = text.len();
        assert!(len as u64 <= MAX_LEN, "the counter of a message has 32 bits");
        let mut counter = [0; 16];
        counter[..12].copy_from_slice(nonce);
        counter[15] = 1;
        let counter = broadcast(&counter);
        let tag_mask = self.cipher.encrypt(counter);
        let mut counters = Counters::after(reverse(counter));

        let mut hash = _mm512_setzero_si512();
        for data in data.chunks(GROUP) {
            hash = self.hash(hash, data);
        }

        // Each step of encryption hashes the ciphertext of the step before.
        let mut before: Option<Group<'_>> = None;
        while let Some(mut group) = text.next_group() {
            hash = self.crypt_group::<SEAL>(&mut counters, &mut group, before.as_ref(), hash);
            before = Some(group);
        }
        if SEAL && let Some(before) = before {
            let mut products = Products::none();
            for i in 0..VECTORS {
                self.add(&mut products, hash, i, before.load_stored(i));
            }
            hash = products.sum();
        }

        if text.len() > 0 {
            hash = self.crypt_rest::<SEAL>(&mut counters, text, hash);
        }
        let bits = |len: usize| (len as u64 * 8).cast_signed();
        let lengths = widen(_mm_set_epi64x(bits(data.len()), bits(len)));
        let mut products = Products::none();
        products.add(_mm512_xor_si512(hash, lengths), self.powers.of(1));
        let tag = _mm512_xor_si512(reverse(products.sum()), tag_mask);
        let mut out = [0; 16];
        store_block(&mut out, _mm512_castsi512_si128(tag));
        out
    }

    /// Encrypts or decrypts a group, and hashes ciphertext between the rounds, that of the group
    /// `before` or its own: AES and carry-less multiplication are different units, and neither
    /// waits for the other.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,aes,vaes,vpclmulqdq")]
    fn crypt_group<const SEAL: bool>(
        &self,
        counters: &mut Counters,
        group: &mut Group<'_>,
        before: Option<&Group<'_>>,
        mut hash: __m512i,
    ) -> __m512i {
        let first = self.cipher.round_key(0);
        let mut blocks = [first; VECTORS];
        for block in &mut blocks {
            *block = _mm512_xor_si512(counters.next(), first);
        }
        let hashed = if SEAL { before } else { Some(&*group) };
        if let Some(hashed) = hashed {
            let mut products = Products::none();
            for i in 0..VECTORS {
                self.cipher.round(1 + i, &mut blocks);
                let ciphertext = if SEAL { hashed.load_stored(i) } else { hashed.load(i) };
                self.add(&mut products, hash, i, ciphertext);
                group.prefetch(i);
            }
            hash = products.sum();
        } else {
            for round in 1..9 {
                self.cipher.round(round, &mut blocks);
            }
        }
        for round in 9..14 {
            self.cipher.round(round, &mut blocks);
        }
        let last = self.cipher.round_key(14);
        for (i, block) in blocks.iter().enumerate() {
            // Within one buffer the place may be that of vectors up to this one, all of which were
            // loaded. The last round ends with adding its key, and so the text is added to the key.
            let key = _mm512_xor_si512(group.load(i), last);
            group.store(i, _mm512_aesenclast_epi128(*block, key));
        }
        hash
    }

    /// Vector i of a full group, of which the first has the hash so far added.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    fn add(&self, products: &mut Products, hash: __m512i, i: usize, ciphertext: __m512i) {
        let mut blocks = reverse(ciphertext);
        if i == 0 {
            blocks = _mm512_xor_si512(blocks, hash);
        }
        products.add(blocks, self.powers.of(BLOCKS - 4 * i));
    }

    /// Hashes at most a group; the last block is filled up with zeros.
    #[target_feature(enable = "avx512f,avx512bw,avx2,vpclmulqdq")]
    fn hash(&self, mut hash: __m512i, data: &[u8]) -> __m512i {
        let mut products = Products::none();
        let mut remaining = data.len().div_ceil(16);
        for data in data.chunks(VECTOR) {
            let blocks = _mm512_xor_si512(reverse(load_partial(data)), hash);
            hash = _mm512_setzero_si512();
            products.add(blocks, self.powers.of(remaining));
            remaining = remaining.saturating_sub(4);
        }
        products.sum()
    }

    /// Less than a group, and not nothing.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,vaes,vpclmulqdq")]
    fn crypt_rest<const SEAL: bool>(
        &self,
        counters: &mut Counters,
        mut text: Text<'_>,
        mut hash: __m512i,
    ) -> __m512i {
        let mut products = Products::none();
        let mut remaining = text.len().div_ceil(16);
        while let Some(mut part) = text.next_part() {
            // Loaded before anything of this part is stored, here too.
            let text = part.load();
            let keystream = self.cipher.encrypt(counters.next());
            // Keystream beyond the end is no ciphertext, and is not hashed.
            let done = _mm512_maskz_mov_epi8(part.mask(), _mm512_xor_si512(text, keystream));
            part.store(done);
            let ciphertext = if SEAL { done } else { text };
            let blocks = _mm512_xor_si512(reverse(ciphertext), hash);
            hash = _mm512_setzero_si512();
            products.add(blocks, self.powers.of(remaining));
            remaining = remaining.saturating_sub(4);
        }
        products.sum()
    }
}

impl Zeroize for Aes256Gcm {
    fn zeroize(&mut self) {
        self.cipher.zeroize();
        self.powers.zeroize();
    }
}

impl Drop for Aes256Gcm {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl ZeroizeOnDrop for Aes256Gcm {}

/// The next four counter blocks, with their bytes reversed: the counter is the lowest word of each.
struct Counters(__m512i);

impl Counters {
    /// `first` is the same block four times.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn after(first: __m512i) -> Self {
        let ahead = _mm512_set_epi32(0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1);
        Self(_mm512_add_epi32(first, ahead))
    }

    /// inc32 (SP 800-38D, 6.2) counts modulo 2^32, as lanes do.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn next(&mut self) -> __m512i {
        let blocks = reverse(self.0);
        let four = _mm512_set_epi32(0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4);
        self.0 = _mm512_add_epi32(self.0, four);
        blocks
    }
}
