//! placeholder until the generator has written them
