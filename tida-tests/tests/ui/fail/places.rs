// What finds a cell in memory is neither kept, nor read or written, by safe code.
#![forbid(unsafe_code)]
use tida::Element;
use tida::__private::Place;

fn keep(place: &<u8 as Element>::Place) -> <u8 as Element>::Place {
    *place
}

fn keep_array(place: &<[u8; 2] as Element>::Place) -> <[u8; 2] as Element>::Place {
    place.clone()
}

fn read_and_write(place: &<u8 as Element>::Place) -> u8 {
    place.store(1);
    tida::__private::load(place)
}

fn main() {}
