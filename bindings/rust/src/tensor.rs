//! Tensors and their elements.

use std::marker::PhantomData;
use std::ops::Deref;
use std::os::raw::c_void;

use crate::ffi::{self, loom_buffer, loom_tensor};
use crate::{check, note, text, Error, Result};

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
#[allow(missing_docs)]
pub enum DType {
    None = 0, Bool, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Float16, Bfloat16,
    Float32, Float64, Complex64, Complex128,
}

impl DType {
    const ALL: [DType; 16] = [
        DType::None, DType::Bool, DType::Int8, DType::Int16, DType::Int32, DType::Int64,
        DType::Uint8, DType::Uint16, DType::Uint32, DType::Uint64, DType::Float16,
        DType::Bfloat16, DType::Float32, DType::Float64, DType::Complex64, DType::Complex128,
    ];
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type whose values are elements of a tensor as they are; `[f32; 2]` and `[f64; 2]` are
/// complex numbers, real part first.
pub trait Element: Copy + sealed::Sealed {
    /// The dtype of such elements.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($kind:ty => $dtype:ident,)*) => {$(
        impl sealed::Sealed for $kind {}
        impl Element for $kind {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}

elements! {
    bool => Bool, i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, u8 => Uint8,
    u16 => Uint16, u32 => Uint32, u64 => Uint64, f32 => Float32, f64 => Float64,
    [f32; 2] => Complex64, [f64; 2] => Complex128,
}

/// An array whose contents may be pending. A clone is another owner of the same tensor.
#[derive(Debug)]
pub struct Tensor(loom_tensor);

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: a handle of any value may be given; this one is owned and dropped once.
        unsafe { ffi::loom_tensor_release(self.0) };
    }
}

impl Clone for Tensor {
    /// Panics where the runtime has ended.
    #[track_caller]
    fn clone(&self) -> Self {
        // SAFETY: as for every handle.
        if let Err(error) = check(unsafe { ffi::loom_tensor_retain(self.0) }) {
            panic!("{error}");
        }
        Self(self.0)
    }
}

/// A value that a function of the C ABI gives by a pointer.
fn given<T>(start: T, call: impl FnOnce(*mut T) -> ffi::loom_status) -> Result<T> {
    let mut found = start;
    check(call(&mut found))?;
    Ok(found)
}

const NULL: loom_tensor = loom_tensor { bits: 0 };

impl Tensor {
    pub(crate) fn owned(handle: loom_tensor) -> Self {
        Self(handle)
    }

    /// The handle, still owned by this object.
    pub fn handle(&self) -> loom_tensor {
        self.0
    }

    /// Gives the handle away.
    pub fn into_handle(self) -> loom_tensor {
        let handle = self.0;
        std::mem::forget(self);
        handle
    }

    /// A tensor with a copy of host memory, row-major.
    #[track_caller]
    pub fn new<T: Element>(data: &[T], shape: &[usize]) -> Result<Self> {
        let extents: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
        note();
        // SAFETY: data and shape go with their lengths, and are read during the call.
        given(NULL, |found| unsafe {
            ffi::loom_tensor_from_host(
                data.as_ptr().cast(), std::mem::size_of_val(data), T::DTYPE as i32,
                extents.as_ptr(), extents.len(), found)
        })
        .map(Self)
    }

    /// A tensor without dimensions.
    #[track_caller]
    pub fn scalar<T: Element>(value: T) -> Result<Self> {
        Self::new(&[value], &[])
    }

    /// A tensor of a vector's elements, which stay where they are if they can.
    #[track_caller]
    pub fn from_vec<T: Element + Send + 'static>(data: Vec<T>, shape: &[usize]) -> Result<Self> {
        unsafe extern "C" fn done<T>(context: *mut c_void) {
            // SAFETY: context is the box given below, and this is called once.
            drop(unsafe { Box::from_raw(context.cast::<Vec<T>>()) });
        }
        let extents: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
        let (start, nbytes) = (data.as_ptr(), std::mem::size_of_val(data.as_slice()));
        let kept = Box::into_raw(Box::new(data));
        note();
        // SAFETY: the vector is kept unchanged until done() drops it, also if this fails.
        given(NULL, |found| unsafe {
            ffi::loom_tensor_share_host(
                start.cast(), nbytes, T::DTYPE as i32, extents.as_ptr(), extents.len(),
                Some(done::<T>), kept.cast(), found)
        })
        .map(Self)
    }

    /// The type of the elements.
    #[track_caller]
    pub fn dtype(&self) -> Result<DType> {
        note();
        // SAFETY: as for every function that writes one value.
        let found = given(0, |p| unsafe { ffi::loom_tensor_dtype(self.0, p) })?;
        Ok(DType::ALL.get(found as usize).copied().unwrap_or(DType::None))
    }

    /// The extents.
    #[track_caller]
    pub fn shape(&self) -> Result<Vec<usize>> {
        note();
        // SAFETY: the buffer has as many entries as are said.
        let ndim = given(0, |p| unsafe { ffi::loom_tensor_ndim(self.0, p) })?;
        let mut found = vec![0i64; ndim.max(1)];
        check(unsafe {
            ffi::loom_tensor_shape(self.0, found.as_mut_ptr(), ndim, std::ptr::null_mut())
        })?;
        found.truncate(ndim);
        Ok(found.into_iter().map(|n| n as usize).collect())
    }

    /// Whether the contents are recorded and not yet scheduled.
    #[track_caller]
    pub fn is_pending(&self) -> Result<bool> {
        note();
        given(false, |p| unsafe { ffi::loom_tensor_is_pending(self.0, p) })
    }

    /// Whether a gradient can flow from it.
    #[track_caller]
    pub fn requires_grad(&self) -> Result<bool> {
        note();
        given(false, |p| unsafe { ffi::loom_tensor_requires_grad(self.0, p) })
    }

    #[track_caller]
    fn same_dtype<T: Element>(&self) -> Result<()> {
        let own = self.dtype()?;
        if own == T::DTYPE {
            return Ok(());
        }
        let place = std::panic::Location::caller();
        let mut error = Error::new(
            ffi::LOOM_ERROR_DTYPE,
            format!("read: the tensor's dtype is {own:?}, expected elements of that type, given \
                     {:?}; ops::cast gives another dtype", T::DTYPE));
        error.site = format!("{}:{}", place.file(), place.line());
        Err(error)
    }

    /// The contents, computed if they are pending. `T` has to be of the tensor's dtype.
    #[track_caller]
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        self.same_dtype::<T>()?;
        let nbytes = given(0, |p| unsafe { ffi::loom_tensor_nbytes(self.0, p) })?;
        let count = nbytes / std::mem::size_of::<T>();
        let mut found: Vec<T> = Vec::with_capacity(count);
        note();
        // SAFETY: exactly nbytes are written where there is room for them, of values that are
        // valid for T, since the dtypes are equal; a bool is 0 or 1.
        unsafe {
            check(ffi::loom_tensor_read(self.0, found.as_mut_ptr().cast(), nbytes))?;
            found.set_len(count);
        }
        Ok(found)
    }

    /// The one element of a tensor of one.
    #[track_caller]
    pub fn item<T: Element>(&self) -> Result<T> {
        let found = self.read::<T>()?;
        match found[..] {
            [one] => Ok(one),
            _ => Err(Error::new(
                ffi::LOOM_ERROR_SHAPE,
                format!("item: the tensor has {} elements, expected one", found.len()))),
        }
    }

    /// The contents in place, where the processor can see them.
    #[track_caller]
    pub fn map<T: Element>(&self) -> Result<Mapped<T>> {
        self.same_dtype::<T>()?;
        let mut buffer = loom_buffer { bits: 0 };
        let (mut data, mut nbytes) = (std::ptr::null(), 0);
        note();
        // SAFETY: three values are written.
        check(unsafe { ffi::loom_tensor_map(self.0, &mut buffer, &mut data, &mut nbytes) })?;
        Ok(Mapped { buffer, data: data as usize, count: nbytes / std::mem::size_of::<T>(),
                    kind: PhantomData })
    }

    /// The same tensor as a leaf that gradients are collected for.
    #[track_caller]
    pub fn require_grad(self) -> Result<Self> {
        note();
        check(unsafe { ffi::loom_tensor_require_grad(self.0, true) })?;
        Ok(self)
    }

    /// Writes value's contents into it, in place: every owner sees them.
    #[track_caller]
    pub fn assign(&self, value: &Tensor) -> Result<()> {
        note();
        check(unsafe { ffi::loom_tensor_assign(self.0, value.0) })
    }

    /// The same contents without their history.
    #[track_caller]
    pub fn detach(&self) -> Result<Self> {
        note();
        given(NULL, |p| unsafe { ffi::loom_tensor_detach(self.0, p) }).map(Self)
    }

    /// Adds its gradients to what the leaves have collected.
    #[track_caller]
    pub fn backward(&self) -> Result<()> {
        note();
        check(unsafe { ffi::loom_backward(&self.0, 1, std::ptr::null()) })
    }

    /// What [`backward`](Tensor::backward) collected for this leaf.
    pub fn gradient(&self) -> Result<Option<Self>> {
        let found = given(NULL, |p| unsafe { ffi::loom_tensor_gradient(self.0, p) })?;
        Ok((found != NULL).then_some(Self(found)))
    }

    /// Forgets what was collected.
    pub fn clear_gradient(&self) -> Result<()> {
        check(unsafe { ffi::loom_tensor_clear_gradient(self.0) })
    }

    /// Where it is or will be, such as `default:0`.
    pub fn placement(&self) -> Result<String> {
        text(|buffer, capacity, needed| unsafe {
            ffi::loom_tensor_placement(self.0, buffer, capacity, needed)
        })
    }
}

/// Host memory with a tensor's contents, row-major; a slice of them.
pub struct Mapped<T: Element> {
    buffer: loom_buffer,
    // an address: the memory is not written as long as the buffer lives, so threads may share it
    data: usize,
    count: usize,
    kind: PhantomData<T>,
}

impl<T: Element> Deref for Mapped<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.count == 0 {
            return &[];
        }
        // SAFETY: the memory is valid and unchanged until the buffer is released.
        unsafe { std::slice::from_raw_parts(self.data as *const T, self.count) }
    }
}

impl<T: Element> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: an owned handle, dropped once.
        unsafe { ffi::loom_buffer_release(self.buffer) };
    }
}
