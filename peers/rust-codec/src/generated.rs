//! Code that the two libraries generate from the contract.
#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]

pub(crate) mod prost {
    include!(concat!(env!("OUT_DIR"), "/prost/endseal.v1.rs"));
}

mod of_buffa {
    include!(concat!(env!("OUT_DIR"), "/buffa/all.rs"));
}
pub(crate) use of_buffa::endseal::v1 as buffa;
