//! How the program ends by a signal: when it is asked to, and when nobody reads its output any more.

use std::fs;
use std::thread;

use flashloom_files::end_writing;
use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Has Ctrl-C (INT), TERM and the loss of the terminal (HUP) remove the partial files of this process. A signal that
/// the caller has turned off, as a shell does for what a script runs in the background and `nohup` for what stays,
/// stays off. Where the system does not say which signals are off, HUP ends the program as ever, and so does each of
/// them without the thread that waits for them; the next run removes what is left.
pub fn remove_partial_files() {
    on_end(|| false);
}

/// [`remove_partial_files`], unless `handles` returns true: then the program goes on, and ends by itself.
pub fn on_end(handles: impl Fn() -> bool + Send + 'static) {
    let ignored = ignored();
    let is_off = |signal: i32| ignored.map_or(signal == SIGHUP, |mask| mask >> (signal - 1) & 1 == 1);
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_off(signal));
    let Ok(mut signals) = Signals::new(wanted) else { return };
    let wait = move || {
        if let Some(signal) = signals.forever().find(|_| !handles()) {
            end_writing();
            // Does not return: all of them end a process.
            let _ = emulate_default_handler(signal);
        }
    };
    let _ = thread::Builder::new().name("signals".to_owned()).spawn(wait);
}

/// Ends the program as others end that write to a closed pipe: by PIPE, 141 in a shell. Whoever relies on the output
/// learns that it was not read to its end. The run-time library has turned that signal off, so that a write fails
/// instead, and the partial files can be removed first.
pub fn end_unread() {
    end_writing();
    let _ = emulate_default_handler(SIGPIPE);
}

/// Mask of the signals that the caller has turned off, signal 1 first; `None` if the system does not tell.
fn ignored() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
