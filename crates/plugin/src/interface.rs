//! nbdkit's interface for plugins in C, version 2, by its header `nbdkit-plugin.h` and nbdkit-plugin(3). The structure
//! only ever grows at its end, and begins with its size, so that it fits other versions; it was tried with 1.32.
//! Functions that are not set here are those that a later version of the interface adds, or that no drive needs.

use std::ffi::{c_char, c_int, c_void};

pub const API_VERSION: c_int = 2;
/// Any function may be called from any thread, at any time.
pub const THREAD_MODEL_PARALLEL: c_int = 3;
pub const FLAG_MAY_TRIM: u32 = 1 << 0;
pub const FLAG_FUA: u32 = 1 << 1;
pub const FLAG_FAST_ZERO: u32 = 1 << 3;
/// The plugin handles the flag itself.
pub const FUA_NATIVE: c_int = 2;

// Numbers of errors, which are the same on every system that nbdkit runs on.
pub const EIO: c_int = 5;
pub const EINVAL: c_int = 22;
pub const EROFS: c_int = 30;
/// Of Linux.
pub const ENOTSUP: c_int = 95;

unsafe extern "C" {
    pub fn nbdkit_error(format: *const c_char, ...);
    pub fn nbdkit_set_error(number: c_int);
    pub fn nbdkit_shutdown();
}

type Void = Option<extern "C" fn()>;
type Int = Option<extern "C" fn() -> c_int>;
type Of<T> = Option<extern "C" fn(*mut c_void) -> T>;
/// A function of another version of the interface.
type Unused = Option<extern "C" fn()>;
type Ranged = Option<extern "C" fn(*mut c_void, u32, u64, u32) -> c_int>;

/// `struct nbdkit_plugin`.
#[repr(C)]
pub struct Plugin {
    pub struct_size: u64,
    pub api_version: c_int,
    pub thread_model: c_int,
    pub name: *const c_char,
    pub longname: *const c_char,
    pub version: *const c_char,
    pub description: *const c_char,
    pub load: Void,
    pub unload: Void,
    pub config: Option<extern "C" fn(*const c_char, *const c_char) -> c_int>,
    pub config_complete: Int,
    pub config_help: *const c_char,
    pub open: Option<extern "C" fn(c_int) -> *mut c_void>,
    pub close: Of<()>,
    pub get_size: Of<i64>,
    pub can_write: Of<c_int>,
    pub can_flush: Of<c_int>,
    pub is_rotational: Of<c_int>,
    pub can_trim: Of<c_int>,
    pub of_version_1: [Unused; 5],
    pub errno_is_preserved: c_int,
    pub dump_plugin: Void,
    pub can_zero: Of<c_int>,
    pub can_fua: Of<c_int>,
    pub pread: Option<extern "C" fn(*mut c_void, *mut c_void, u32, u64, u32) -> c_int>,
    pub pwrite: Option<extern "C" fn(*mut c_void, *const c_void, u32, u64, u32) -> c_int>,
    pub flush: Option<extern "C" fn(*mut c_void, u32) -> c_int>,
    pub trim: Ranged,
    pub zero: Ranged,
    pub magic_config_key: *const c_char,
    pub can_multi_conn: Of<c_int>,
    pub can_extents: Of<c_int>,
    pub extents: Unused,
    pub can_cache: Of<c_int>,
    pub cache: Ranged,
    pub dynamic_thread_model: Int,
    pub can_fast_zero: Of<c_int>,
    pub preconnect: Option<extern "C" fn(c_int) -> c_int>,
    pub get_ready: Int,
    pub after_fork: Int,
    pub list_exports: Unused,
    pub default_export: Unused,
    pub export_description: Unused,
    pub cleanup: Void,
    pub block_size: Option<extern "C" fn(*mut c_void, *mut u32, *mut u32, *mut u32) -> c_int>,
}

impl Plugin {
    /// A structure in which nothing is set but the help, as C leaves what an initializer does not name.
    pub const NOTHING: Self = Self {
        config_help: c"experiment=FILE.toml, and further options of `flashloom serve`".as_ptr(),
        // SAFETY: zero is a value of every field: a number, a null pointer, or no function.
        ..unsafe { std::mem::zeroed() }
    };
}
