//! What several test files need.

use tida::acc::TileAccBuilder;
use tida::prelude::*;

/// An accelerator on the device that `TIDA_DEVICE` names, else on OpenCL; none where there is no device, unless tests must
/// have one.
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
