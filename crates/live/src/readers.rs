//! The readers of what clients send beside commands of the drive, as functions of bytes: for the fuzzers.

use std::sync::OnceLock;

use crate::control;
use crate::web::{self, Site};

/// Reads a line of a client of the control socket, and writes the refusal of one that is wrong.
pub fn control_line(line: &[u8]) -> bool {
    control::order(line).map_err(|refusal| drop(control::refused(&refusal))).is_ok()
}

/// Reads the head of a request to the page at 127.0.0.1:8080, and writes the answer.
pub fn http_head(sent: &[u8]) -> bool {
    static SITE: OnceLock<Site> = OnceLock::new();
    web::answers(SITE.get_or_init(|| Site::new(([127, 0, 0, 1], 8080).into())), sent)
}
