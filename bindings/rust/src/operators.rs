//! `+ - * /` and unary `-` of tensors and numbers. They panic where the function would give an
//! error, with its message.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::{ops, Result, Tensor};

#[track_caller]
fn must(result: Result<Tensor>) -> Tensor {
    match result {
        Ok(tensor) => tensor,
        Err(error) => panic!("{error}"),
    }
}

macro_rules! operator {
    ($($name:ident, $method:ident, $op:ident;)*) => {$(
        operator!(@one $name, $method, $op, &Tensor, &Tensor, |x| x, |y| y);
        operator!(@one $name, $method, $op, Tensor, &Tensor, |x| &x, |y| y);
        operator!(@one $name, $method, $op, &Tensor, Tensor, |x| x, |y| &y);
        operator!(@one $name, $method, $op, Tensor, Tensor, |x| &x, |y| &y);
        operator!(@one $name, $method, $op, &Tensor, f64, |x| x, |y| y);
        operator!(@one $name, $method, $op, Tensor, f64, |x| &x, |y| y);
        operator!(@one $name, $method, $op, f64, &Tensor, |x| x, |y| y);
        operator!(@one $name, $method, $op, f64, Tensor, |x| x, |y| &y);
        operator!(@one $name, $method, $op, &Tensor, i64, |x| x, |y| y);
        operator!(@one $name, $method, $op, Tensor, i64, |x| &x, |y| y);
        operator!(@one $name, $method, $op, i64, &Tensor, |x| x, |y| y);
        operator!(@one $name, $method, $op, i64, Tensor, |x| x, |y| &y);
    )*};
    (@one $name:ident, $method:ident, $op:ident, $left:ty, $right:ty,
     |$x:ident| $given_x:expr, |$y:ident| $given_y:expr) => {
        impl $name<$right> for $left {
            type Output = Tensor;

            #[track_caller]
            fn $method(self, other: $right) -> Tensor {
                let ($x, $y) = (self, other);
                must(ops::$op($given_x, $given_y))
            }
        }
    };
}

operator! {
    Add, add, add;
    Sub, sub, subtract;
    Mul, mul, multiply;
    Div, div, divide;
}

impl Neg for &Tensor {
    type Output = Tensor;

    #[track_caller]
    fn neg(self) -> Tensor {
        must(ops::negative(self))
    }
}

impl Neg for Tensor {
    type Output = Tensor;

    #[track_caller]
    fn neg(self) -> Tensor {
        must(ops::negative(&self))
    }
}
