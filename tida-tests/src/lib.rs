//! What several of the tests need.

pub mod calls;
pub mod common;
pub mod folder;
pub mod overlap;
pub mod places;
pub mod ranks;
pub mod several;

use tida::acc::{Compile, TileAccBuilder};
use tida::prelude::*;
pub use tida_apart::{expect, on_cpu};

/// An accelerator on the device that `TIDA_DEVICE` names, else on OpenCL; none where there is no device, unless tests
/// must have one.
pub fn on_a_device(builder: TileAccBuilder) -> Option<TileAcc> {
    let named = std::env::var("TIDA_DEVICE").is_ok_and(|name| !name.is_empty() && name != "cpu");
    let builder = builder.threads(2);
    let built = if named { builder.build() } else { builder.device(Device::OpenCl).build() };
    match built {
        Ok(acc) if acc.device() != Device::Cpu => Some(acc),
        Ok(_) => None,
        Err(error) if std::env::var_os("TIDA_REQUIRE_OPENCL").is_some() => panic!("{error}"),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// For tests that count launches: work starts when it is enough or asked for, not when a thread was kept from its core,
/// and waits for its kernel.
pub fn unhurried() -> TileAccBuilder {
    TileAcc::builder().pause(std::time::Duration::from_secs(600)).compile(Compile::Wait)
}

/// [`on_a_device`] with so many bytes for arrays.
pub fn with_limit(limit: u64, look_ahead: usize) -> Option<TileAcc> {
    on_a_device(TileAcc::builder().memory_limit(limit).look_ahead(look_ahead))
}

/// A value in 0.5..1.5 that looks random.
pub fn value(seed: u64, at: [usize; 3]) -> f64 {
    let mut x = seed ^ (at[0] as u64) << 40 ^ (at[1] as u64) << 20 ^ at[2] as u64;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + 0.5
}

/// On the CPU, on a simulated device, and on the device that there is.
pub fn everywhere() -> Vec<TileAcc> {
    let sim = TileAcc::builder().simulate(tida::SimDevice::new()).threads(2).build().unwrap();
    [on_cpu(), sim].into_iter().chain(on_a_device(TileAcc::builder())).collect()
}
