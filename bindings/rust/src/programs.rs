//! Start and end, evaluation, gradients, loops, captures and observation.

use std::any::Any;
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

use crate::ffi::{self, loom_tensor};
use crate::{c_text, check, note, text, Error, Result, Tensor};

/// The runtime is started while one of these lives.
pub struct Runtime(());

impl Runtime {
    /// Starts it; one that runs is joined.
    #[track_caller]
    pub fn start() -> Result<Self> {
        note();
        check(unsafe { ffi::loom_initialize() })?;
        Ok(Self(()))
    }
}

impl Drop for Runtime {
    /// Ends the runtime; what is still owned becomes stale. No other thread may be inside a call.
    fn drop(&mut self) {
        unsafe { ffi::loom_shutdown() };
    }
}

/// Gradients are not recorded on this thread while one of these lives.
pub struct NoGrad {
    before: bool,
    // it is for this thread
    thread: PhantomData<*const ()>,
}

impl NoGrad {
    /// Switches recording off.
    #[track_caller]
    pub fn new() -> Result<Self> {
        let mut before = true;
        note();
        check(unsafe { ffi::loom_set_grad_enabled(false, &mut before) })?;
        Ok(Self { before, thread: PhantomData })
    }
}

impl Drop for NoGrad {
    fn drop(&mut self) {
        unsafe { ffi::loom_set_grad_enabled(self.before, std::ptr::null_mut()) };
    }
}

pub(crate) fn handles(tensors: &[&Tensor]) -> Vec<loom_tensor> {
    tensors.iter().map(|t| t.handle()).collect()
}

pub(crate) fn room(count: usize) -> Vec<loom_tensor> {
    vec![loom_tensor { bits: 0 }; count]
}

pub(crate) fn owned(handles: Vec<loom_tensor>) -> Vec<Tensor> {
    handles.into_iter().map(Tensor::owned).collect()
}

/// Schedules everything given, as one program each; with wait, until it has been computed.
#[track_caller]
pub fn sync(tensors: &[&Tensor], wait: bool) -> Result<()> {
    let given = handles(tensors);
    note();
    check(unsafe { ffi::loom_sync(given.as_ptr(), given.len(), wait) })
}

/// The gradients of 0-d outputs with respect to inputs; with create_graph they can be
/// differentiated again.
#[track_caller]
pub fn grad(outputs: &[&Tensor], inputs: &[&Tensor], create_graph: bool) -> Result<Vec<Tensor>> {
    let (from, to) = (handles(outputs), handles(inputs));
    let mut found = room(to.len());
    note();
    check(unsafe {
        ffi::loom_grad(from.as_ptr(), from.len(), to.as_ptr(), to.len(), std::ptr::null(),
                       create_graph, found.as_mut_ptr())
    })?;
    Ok(owned(found))
}

/// The gradients of outputs of any shapes, given a cotangent for each, `None` for ones of a 0-d
/// one; with create_graph they can be differentiated again.
#[track_caller]
pub fn grad_from(outputs: &[&Tensor], inputs: &[&Tensor], cotangents: &[Option<&Tensor>],
                 create_graph: bool) -> Result<Vec<Tensor>> {
    if cotangents.len() != outputs.len() {
        return Err(Error::new(
            ffi::LOOM_ERROR_ARGUMENT,
            format!("grad_from: {} cotangents, expected {}, one for each output",
                    cotangents.len(), outputs.len())));
    }
    let (from, to, by) = (handles(outputs), handles(inputs), or_null(cotangents));
    let mut found = room(to.len());
    note();
    check(unsafe {
        ffi::loom_grad(from.as_ptr(), from.len(), to.as_ptr(), to.len(), by.as_ptr(),
                       create_graph, found.as_mut_ptr())
    })?;
    Ok(owned(found))
}

/// The handles of a list in which `None` stands for the null handle.
pub(crate) fn or_null(tensors: &[Option<&Tensor>]) -> Vec<loom_tensor> {
    tensors.iter().map(|t| t.map_or(loom_tensor { bits: 0 }, Tensor::handle)).collect()
}

/// Writes values into targets, one call for all.
#[track_caller]
pub fn assign(targets: &[&Tensor], values: &[&Tensor]) -> Result<()> {
    if targets.len() != values.len() {
        return Err(Error::new(
            ffi::LOOM_ERROR_ARGUMENT,
            format!("assign: {} targets and {} values, expected as many", targets.len(),
                    values.len())));
    }
    let (to, from) = (handles(targets), handles(values));
    note();
    check(unsafe { ffi::loom_tensors_assign(to.as_ptr(), from.as_ptr(), to.len()) })
}

// ---- loops and branches ---------------------------------------------------------------------

type Function<'a> = &'a mut dyn FnMut(&[Tensor]) -> Result<Vec<Tensor>>;

/// Two functions that go through one context, and what stopped them: a panic must not unwind
/// through C, and an error keeps what it carries.
pub(crate) struct Two<'a> {
    functions: [Function<'a>; 2],
    panic: Option<Box<dyn Any + Send>>,
    error: Option<Error>,
}

pub(crate) unsafe extern "C" fn call<const WHICH: usize>(
    inputs: *const loom_tensor, input_count: usize, outputs: *mut loom_tensor,
    output_count: usize, context: *mut c_void,
) -> ffi::loom_status {
    // SAFETY: context is a Two that lives during the call which this one is within, and that is
    // on this thread; inputs and outputs have as many entries as are said.
    let (two, given, places) = unsafe {
        let given: &[loom_tensor] =
            if input_count == 0 { &[] } else { std::slice::from_raw_parts(inputs, input_count) };
        (&mut *context.cast::<Two<'_>>(), given, outputs)
    };
    let function = &mut two.functions[WHICH];
    let done = catch_unwind(AssertUnwindSafe(|| -> Result<()> {
        let mut tensors = Vec::with_capacity(given.len());
        for &t in given {
            // the inputs stay the library's
            check(unsafe { ffi::loom_tensor_retain(t) })?;
            tensors.push(Tensor::owned(t));
        }
        let results = function(&tensors)?;
        if results.len() != output_count {
            return Err(Error::new(
                ffi::LOOM_ERROR_ARGUMENT,
                format!("the function gave {} tensors, expected {output_count}", results.len())));
        }
        for (i, t) in results.into_iter().enumerate() {
            unsafe { *places.add(i) = t.handle() };
            // the library takes one owner of each; of its own inputs it has that already
            if !given.contains(&t.handle()) {
                std::mem::forget(t);
            }
        }
        Ok(())
    }));
    let error = match done {
        Ok(Ok(())) => return ffi::LOOM_OK,
        Ok(Err(error)) => error,
        Err(panic) => {
            two.panic = Some(panic);
            Error::new(ffi::LOOM_ERROR, "the function panicked")
        }
    };
    let status = error.status;
    if let Ok(message) = c_text(&error.message) {
        unsafe { ffi::loom_set_error(status, message.as_ptr()) };
    }
    two.error = Some(error);
    status
}

/// Calls C with one function, and with what it goes through.
pub(crate) fn with_function(
    function: &mut dyn FnMut(&[Tensor]) -> Result<Vec<Tensor>>,
    call_c: impl FnOnce(ffi::loom_function, *mut c_void) -> ffi::loom_status,
) -> Result<()> {
    let mut second = never;
    let mut two = Two { functions: [function, &mut second], panic: None, error: None };
    let status = call_c(Some(call::<0>), (&mut two as *mut Two<'_>).cast());
    two.finish(status)
}

impl Two<'_> {
    fn finish(self, status: ffi::loom_status) -> Result<()> {
        if let Some(panic) = self.panic {
            resume_unwind(panic);
        }
        match self.error {
            Some(error) if status != ffi::LOOM_OK => Err(error),
            _ => check(status),
        }
    }
}

pub(crate) fn never(_: &[Tensor]) -> Result<Vec<Tensor>> {
    unreachable!("a scan has one function")
}

/// The last carry, then what the steps gave, stacked. step takes the carry and one element of each
/// of xs; it gives the next carry and ys_count tensors.
#[track_caller]
pub fn scan(mut step: impl FnMut(&[Tensor]) -> Result<Vec<Tensor>>, init: &[&Tensor],
            xs: &[&Tensor], ys_count: usize) -> Result<Vec<Tensor>> {
    let (carry, over) = (handles(init), handles(xs));
    let mut found = room(carry.len() + ys_count);
    let mut second = never;
    let mut two = Two { functions: [&mut step, &mut second], panic: None, error: None };
    note();
    let status = unsafe {
        ffi::loom_scan(Some(call::<0>), (&mut two as *mut Two<'_>).cast(), carry.as_ptr(),
                       carry.len(), over.as_ptr(), over.len(), -1, ys_count, false,
                       found.as_mut_ptr())
    };
    two.finish(status)?;
    Ok(owned(found))
}

/// The last carry of a loop of body while condition gives true; max_steps as in C, -1 for none.
#[track_caller]
pub fn while_loop(mut condition: impl FnMut(&[Tensor]) -> Result<Tensor>,
                  mut body: impl FnMut(&[Tensor]) -> Result<Vec<Tensor>>, init: &[&Tensor],
                  max_steps: i64) -> Result<Vec<Tensor>> {
    let carry = handles(init);
    let mut found = room(carry.len());
    let mut first = |given: &[Tensor]| condition(given).map(|t| vec![t]);
    let mut two = Two { functions: [&mut first, &mut body], panic: None, error: None };
    note();
    let status = unsafe {
        ffi::loom_while_loop(Some(call::<0>), Some(call::<1>), (&mut two as *mut Two<'_>).cast(),
                             carry.as_ptr(), carry.len(), max_steps, found.as_mut_ptr())
    };
    two.finish(status)?;
    Ok(owned(found))
}

/// One of two functions of the operands, each of which gives result_count tensors.
#[track_caller]
pub fn cond(which: &Tensor, mut if_true: impl FnMut(&[Tensor]) -> Result<Vec<Tensor>>,
            mut if_false: impl FnMut(&[Tensor]) -> Result<Vec<Tensor>>, operands: &[&Tensor],
            result_count: usize) -> Result<Vec<Tensor>> {
    let given = handles(operands);
    let mut found = room(result_count);
    let mut two = Two { functions: [&mut if_true, &mut if_false], panic: None, error: None };
    note();
    let status = unsafe {
        ffi::loom_cond(which.handle(), Some(call::<0>), Some(call::<1>),
                       (&mut two as *mut Two<'_>).cast(), given.as_ptr(), given.len(),
                       found.as_mut_ptr(), result_count)
    };
    two.finish(status)?;
    Ok(owned(found))
}

// ---- capture --------------------------------------------------------------------------------

/// A step that was recorded once: see loom_capture_begin() in lazyloom.h.
pub struct Capture {
    handle: ffi::loom_capture,
    count: usize,
}

/// Ends a capture that was begun and not ended, also where a panic unwinds.
struct Begun(bool);

impl Drop for Begun {
    fn drop(&mut self) {
        if self.0 {
            unsafe { ffi::loom_capture_cancel() };
        }
    }
}

impl Capture {
    /// Records step, which uses the inputs and gives the results of each run.
    #[track_caller]
    pub fn new(inputs: &[&Tensor], step: impl FnOnce() -> Result<Vec<Tensor>>) -> Result<Self> {
        let given = handles(inputs);
        note();
        check(unsafe { ffi::loom_capture_begin(given.as_ptr(), given.len()) })?;
        let mut begun = Begun(true);
        let results = step()?;
        let ends = handles(&results.iter().collect::<Vec<_>>());
        let mut handle = ffi::loom_capture { bits: 0 };
        note();
        // it ends also where it fails
        begun.0 = false;
        check(unsafe { ffi::loom_capture_end(ends.as_ptr(), ends.len(), &mut handle) })?;
        Ok(Self { handle, count: ends.len() })
    }

    /// Runs it over what the inputs hold; gives its results.
    #[track_caller]
    pub fn run(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let given = handles(inputs);
        let mut found = room(self.count);
        note();
        check(unsafe {
            ffi::loom_capture_run(self.handle, given.as_ptr(), given.len(), found.as_mut_ptr(),
                                  found.len())
        })?;
        Ok(owned(found))
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        unsafe { ffi::loom_capture_release(self.handle) };
    }
}

// ---- observation ----------------------------------------------------------------------------

/// A counter of the process, such as `programs_compiled`.
pub fn stat(name: &str) -> Result<i64> {
    let (name, mut value) = (c_text(name)?, 0);
    check(unsafe { ffi::loom_stat(name.as_ptr(), &mut value) })?;
    Ok(value)
}

/// The record of the last evaluation, for people; empty if there was none.
pub fn last_evaluation() -> Result<String> {
    text(|buffer, capacity, needed| unsafe {
        ffi::loom_last_evaluation(buffer, capacity, needed)
    })
}
