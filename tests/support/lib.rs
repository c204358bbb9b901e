//! Helpers shared by examples, benches and tests.
