//! How much one read of a connection takes.
//!
//! Long reads cost less CPU time for each byte: fewer system calls, and fewer acknowledgements, each of
//! which makes the kernel send on behalf of the other side. But a connection keeps the memory that it
//! reads into. So the first connections read much at once, and the more there are, the less each takes.

/// Bytes of one read at most.
pub(crate) const MOST: usize = 768 * 1024;

/// Connections that read as much: one that waits idle beside another one that works is common.
const FIRST: usize = 2;

/// What the connections of one side share when there are more, but for the least that each has.
const TOGETHER: usize = 768 * 1024;

/// What a new connection reads at once, when there are so many with it.
pub(crate) fn share(connections: usize, least: usize, most: usize) -> usize {
    if connections <= FIRST {
        return most;
    }
    (TOGETHER / connections).min(most).max(least)
}

#[cfg(test)]
mod tests {
    use super::{FIRST, MOST, TOGETHER, share};

    #[test]
    fn the_first_connections_read_much_and_many_read_little() {
        for connections in 0..=FIRST {
            assert_eq!(share(connections, 1_000, MOST), MOST);
        }
        assert_eq!(share(FIRST + 1, 1_000, MOST), TOGETHER / (FIRST + 1));
        assert_eq!(share(8, 1_000, MOST), TOGETHER / 8);
        assert_eq!(share(usize::MAX, 1_000, MOST), 1_000);
        assert_eq!(share(1, 1_000, 2_000), 2_000);
    }
}
