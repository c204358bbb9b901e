// A kernel takes fields by their names: a `Deref` could find others, and would see places of cells.
#![forbid(unsafe_code)]
use tida::Element;

mod found {
    use super::*;

    #[derive(Element, Clone, Copy, PartialEq, Debug)]
    pub struct Private {
        k: u8,
    }
    pub struct Other {
        pub k: i64,
    }
    impl std::ops::Deref for Private {
        type Target = Other;
        fn deref(&self) -> &Other {
            &Other { k: 0 }
        }
    }
}

#[derive(Element, Clone, Copy, PartialEq, Debug)]
struct OfPlace {
    k: u8,
}

impl std::ops::Deref for <OfPlace as Element>::Place {
    type Target = u8;
    fn deref(&self) -> &u8 {
        &0
    }
}

fn main() {}
