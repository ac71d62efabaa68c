//! Lazyloom, a lazy tensor runtime: operations are recorded as they are called and compiled, as
//! one program, when a value is needed.
//!
//! ```no_run
//! use lazyloom::{ops, Runtime, Tensor};
//!
//! fn main() -> lazyloom::Result<()> {
//!     let _runtime = Runtime::start()?;
//!     let x = Tensor::new(&[1.0f32, 2.0, 3.0], &[3])?.require_grad()?;
//!     let y = ops::sum(&(&(&x + 1.0) * 2.0), Default::default())?; // recorded
//!     y.backward()?;
//!     println!("{:?}", x.gradient()?.unwrap().read::<f32>()?); // compiled and run
//!     Ok(())
//! }
//! ```
//!
//! Functions give a [`Result`]; its [`Error`] carries the status, the op, the argument and the
//! caller's file and line. Operators panic with the same message, for they give a tensor.
//!
//! # Threads
//!
//! [`Tensor`], [`Mapped`] and [`Capture`] are `Send` and `Sync`, because they hold a handle that
//! the C ABI lets any thread use and release, and two threads use at a time. To assign to a tensor
//! or to make a leaf of it while another thread uses it gives an error or either order, and never
//! a data race, so these take `&self`. An [`Error`] is read on the thread of the call that failed,
//! before the function returns. [`NoGrad`] is not `Send`, because it switches its thread.

pub mod ffi;
pub mod ops;
mod operators;
mod programs;
mod record;
mod tensor;
mod transforms;

pub use programs::{
    assign, cond, grad, grad_from, last_evaluation, scan, stat, sync, while_loop, Capture, NoGrad, Runtime,
};
pub use record::Operand;
pub use tensor::{DType, Element, Mapped, Tensor};
pub use transforms::{
    evaluations_json, hessian, is_ready, jacobian, jvp, linearize, option, options_json,
    profile_json, random_key, set_option, stats_json, value_and_grad, vjp, vmap, wait, LinearMap,
    Profile,
};

use std::ffi::{CStr, CString};
use std::fmt;
use std::os::raw::c_char;
use std::panic::Location;

/// What the functions of this crate give.
pub type Result<T> = std::result::Result<T, Error>;

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// One of the `LOOM_ERROR` constants of [`ffi`].
    pub status: ffi::loom_status,
    /// What was wrong, what was given and expected.
    pub message: String,
    /// The op; empty if it is about none.
    pub op: String,
    /// The caller's `file:line`; empty if unknown.
    pub site: String,
    /// The parameter, operand or attribute that it is about; empty if not one.
    pub argument: String,
    /// Which operand, or entry of a list, it is; `None` if neither.
    pub index: Option<usize>,
}

impl Error {
    /// The name of the status, such as `LOOM_ERROR_SHAPE`.
    pub fn status_name(&self) -> String {
        // SAFETY: the name is a static text for every status.
        text_of(unsafe { ffi::loom_status_name(self.status) })
    }

    /// An error of the caller's own, for functions of loops that fail.
    pub fn new(status: ffi::loom_status, message: impl Into<String>) -> Self {
        let empty = String::new;
        Self { status, message: message.into(), op: empty(), site: empty(), argument: empty(),
               index: None }
    }

    /// This thread's last failure.
    fn last(status: ffi::loom_status) -> Self {
        let none = std::ptr::null();
        let mut details = ffi::loom_error_details {
            size: std::mem::size_of::<ffi::loom_error_details>(),
            status, message: none, op: none, site: none, argument: none, index: -1,
            expected: none,
        };
        // SAFETY: null asks for this thread's failure; size says how much may be written. The
        // texts are valid until the next failure of this thread, and copied before.
        unsafe {
            if ffi::loom_error_describe(std::ptr::null(), &mut details) != ffi::LOOM_OK {
                return Self::new(status, text_of(ffi::loom_error_message()));
            }
        }
        Self {
            status,
            message: text_of(details.message),
            op: text_of(details.op),
            site: text_of(details.site),
            argument: text_of(details.argument),
            index: usize::try_from(details.index).ok(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.site.is_empty() {
            write!(f, "{}: ", self.site)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the library's texts end in a zero byte.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn check(status: ffi::loom_status) -> Result<()> {
    if status == ffi::LOOM_OK { Ok(()) } else { Err(Error::last(status)) }
}

/// Says which line the next call stands for: that of the caller of whoever is `#[track_caller]`.
#[track_caller]
fn note() {
    let place = Location::caller();
    if let Ok(file) = CString::new(place.file()) {
        // SAFETY: the name is copied by the call.
        unsafe { ffi::loom_copy_source_location(file.as_ptr(), place.line() as i32) }
    }
}

/// A text for C. What has a zero byte within cannot be one.
fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        Error::new(ffi::LOOM_ERROR_ARGUMENT,
                   format!("{text:?} has a zero byte in it, expected a text without one"))
    })
}

/// A text whose length is found first.
fn text(call: impl Fn(*mut c_char, usize, *mut usize) -> ffi::loom_status) -> Result<String> {
    let mut needed = 0;
    check(call(std::ptr::null_mut(), 0, &mut needed))?;
    let mut bytes = vec![0u8; needed];
    check(call(bytes.as_mut_ptr().cast(), bytes.len(), &mut needed))?;
    bytes.truncate(bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len()));
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
