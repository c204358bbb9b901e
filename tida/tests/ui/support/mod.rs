//! A stand-in for `compute`: types a kernel for the arguments, and asks it for its quotation at most.
#![allow(dead_code, unreachable_pub, missing_docs, missing_debug_implementations)]

use std::marker::PhantomData;
use tida::__private::{Ask, ReadView, Size, StagedView, WriteView};
use tida::Element;

pub struct In<T, const D: usize>(PhantomData<T>);
pub struct Out<T, const D: usize>(PhantomData<T>);

impl<T: Element, const D: usize> ReadView for In<T, D> {
    type Index = [i64; D];
    type Place = T::Place;
    type Near<'a>
        = &'a Self
    where
        Self: 'a;
    fn near(&self, _: &[[i64; D]]) -> Option<&Self> {
        unimplemented!()
    }
    fn place(&self, _: [i64; D]) -> T::Place {
        unimplemented!()
    }
}

impl<T: Element, const D: usize> ReadView for Out<T, D> {
    type Index = [i64; D];
    type Place = T::Place;
    type Near<'a>
        = &'a Self
    where
        Self: 'a;
    fn near(&self, _: &[[i64; D]]) -> Option<&Self> {
        unimplemented!()
    }
    fn place(&self, _: [i64; D]) -> T::Place {
        unimplemented!()
    }
}

impl<T: Element, const D: usize> WriteView for Out<T, D> {
    fn place_mut(&self, _: [i64; D]) -> T::Place {
        unimplemented!()
    }
}

impl<T, const D: usize> StagedView<D> for In<T, D> {
    const SIZE: Size = Size::NOTHING;
}

impl<T, const D: usize> StagedView<D> for Out<T, D> {
    const SIZE: Size = Size::NOTHING;
}

/// `next` of `A` is written, `u` of `B` is read, in two dimensions.
pub fn sweep<A: Element, B: Element, N>(_: N)
where
    N: for<'b> Fn(Ask<'b, (Out<A, 2>, In<B, 2>), (Out<A, 2>, In<B, 2>), (), 2>) + Send + Sync + 'static,
{
}

/// `sweep` over `f64`.
pub fn sweep64<N>(kernel: N)
where
    N: for<'b> Fn(Ask<'b, (Out<f64, 2>, In<f64, 2>), (Out<f64, 2>, In<f64, 2>), (), 2>) + Send + Sync + 'static,
{
    sweep::<f64, f64, N>(kernel)
}
