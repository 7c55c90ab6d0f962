//! Bodies as AWS documents them and as servers write them.

mod assemble;
mod changes;
mod hostile;
mod lists;
mod pages;
mod requests;

fn text(xml: Vec<u8>) -> String {
    String::from_utf8(xml).unwrap()
}
