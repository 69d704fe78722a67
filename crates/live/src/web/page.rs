//! The page itself: one text, with its style and its script within, and the policy that lets it have no others.

use std::sync::OnceLock;

use sha2::{Digest, Sha256};

const FRAME: &str = include_str!("page.html");
const STYLE: &str = include_str!("live.css");
const SCRIPT: &str = concat!(include_str!("chart.js"), include_str!("panels.js"), include_str!("live.js"));

/// The page.
pub(crate) struct Page(String);

impl Page {
    pub(crate) fn new() -> Self {
        let [style, script] = [STYLE, SCRIPT].map(str::trim_end);
        Self(FRAME.replace("{style}", style).replace("{script}", script))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The policy that browsers hold the page to: of scripts and styles only those with these hashes count, it loads
    /// nothing but figures from where it came from, sends nothing, and stands in no frame.
    pub(crate) fn policy() -> &'static str {
        static POLICY: OnceLock<String> = OnceLock::new();
        POLICY.get_or_init(|| {
            let [style, script] = [STYLE, SCRIPT].map(|text| {
                let hash = data_encoding::BASE64.encode(&Sha256::digest(text.trim_end()));
                format!("'sha256-{hash}'")
            });
            format!(
                "default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; base-uri 'none'; \
                 form-action 'none'; frame-ancestors 'none'"
            )
        })
    }
}
