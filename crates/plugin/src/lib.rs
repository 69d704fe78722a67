//! Plugins for nbdkit that serve a simulated drive, each with the policies of a registry.
//!
//! The built-in ones are in `libflashloom_nbdkit.so`. A program with policies of its own (`flashloom_cli::main`) needs
//! a plugin with the same: a package with `crate-type = ["cdylib"]` whose `lib.rs` has a line.
//!
//! ```text
//! flashloom_plugin::nbdkit!(my_policies::registry);
//! ```
//!
//! `FLASHLOOM_NBDKIT_PLUGIN` names what is built of it to `serve` of that program. The folder `examples/plugin` of the
//! repository is such a package.
//!
//! nbdkit speaks the NBD protocol, and calls the functions here from its threads, several at once. No panic leaves a
//! function: it becomes an error of the call. `interface.rs` declares nbdkit's side.
#![allow(unsafe_code, reason = "nbdkit's interface is one of C: pointers come from it and go to it.")]

mod interface;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, OnceLock, PoisonError};

use flashloom::config::registry::Registry;
use flashloom::device::Reason;
use flashloom::units::Refusal;
use flashloom::{REVISION, of_this_build};
use flashloom_live::{Build, Command, Fault, OPTIONS, Options, Pace, SECTOR_BYTES, Session};

use interface::{
    API_VERSION, EINVAL, EIO, ENOTSUP, EROFS, FLAG_FAST_ZERO, FLAG_FUA, FLAG_MAY_TRIM, FUA_NATIVE, Plugin,
    THREAD_MODEL_PARALLEL, nbdkit_error, nbdkit_set_error, nbdkit_shutdown,
};

/// Exports what nbdkit asks a plugin for, with the policies of a registry: of a function without arguments, or a
/// closure that captures nothing, which returns [`Result<Registry, Refusal>`](Registry). A program has it once.
///
/// Under test nothing is exported, because nbdkit's own functions are not there: the package is tested as others are.
#[macro_export]
macro_rules! nbdkit {
    ($registry:expr) => {
        const _: () = {
            #[cfg_attr(test, allow(dead_code))]
            const REGISTRY: $crate::MakeRegistry = $registry;
            #[cfg(not(test))]
            #[allow(unsafe_code, reason = "nbdkit looks the function up by this name")]
            #[unsafe(no_mangle)]
            extern "C" fn plugin_init() -> *const ::std::ffi::c_void {
                $crate::plugin(REGISTRY)
            }
        };
    };
}

/// Makes the registry of a plugin.
pub type MakeRegistry = fn() -> Result<Registry, Refusal>;

/// Most bytes of a request.
const MAX_BLOCK_BYTES: u32 = 32 << 20;

/// Time that nbdkit is given to end with its clients, once its session has ended.
const SHUTDOWN: std::time::Duration = std::time::Duration::from_secs(2);

static REGISTRY: OnceLock<MakeRegistry> = OnceLock::new();
static OPTIONS_GIVEN: Mutex<Option<Options>> = Mutex::new(None);
static SESSION: OnceLock<Session> = OnceLock::new();

/// The structure that nbdkit asks a plugin for.
struct Registered(Plugin);

// SAFETY: it holds pointers to static text and functions, and nobody changes it.
unsafe impl Sync for Registered {}

static PLUGIN: Registered = Registered(Plugin {
    struct_size: size_of::<Plugin>() as u64,
    api_version: API_VERSION,
    thread_model: THREAD_MODEL_PARALLEL,
    name: c"flashloom".as_ptr(),
    longname: c"Flashloom: a simulated flash drive".as_ptr(),
    version: concat_version(),
    config: Some(config),
    config_complete: Some(config_complete),
    dump_plugin: Some(dump_plugin),
    open: Some(open),
    get_size: Some(get_size),
    can_multi_conn: Some(yes),
    can_fua: Some(can_fua),
    can_fast_zero: Some(yes),
    get_ready: Some(get_ready),
    after_fork: Some(after_fork),
    cleanup: Some(cleanup),
    block_size: Some(block_size),
    pread: Some(pread),
    pwrite: Some(pwrite),
    flush: Some(flush),
    trim: Some(trim),
    zero: Some(zero),
    ..Plugin::NOTHING
});

const fn concat_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}

/// The plugin with the policies of a registry, as nbdkit wants it; for [`nbdkit!`].
#[doc(hidden)]
pub fn plugin(registry: MakeRegistry) -> *const c_void {
    // nbdkit asks once.
    REGISTRY.get_or_init(|| registry);
    (&raw const PLUGIN.0).cast()
}

/// The policies of this plugin.
fn registry() -> Result<Registry, String> {
    let make = REGISTRY.get().ok_or_else(|| "nbdkit has not asked for the plugin".to_owned())?;
    make().map_err(|refusal| refusal.to_string())
}

/// Reports an error to nbdkit's log.
fn report(message: &str) {
    let text = CString::new(message.replace('\0', "")).unwrap_or_default();
    // SAFETY: the format takes one text, which lives until the call ends.
    unsafe { nbdkit_error(c"%s".as_ptr(), text.as_ptr()) };
}

/// Calls `act`; -1 if it fails or panics, and the error is reported.
fn guarded(act: impl FnOnce() -> Result<(), String>) -> c_int {
    let message = match panic::catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(())) => return 0,
        Ok(Err(message)) => message,
        Err(_) => "a check of the simulation failed".to_owned(),
    };
    report(&message);
    -1
}

/// Serves a request of a client. What it did wrong, or what became of the drive, is an error number of the protocol.
fn served(act: impl FnOnce(&Session) -> Result<(), Fault>) -> c_int {
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| SESSION.get().map_or(Err(Fault::Broken), act)));
    let number = match outcome {
        Ok(Ok(())) => return 0,
        Ok(Err(Fault::Invalid)) => EINVAL,
        Ok(Err(Fault::Failed(Reason::ReadOnly))) => EROFS,
        Ok(Err(Fault::Failed(_) | Fault::Broken)) | Err(_) => EIO,
    };
    fail(number)
}

/// Fails a request of a client with this number.
fn fail(number: c_int) -> c_int {
    // SAFETY: it takes a number.
    unsafe { nbdkit_set_error(number) };
    -1
}

/// The sectors of a request in bytes.
fn sectors(offset: u64, count: u32) -> Result<(u64, u32), Fault> {
    let bytes = u64::from(count);
    let is_whole = offset.is_multiple_of(SECTOR_BYTES) && bytes.is_multiple_of(SECTOR_BYTES);
    if is_whole { Ok((offset / SECTOR_BYTES, (bytes / SECTOR_BYTES) as u32)) } else { Err(Fault::Invalid) }
}

/// [`sectors`] of a request that carries data.
fn data_sectors(offset: u64, count: u32) -> Result<(u64, u32), Fault> {
    if count > MAX_BLOCK_BYTES { Err(Fault::Invalid) } else { sectors(offset, count) }
}

extern "C" fn config(key: *const c_char, value: *const c_char) -> c_int {
    guarded(|| {
        // SAFETY: nbdkit passes two texts that end with zero, for the time of the call.
        let [key, value] = [key, value].map(|text| unsafe { CStr::from_ptr(text) }.to_str());
        let (Ok(key), Ok(value)) = (key, value) else { return Err("an option that is no UTF-8".to_owned()) };
        let mut options = OPTIONS_GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        options.get_or_insert_default().set(key, value)
    })
}

extern "C" fn config_complete() -> c_int {
    guarded(|| {
        let options = OPTIONS_GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        let has_experiment = options.as_ref().is_some_and(|options| options.experiment.is_some());
        if has_experiment { Ok(()) } else { Err(format!("no experiment: expected {OPTIONS}")) }
    })
}

/// Tells who asks by `nbdkit --dump-plugin` which build and which policies this is.
extern "C" fn dump_plugin() {
    guarded(|| {
        let told = Build::of(&registry()?, REVISION).to_string();
        io::stdout().write_all(told.as_bytes()).map_err(|error| error.to_string())
    });
}

/// Ages the drive, before nbdkit listens.
extern "C" fn get_ready() -> c_int {
    guarded(|| {
        // Threads that are made from here on, which are all that wait by the clock, are woken when they asked for it.
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let options = OPTIONS_GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        let catalog = of_this_build(registry()?).catalog().map_err(|refusal| refusal.to_string())?;
        let options = options.clone().unwrap_or_default();
        let session = Session::new(&catalog, &options).map_err(|error| match error.leave(&options) {
            true => "the inputs are refused".to_owned(),
            false => error.to_string(),
        })?;
        SESSION.set(session).map_err(|_| "it serves already".to_owned())
    })
}

extern "C" fn after_fork() -> c_int {
    guarded(|| {
        let Some(session) = SESSION.get() else { return Ok(()) };
        spawn("lifeline", || {
            let has_failed = guarded(|| session.hold_lifeline()) != 0;
            if session.is_ended() {
                // Who held the other end may have been killed: clients that stay must not keep this process alive.
                shut_down();
                std::thread::sleep(SHUTDOWN);
                std::process::exit(has_failed.into());
            }
        })?;
        session.answer_control(shut_down)?;
        session.show_page()?;
        match session.pace() {
            Pace::Fast { .. } => Ok(()),
            // A server that breaks tells its clients.
            Pace::Real { .. } => spawn("attend", || {
                guarded(|| {
                    session.server().attend();
                    Ok(())
                });
            }),
        }
    })
}

/// Asks nbdkit to end, which waits for its clients.
fn shut_down() {
    // SAFETY: it takes and returns nothing.
    unsafe { nbdkit_shutdown() }
}

fn spawn(name: &str, act: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(act);
    thread.map(drop).map_err(|error| format!("a thread cannot be made: {error}"))
}

/// Called when all connections are closed.
extern "C" fn cleanup() {
    guarded(|| SESSION.get().map_or(Ok(()), Session::end));
}

/// All clients have the one drive; nbdkit wants some pointer that is not null.
extern "C" fn open(_readonly: c_int) -> *mut c_void {
    (&raw const PLUGIN).cast_mut().cast()
}

extern "C" fn get_size(_handle: *mut c_void) -> i64 {
    SESSION.get().map_or(-1, |session| session.bytes() as i64)
}

extern "C" fn yes(_handle: *mut c_void) -> c_int {
    1
}

extern "C" fn can_fua(_handle: *mut c_void) -> c_int {
    FUA_NATIVE
}

extern "C" fn block_size(_handle: *mut c_void, minimum: *mut u32, preferred: *mut u32, maximum: *mut u32) -> c_int {
    let page_bytes = SESSION.get().map_or(SECTOR_BYTES as u32, Session::page_bytes);
    // SAFETY: nbdkit passes three places to write to.
    unsafe {
        minimum.write(SECTOR_BYTES as u32);
        preferred.write(page_bytes);
        maximum.write(MAX_BLOCK_BYTES);
    }
    0
}

extern "C" fn pread(_handle: *mut c_void, to: *mut c_void, count: u32, offset: u64, _flags: u32) -> c_int {
    served(|session| {
        let (lba, sectors) = data_sectors(offset, count)?;
        // SAFETY: nbdkit passes memory of that length for the time of the call, which is not initialised before: it is
        // written here first.
        let to = unsafe {
            to.cast::<u8>().write_bytes(0, count as usize);
            std::slice::from_raw_parts_mut(to.cast::<u8>(), count as usize)
        };
        session.server().execute(Command::Read { lba, sectors }, to)
    })
}

extern "C" fn pwrite(_handle: *mut c_void, from: *const c_void, count: u32, offset: u64, flags: u32) -> c_int {
    served(|session| {
        let (lba, _) = data_sectors(offset, count)?;
        // SAFETY: nbdkit passes data of that length for the time of the call.
        let data = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), count as usize) };
        session.server().execute(Command::Write { lba, data, fua: flags & FLAG_FUA != 0 }, &mut [])
    })
}

extern "C" fn flush(_handle: *mut c_void, _flags: u32) -> c_int {
    served(|session| session.server().execute(Command::Flush, &mut []))
}

extern "C" fn trim(_handle: *mut c_void, count: u32, offset: u64, flags: u32) -> c_int {
    served(|session| {
        let (lba, sectors) = sectors(offset, count)?;
        session.discard(lba, sectors, flags & FLAG_FUA != 0)
    })
}

extern "C" fn zero(_handle: *mut c_void, count: u32, offset: u64, flags: u32) -> c_int {
    if flags & FLAG_FAST_ZERO != 0 && flags & FLAG_MAY_TRIM == 0 {
        // Zeros that are written take as long as other data, which a client wants to know at once.
        return fail(ENOTSUP);
    }
    served(|session| {
        let (lba, sectors) = sectors(offset, count)?;
        session.write_zeros(lba, sectors, flags & FLAG_MAY_TRIM != 0, flags & FLAG_FUA != 0)
    })
}
