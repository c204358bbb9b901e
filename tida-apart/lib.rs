//! What tests need that have builds of their own, and others too.

use tida::prelude::*;

/// The reference.
pub fn on_cpu() -> TileAcc {
    TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap()
}

/// Demands that something failed, with an error of this kind in three parts, whose text has all of these in it.
#[track_caller]
pub fn expect(result: tida::Result<()>, kind: ErrorKind, parts: &[&str]) {
    let error = result.unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    assert!(!error.tried().is_empty() && !error.found().is_empty() && !error.advice().is_empty());
}
