//! Lines on standard output.

/// Prints a line.
macro_rules! say {
    ($($text:tt)*) => {{
        // A chip's output does not fail.
        let _ = core::fmt::Write::write_fmt(
            &mut $crate::platform::Console,
            format_args!("{}\n", format_args!($($text)*)),
        );
    }};
}
