//! Progress bar on standard error, if that is a terminal.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use flashloom::run::{PAGES_A_REQUEST, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::figures::count;
use crate::output::say;

/// One bar over the requests of all runs and the pages that age their drives, by which it estimates the remaining time.
pub struct Bar {
    work: ProgressBar,
    runs: u64,
    ended: AtomicU64,
    requests: AtomicU64,
    pages: AtomicU64,
}

impl Bar {
    /// A bar for `requests` requests in `runs` runs; invisible if standard error is no terminal.
    pub fn new(requests: u64, runs: u64) -> Self {
        Self::with_ageing(requests, 0, runs)
    }

    /// A bar for `requests` requests in `runs` runs, on drives that take about `pages` pages to age.
    pub fn with_ageing(requests: u64, pages: u64, runs: u64) -> Self {
        let all = requests.saturating_mul(PAGES_A_REQUEST).saturating_add(pages);
        let work = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("[{bar:30}] {percent:>3}%, {eta} left: {msg}");
        if let Ok(style) = style {
            work.set_style(style.progress_chars("=> "));
        }
        if stderr().is_terminal() {
            work.set_draw_target(ProgressDrawTarget::stderr());
            work.enable_steady_tick(Duration::from_millis(200));
        }
        let [ended, requests, pages] = [const { AtomicU64::new(0) }; 3];
        let bar = Self { work, runs, ended, requests, pages };
        bar.tell();
        bar
    }

    /// A line without an end for runs of which nobody knows how many there are; invisible if standard error is no
    /// terminal.
    #[cfg(any(feature = "live", feature = "study"))]
    pub fn counting() -> Self {
        let bar = Self::with_ageing(0, 0, 0);
        if let Ok(style) = ProgressStyle::with_template("{elapsed}: {msg}") {
            bar.work.set_style(style);
        }
        bar
    }

    /// The same bar, invisible if `is_quiet`.
    #[must_use]
    pub fn unless(self, is_quiet: bool) -> Self {
        if is_quiet {
            // Drawn once by now.
            self.work.finish_and_clear();
            self.work.set_draw_target(ProgressDrawTarget::hidden());
        }
        self
    }

    fn tell(&self) {
        let [ended, requests, pages] = [&self.ended, &self.requests, &self.pages].map(|of| of.load(Ordering::Relaxed));
        let aged = if pages > 0 { format!(", {} pages to age drives", count(pages)) } else { String::new() };
        let runs = if self.runs > 0 { format!("{ended} of {}", self.runs) } else { count(ended) };
        let message = format!("{runs} runs done, {} requests{aged}", count(requests));
        self.work.set_message(message);
    }

    /// Writes a line to standard error, above the bar.
    pub fn say(&self, line: impl std::fmt::Display) {
        self.work.suspend(|| say(line));
    }

    /// Runs something, and removes the bar then, so that results stand alone.
    pub fn over<T>(&self, run: impl FnOnce(&Self) -> T) -> T {
        let result = run(self);
        self.work.finish_and_clear();
        result
    }
}

impl Progress for Bar {
    fn requests(&self, count: u64) {
        self.requests.fetch_add(count, Ordering::Relaxed);
        self.work.inc(count.saturating_mul(PAGES_A_REQUEST));
        self.tell();
    }

    fn ageing(&self, pages: u64) {
        self.pages.fetch_add(pages, Ordering::Relaxed);
        self.work.inc(pages);
        self.tell();
    }

    /// Replaces the expected ageing pages in the total by the actual ones.
    fn ageing_ended(&self, pages: u64, expected: u64) {
        if pages > expected {
            self.work.inc_length(pages - expected);
        } else {
            self.work.dec_length(expected - pages);
        }
    }

    fn run_ended(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        self.tell();
    }
}
