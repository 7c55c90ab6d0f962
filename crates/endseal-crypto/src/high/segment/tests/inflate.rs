//! RFC 1950 and 1951: just enough to read the vectors, whose ciphertexts are zlib streams.

use alloc::vec;
use alloc::vec::Vec;

struct Bits<'a> {
    data: &'a [u8],
    position: usize,
}

impl Bits<'_> {
    fn take(&mut self, n: usize) -> usize {
        (0..n).fold(0, |value, i| {
            let bit = self.data[self.position / 8] >> (self.position % 8) & 1;
            self.position += 1;
            value | usize::from(bit) << i
        })
    }
}

/// A canonical Huffman code: how many codes of each length, and the symbols in order.
struct Code {
    counts: [usize; 16],
    symbols: Vec<usize>,
}

impl Code {
    fn new(lengths: &[usize]) -> Self {
        let mut counts = [0; 16];
        lengths.iter().for_each(|&len| counts[len] += 1);
        counts[0] = 0;
        let mut symbols: Vec<_> = (0..lengths.len()).filter(|&s| lengths[s] > 0).collect();
        symbols.sort_by_key(|&s| lengths[s]);
        Self { counts, symbols }
    }

    fn read(&self, bits: &mut Bits<'_>) -> usize {
        let (mut code, mut first, mut index) = (0, 0, 0);
        for count in &self.counts[1..] {
            code |= bits.take(1);
            if code < first + count {
                return self.symbols[index + code - first];
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        panic!("no such code");
    }
}

const LENGTH_BASE: [usize; 29] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258,
];
const LENGTH_EXTRA: [usize; 29] =
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE: [usize; 30] = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537,
    2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577,
];
const CODE_ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

pub(super) fn zlib(data: &[u8]) -> Vec<u8> {
    let mut bits = Bits { data: &data[2..], position: 0 };
    let mut out = Vec::new();
    loop {
        let last = bits.take(1) == 1;
        match bits.take(2) {
            0 => {
                let start = bits.position.div_ceil(8);
                let len = usize::from(bits.data[start]) | usize::from(bits.data[start + 1]) << 8;
                out.extend(&bits.data[start + 4..][..len]);
                bits.position = (start + 4 + len) * 8;
            }
            1 => {
                let lengths: Vec<_> = (0..288)
                    .map(|s| match s {
                        0..=143 | 280..=287 => 8,
                        144..=255 => 9,
                        _ => 7,
                    })
                    .collect();
                block(&mut bits, &Code::new(&lengths), &Code::new(&[5; 30]), &mut out);
            }
            _ => {
                let (literals, distances) = dynamic(&mut bits);
                block(&mut bits, &literals, &distances, &mut out);
            }
        }
        if last {
            return out;
        }
    }
}

fn dynamic(bits: &mut Bits<'_>) -> (Code, Code) {
    let (literals, distances, codes) = (bits.take(5) + 257, bits.take(5) + 1, bits.take(4) + 4);
    let mut code_lengths = [0; 19];
    for &position in &CODE_ORDER[..codes] {
        code_lengths[position] = bits.take(3);
    }
    let code = Code::new(&code_lengths);
    let mut lengths = vec![];
    while lengths.len() < literals + distances {
        let (value, times) = match code.read(bits) {
            16 => (*lengths.last().unwrap(), 3 + bits.take(2)),
            17 => (0, 3 + bits.take(3)),
            18 => (0, 11 + bits.take(7)),
            length => (length, 1),
        };
        lengths.extend(core::iter::repeat_n(value, times));
    }
    (Code::new(&lengths[..literals]), Code::new(&lengths[literals..]))
}

fn block(bits: &mut Bits<'_>, literals: &Code, distances: &Code, out: &mut Vec<u8>) {
    loop {
        match literals.read(bits) {
            256 => return,
            symbol @ 0..256 => out.push(u8::try_from(symbol).unwrap()),
            symbol => {
                let length = LENGTH_BASE[symbol - 257] + bits.take(LENGTH_EXTRA[symbol - 257]);
                let symbol = distances.read(bits);
                let distance = DISTANCE_BASE[symbol] + bits.take((symbol / 2).saturating_sub(1));
                for _ in 0..length {
                    out.push(out[out.len() - distance]);
                }
            }
        }
    }
}
