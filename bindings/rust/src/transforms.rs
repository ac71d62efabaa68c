//! Transforms of functions, waits, options and records.
//!
//! A function takes its inputs and gives `count` tensors. It runs once, on the inputs themselves,
//! so that it may read and branch; but for that of [`vmap`], whose inputs have no contents.

use crate::ffi::{self, loom_linear_map, loom_tensor};
use crate::programs::{handles, or_null, owned, room, with_function};
use crate::{c_text, check, note, text, Error, Result, Tensor};

/// The derivative of a function at its inputs.
#[derive(Debug)]
pub struct LinearMap {
    handle: loom_linear_map,
    takes: usize,
    gives: usize,
}

impl Drop for LinearMap {
    fn drop(&mut self) {
        // SAFETY: a handle of any value may be given; this one is owned and dropped once.
        unsafe { ffi::loom_linear_map_release(self.handle) };
    }
}

fn owned_or_none(handles: &[loom_tensor]) -> Vec<Option<Tensor>> {
    handles.iter().map(|&h| (h.bits != 0).then(|| Tensor::owned(h))).collect()
}

fn wrong(what: &str, given: usize, expected: usize) -> Error {
    Error::new(ffi::LOOM_ERROR_ARGUMENT, format!("{given} {what} were given, expected {expected}"))
}

impl LinearMap {
    /// Records it: of cotangents of the results for a pullback, of tangents of the inputs for a
    /// pushforward, `None` for zero; gives tensors of the other side.
    #[track_caller]
    pub fn apply(&self, given: &[Option<&Tensor>]) -> Result<Vec<Option<Tensor>>> {
        if given.len() != self.takes {
            return Err(wrong("tensors", given.len(), self.takes));
        }
        let (from, mut found) = (or_null(given), room(self.gives));
        note();
        // SAFETY: the lists have as many entries as are said.
        check(unsafe {
            ffi::loom_linear_map_apply(self.handle, from.as_ptr(), from.len(), found.as_mut_ptr(),
                                       self.gives)
        })?;
        Ok(owned_or_none(&found))
    }
}

/// The results of a function and the map that pulls cotangents back through it.
#[track_caller]
pub fn vjp(mut function: impl FnMut(&[Tensor]) -> Result<Vec<Tensor>>, inputs: &[&Tensor],
           count: usize) -> Result<(Vec<Tensor>, LinearMap)> {
    let (given, mut found) = (handles(inputs), room(count));
    let mut map = LinearMap { handle: loom_linear_map { bits: 0 }, takes: count,
                              gives: given.len() };
    note();
    with_function(&mut function, |call, context| unsafe {
        ffi::loom_vjp(call, context, given.as_ptr(), given.len(), found.as_mut_ptr(), count,
                      &mut map.handle)
    })?;
    Ok((owned(found), map))
}

/// The results of a function and the map that pushes tangents forward through it.
#[track_caller]
pub fn linearize(mut function: impl FnMut(&[Tensor]) -> Result<Vec<Tensor>>, inputs: &[&Tensor],
                 count: usize) -> Result<(Vec<Tensor>, LinearMap)> {
    let (given, mut found) = (handles(inputs), room(count));
    let mut map = LinearMap { handle: loom_linear_map { bits: 0 }, takes: given.len(),
                              gives: count };
    note();
    with_function(&mut function, |call, context| unsafe {
        ffi::loom_linearize(call, context, given.as_ptr(), given.len(), found.as_mut_ptr(), count,
                            &mut map.handle)
    })?;
    Ok((owned(found), map))
}

/// The results of a function and their derivatives along tangents, `None` for zero.
#[track_caller]
pub fn jvp(mut function: impl FnMut(&[Tensor]) -> Result<Vec<Tensor>>, inputs: &[&Tensor],
           tangents: &[Option<&Tensor>], count: usize)
           -> Result<(Vec<Tensor>, Vec<Option<Tensor>>)> {
    if tangents.len() != inputs.len() {
        return Err(wrong("tangents", tangents.len(), inputs.len()));
    }
    let (given, along) = (handles(inputs), or_null(tangents));
    let (mut found, mut derivatives) = (room(count), room(count));
    note();
    with_function(&mut function, |call, context| unsafe {
        ffi::loom_jvp(call, context, given.as_ptr(), along.as_ptr(), given.len(),
                      found.as_mut_ptr(), derivatives.as_mut_ptr(), count)
    })?;
    Ok((owned(found), owned_or_none(&derivatives)))
}

/// Positions of inputs: all of them where none is named.
fn positions_of(positions: &[usize], count: usize) -> Vec<usize> {
    if positions.is_empty() { (0..count).collect() } else { positions.to_vec() }
}

/// The results of a function, the first without dimensions, and the gradients of that by the inputs
/// at positions, by all if there are none.
#[track_caller]
pub fn value_and_grad(mut function: impl FnMut(&[Tensor]) -> Result<Vec<Tensor>>,
                      inputs: &[&Tensor], positions: &[usize], count: usize)
                      -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    let (given, by) = (handles(inputs), positions_of(positions, inputs.len()));
    let (mut found, mut gradients) = (room(count), room(by.len()));
    note();
    with_function(&mut function, |call, context| unsafe {
        ffi::loom_value_and_grad(call, context, given.as_ptr(), given.len(), by.as_ptr(), by.len(),
                                 found.as_mut_ptr(), count, gradients.as_mut_ptr())
    })?;
    Ok((owned(found), owned(gradients)))
}

/// The derivatives of each element of the results by each of the inputs, those of the first result
/// first.
#[track_caller]
pub fn jacobian(mut function: impl FnMut(&[Tensor]) -> Result<Vec<Tensor>>, inputs: &[&Tensor],
                positions: &[usize], count: usize) -> Result<Vec<Tensor>> {
    let (given, by) = (handles(inputs), positions_of(positions, inputs.len()));
    let mut found = room(count * by.len());
    note();
    with_function(&mut function, |call, context| unsafe {
        ffi::loom_jacobian(call, context, given.as_ptr(), given.len(), by.as_ptr(), by.len(), count,
                           ffi::LOOM_DIRECTION_ANY, false, found.as_mut_ptr())
    })?;
    Ok(owned(found))
}

/// The second derivatives, the last position varying first.
#[track_caller]
pub fn hessian(mut function: impl FnMut(&[Tensor]) -> Result<Vec<Tensor>>, inputs: &[&Tensor],
               positions: &[usize], count: usize) -> Result<Vec<Tensor>> {
    let (given, by) = (handles(inputs), positions_of(positions, inputs.len()));
    let mut found = room(count * by.len() * by.len());
    note();
    with_function(&mut function, |call, context| unsafe {
        ffi::loom_hessian(call, context, given.as_ptr(), given.len(), by.as_ptr(), by.len(), count,
                          found.as_mut_ptr())
    })?;
    Ok(owned(found))
}

/// Does for each element of an axis what a function does for one. The axis of each input, `None`
/// for one that has none; results have it first.
#[track_caller]
pub fn vmap(mut function: impl FnMut(&[Tensor]) -> Result<Vec<Tensor>>, inputs: &[&Tensor],
            in_axes: &[Option<i64>], count: usize) -> Result<Vec<Tensor>> {
    if in_axes.len() != inputs.len() {
        return Err(wrong("axes", in_axes.len(), inputs.len()));
    }
    let from: Vec<i64> = in_axes.iter().map(|a| a.unwrap_or(i64::MIN)).collect();
    let (given, mut found) = (handles(inputs), room(count));
    note();
    with_function(&mut function, |call, context| unsafe {
        ffi::loom_vmap(call, context, given.as_ptr(), given.len(), from.as_ptr(), -1,
                       std::ptr::null(), found.as_mut_ptr(), count)
    })?;
    Ok(owned(found))
}

// ---- waits ----------------------------------------------------------------------------------

/// Waits until tensors have been computed, but no longer than timeout; whether they have.
#[track_caller]
pub fn wait(tensors: &[&Tensor], timeout: std::time::Duration) -> Result<bool> {
    let given = handles(tensors);
    note();
    match unsafe { ffi::loom_wait(given.as_ptr(), given.len(), timeout.as_secs_f64()) } {
        ffi::LOOM_ERROR_TIMEOUT => Ok(false),
        status => check(status).map(|()| true),
    }
}

/// Whether a read would not wait.
#[track_caller]
pub fn is_ready(tensor: &Tensor) -> Result<bool> {
    let mut found = false;
    note();
    check(unsafe { ffi::loom_tensor_is_ready(tensor.handle(), &mut found) })?;
    Ok(found)
}

// ---- options and records --------------------------------------------------------------------

/// The value of an option by its name; 0 and 1 are false and true.
#[track_caller]
pub fn option(name: &str) -> Result<f64> {
    let (name, mut found) = (c_text(name)?, 0.0);
    note();
    check(unsafe { ffi::loom_option_get(name.as_ptr(), &mut found) })?;
    Ok(found)
}

/// Sets an option; gives its value before. Options that are true or false are this thread's.
#[track_caller]
pub fn set_option(name: &str, value: f64) -> Result<f64> {
    let (name, mut before) = (c_text(name)?, 0.0);
    note();
    check(unsafe { ffi::loom_option_set(name.as_ptr(), value, &mut before) })?;
    Ok(before)
}

/// All options as JSON.
pub fn options_json() -> Result<String> {
    text(|buffer, capacity, needed| unsafe { ffi::loom_options_json(buffer, capacity, needed) })
}

/// All counters as JSON.
pub fn stats_json() -> Result<String> {
    text(|buffer, capacity, needed| unsafe { ffi::loom_stats_json(buffer, capacity, needed) })
}

/// The records of the newest evaluations as JSON: count at most, 0 for all that are kept.
pub fn evaluations_json(count: usize) -> Result<String> {
    text(|buffer, capacity, needed| unsafe {
        ffi::loom_evaluations_json(count, buffer, capacity, needed)
    })
}

/// A profile of the process, until [`Profile::end`] or until it is dropped.
#[derive(Debug)]
pub struct Profile(());

impl Profile {
    /// Begins one. path: a file for the report, written at the end, in the form that its name ends
    /// in (.html, .json, .trace.json, text). sources: whether it may have lines of the source.
    #[track_caller]
    pub fn begin(path: Option<&str>, sources: bool) -> Result<Self> {
        let path = path.map(c_text).transpose()?;
        note();
        check(unsafe {
            ffi::loom_profile_begin(path.as_ref().map_or(std::ptr::null(), |p| p.as_ptr()), sources)
        })?;
        Ok(Self(()))
    }

    /// Ends it; gives the report as JSON.
    #[track_caller]
    pub fn end(self) -> Result<String> {
        std::mem::forget(self);
        note();
        check(unsafe { ffi::loom_profile_end() })?;
        profile_json()
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        // whoever wants to know whether the file was written calls end()
        unsafe { ffi::loom_profile_end() };
    }
}

/// The report of the profile that ended last as JSON; "{}" before the first.
pub fn profile_json() -> Result<String> {
    text(|buffer, capacity, needed| unsafe { ffi::loom_profile_json(buffer, capacity, needed) })
}

/// The key of a seed, as random ops take one.
#[track_caller]
pub fn random_key(seed: u64) -> Result<Tensor> {
    let mut found = loom_tensor { bits: 0 };
    note();
    check(unsafe { ffi::loom_random_key(seed, &mut found) })?;
    Ok(Tensor::owned(found))
}
