//! A progress bar on standard error, when that is a terminal.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use flashloom::experiment::run::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// One bar over the requests of all runs.
pub struct Bar {
    requests: ProgressBar,
    runs: ProgressBar,
}

impl Bar {
    /// A bar for that many requests in that many runs; invisible where nobody would see it.
    pub fn new(requests: u64, runs: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(requests), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{msg} [{bar:40}] {percent:>3}% of {human_len} requests, {eta} left");
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("=> "));
        }
        if stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let bar = Self { requests: bar, runs: ProgressBar::with_draw_target(Some(runs), ProgressDrawTarget::hidden()) };
        bar.show_runs();
        bar
    }

    fn show_runs(&self) {
        let (done, all) = (self.runs.position(), self.runs.length().unwrap_or_default());
        self.requests.set_message(format!("{done} of {all} runs done"));
    }

    /// Takes the bar away, so that results stand alone.
    pub fn clear(&self) {
        self.requests.finish_and_clear();
    }
}

impl Progress for Bar {
    fn requests(&self, count: u64) {
        self.requests.inc(count);
    }

    fn run_ended(&self) {
        self.runs.inc(1);
        self.show_runs();
    }
}
