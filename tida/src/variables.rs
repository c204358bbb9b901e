//! Variables of the environment. `docs/ENVIRONMENT.md` lists them.

use crate::error::{Error, ErrorKind};

/// The text of a variable that is set to something.
pub(crate) fn text_of(variable: &str) -> Option<String> {
    let text = std::env::var_os(variable)?;
    Some(text.to_string_lossy().into_owned()).filter(|text| !text.is_empty())
}

/// What a variable says that is not understood.
pub(crate) fn not_understood(variable: &str, text: &str, advice: impl Into<String>) -> Error {
    Error::new(ErrorKind::Argument, format!("read the environment variable {variable}"), format!("`{text}`"), advice)
}
