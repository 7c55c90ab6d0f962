//! Prints lines on standard output.

/// Prints a formatted line.
macro_rules! say {
    ($($text:tt)*) => {{
        // Output of a chip cannot fail.
        let _ = core::fmt::Write::write_fmt(
            &mut $crate::platform::Console,
            format_args!("{}\n", format_args!($($text)*)),
        );
    }};
}
