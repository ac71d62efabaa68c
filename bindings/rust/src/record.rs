//! Operands, attributes and the call that records an op.

use std::ffi::{CStr, CString};
use std::marker::PhantomData;

use crate::ffi::{self, loom_attr, loom_attr_value, loom_operand, loom_tensor};
use crate::{check, note, DType, Error, Result, Tensor};

/// A tensor or a number. Numbers are run-time parameters of the program: another one does not
/// compile again, and it takes the dtype of the tensors beside it.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    kind: i32,
    dtype: DType,
    tensor: u64,
    integer: i64,
    real: f64,
    lifetime: PhantomData<&'a Tensor>,
}

impl<'a> Operand<'a> {
    const fn of(kind: i32, tensor: u64, integer: i64, real: f64) -> Self {
        Self { kind, dtype: DType::None, tensor, integer, real, lifetime: PhantomData }
    }

    /// An optional operand that is left out.
    pub const fn none() -> Self {
        Self::of(ffi::LOOM_OPERAND_NONE, 0, 0, 0.0)
    }

    /// The same number with a dtype of its own.
    pub const fn of_dtype(mut self, dtype: DType) -> Self {
        self.dtype = dtype;
        self
    }

    fn c(&self) -> loom_operand {
        loom_operand {
            kind: self.kind, dtype: self.dtype as i32, tensor: self.tensor,
            integer: self.integer, real: self.real, imaginary: 0.0,
        }
    }
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::of(ffi::LOOM_OPERAND_TENSOR, tensor.handle().bits, 0, 0.0)
    }
}

impl<'a> From<&&'a Tensor> for Operand<'a> {
    fn from(tensor: &&'a Tensor) -> Self {
        Self::from(*tensor)
    }
}

impl From<bool> for Operand<'_> {
    fn from(value: bool) -> Self {
        Self::of(ffi::LOOM_OPERAND_BOOL, 0, i64::from(value), 0.0)
    }
}

macro_rules! numbers {
    ($($kind:ty => $operand:expr, $integer:expr, $real:expr;)*) => {$(
        impl From<$kind> for Operand<'_> {
            fn from(value: $kind) -> Self {
                let (integer, real): (fn($kind) -> i64, fn($kind) -> f64) = ($integer, $real);
                Self::of($operand, 0, integer(value), real(value))
            }
        }
    )*};
}

numbers! {
    i32 => ffi::LOOM_OPERAND_INTEGER, i64::from, |_| 0.0;
    i64 => ffi::LOOM_OPERAND_INTEGER, |x| x, |_| 0.0;
    f32 => ffi::LOOM_OPERAND_REAL, |_| 0, f64::from;
    f64 => ffi::LOOM_OPERAND_REAL, |_| 0, |x| x;
}

/// A named attribute; it borrows lists and owns a text, which C wants a zero byte after.
pub(crate) struct Attr<'a> {
    c: loom_attr,
    // an error is told when the op is recorded
    text: std::result::Result<Option<CString>, Error>,
    lifetime: PhantomData<&'a ()>,
}

impl<'a> Attr<'a> {
    pub(crate) fn new(name: &'a CStr, value: impl Value<'a>) -> Self {
        let mut attr = Self {
            c: loom_attr {
                name: name.as_ptr(),
                kind: ffi::LOOM_ATTR_NONE,
                count: 0,
                value: loom_attr_value { integer: 0 },
            },
            text: Ok(None),
            lifetime: PhantomData,
        };
        value.set(&mut attr);
        attr
    }

    fn give(&mut self, kind: i32, count: usize, value: loom_attr_value) {
        (self.c.kind, self.c.count, self.c.value) = (kind, count, value);
    }
}

/// What an attribute can be.
pub(crate) trait Value<'a> {
    fn set(self, attr: &mut Attr<'a>);
}

impl<'a> Value<'a> for bool {
    fn set(self, attr: &mut Attr<'a>) {
        attr.give(ffi::LOOM_ATTR_BOOL, 0, loom_attr_value { boolean: self });
    }
}

impl<'a> Value<'a> for i64 {
    fn set(self, attr: &mut Attr<'a>) {
        attr.give(ffi::LOOM_ATTR_INT, 0, loom_attr_value { integer: self });
    }
}

impl<'a> Value<'a> for f64 {
    fn set(self, attr: &mut Attr<'a>) {
        attr.give(ffi::LOOM_ATTR_FLOAT, 0, loom_attr_value { real: self });
    }
}

impl<'a> Value<'a> for DType {
    fn set(self, attr: &mut Attr<'a>) {
        if self != DType::None {
            attr.give(ffi::LOOM_ATTR_DTYPE, 0, loom_attr_value { dtype: self as i32 });
        }
    }
}

impl<'a> Value<'a> for &'a [i64] {
    fn set(self, attr: &mut Attr<'a>) {
        // the pointer of an empty slice is not null, as an empty list's has to be
        attr.give(ffi::LOOM_ATTR_INTS, self.len(), loom_attr_value { integers: self.as_ptr() });
    }
}

impl<'a> Value<'a> for &'a [f64] {
    fn set(self, attr: &mut Attr<'a>) {
        attr.give(ffi::LOOM_ATTR_FLOATS, self.len(), loom_attr_value { reals: self.as_ptr() });
    }
}

impl<'a> Value<'a> for &'a str {
    fn set(self, attr: &mut Attr<'a>) {
        match crate::c_text(self) {
            Ok(text) => {
                attr.give(ffi::LOOM_ATTR_STR, 0, loom_attr_value { text: text.as_ptr() });
                attr.text = Ok(Some(text));
            }
            Err(error) => attr.text = Err(error),
        }
    }
}

impl<'a, T: Value<'a>> Value<'a> for Option<T> {
    fn set(self, attr: &mut Attr<'a>) {
        if let Some(value) = self {
            value.set(attr);
        }
    }
}

#[track_caller]
fn apply(op: &CStr, operands: &[Operand<'_>], attributes: &[Attr<'_>],
         results: &mut [loom_tensor]) -> Result<usize> {
    let operands: Vec<loom_operand> = operands.iter().map(Operand::c).collect();
    let mut attrs = Vec::with_capacity(attributes.len());
    for a in attributes {
        a.text.as_ref().map_err(Clone::clone)?;
        attrs.push(a.c);
    }
    let mut count = 0;
    note();
    // SAFETY: every pointer goes with the length of its list, and all live during the call.
    check(unsafe {
        ffi::loom_apply(op.as_ptr(), operands.as_ptr(), operands.len(), attrs.as_ptr(),
                        attrs.len(), results.as_mut_ptr(), results.len(), &mut count)
    })?;
    Ok(count)
}

#[track_caller]
pub(crate) fn record<const N: usize>(op: &CStr, operands: &[Operand<'_>],
                                     attributes: &[Attr<'_>]) -> Result<[Tensor; N]> {
    let mut found = [loom_tensor { bits: 0 }; N];
    apply(op, operands, attributes, &mut found)?;
    Ok(found.map(Tensor::owned))
}

#[track_caller]
pub(crate) fn record_one(op: &CStr, operands: &[Operand<'_>],
                         attributes: &[Attr<'_>]) -> Result<Tensor> {
    let [result] = record::<1>(op, operands, attributes)?;
    Ok(result)
}

/// Records an op whose number of results depends on the call: at most one for each operand, and
/// for each entry of a list among its attributes, and a few.
#[track_caller]
pub(crate) fn record_list(op: &CStr, operands: &[Operand<'_>],
                          attributes: &[Attr<'_>]) -> Result<Vec<Tensor>> {
    let entries: usize = attributes.iter().map(|a| a.c.count).sum();
    let mut found = vec![loom_tensor { bits: 0 }; operands.len() + entries + 8];
    let count = apply(op, operands, attributes, &mut found)?;
    Ok(found.into_iter().take(count).map(Tensor::owned).collect())
}
