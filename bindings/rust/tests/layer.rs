//! What the crate adds to the C ABI: ownership, operators, errors, callbacks, captures. A test
//! without a harness, because the runtime is started once in a process.

use std::panic::{catch_unwind, set_hook, take_hook, AssertUnwindSafe};

use lazyloom::ops::{self, SumOptions};
use lazyloom::{
    cond, evaluations_json, ffi, grad, grad_from, hessian, is_ready, jacobian, jvp, linearize,
    option, options_json, profile_json, random_key, scan, set_option, stats_json, value_and_grad,
    vjp, vmap, wait, while_loop, Capture, DType, Error, NoGrad, Operand, Profile, Result, Runtime,
    Tensor,
};

/// What a call panics with, as a text; nothing is printed of it.
fn panic_of<T>(call: impl FnOnce() -> T) -> String {
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let panicked = catch_unwind(AssertUnwindSafe(call)).err().expect("nothing panicked");
    set_hook(hook);
    panicked.downcast_ref::<String>().cloned().unwrap_or_else(|| {
        panicked.downcast_ref::<&str>().expect("a text").to_string()
    })
}

fn operators() -> Result<()> {
    let x = Tensor::new(&[1.0f32, 2.0, 3.0], &[3])?;
    assert_eq!((2.0 * &x - 1.0).read::<f32>()?, [1.0, 3.0, 5.0]);
    assert_eq!((-&x / &x).read::<f32>()?, [-1.0, -1.0, -1.0]);
    assert_eq!(ops::greater_equal(&x, 2)?.read::<bool>()?, [false, true, true]);
    let wide = SumOptions { dtype: Some(DType::Float64), keepdims: true, ..Default::default() };
    let total = ops::sum(&x, wide)?;
    assert_eq!((total.shape()?, total.item::<f64>()?), (vec![1], 6.0));
    let twice = ops::concatenate([&x, &x], Default::default())?;
    assert_eq!(twice.shape()?, [6]);
    let parts = ops::split(&twice, &[2, 4], Default::default())?;
    assert_eq!(parts[1].read::<f32>()?, [3.0, 1.0, 2.0, 3.0]);
    let [_, order] = ops::sort_with_indices(&-&x, Default::default())?;
    assert_eq!(order.read::<i64>()?, [2, 1, 0]);
    let at_most = ops::ClipOptions { max: Operand::from(2), ..Default::default() };
    assert_eq!(ops::clip(&x, at_most)?.read::<f32>()?, [1.0, 2.0, 2.0]);
    assert_eq!(ops::einsum([&x, &x], "i,i->")?.item::<f32>()?, 14.0);
    let z = Tensor::new(&[[0.0f32, 1.0]], &[1])?;
    assert_eq!((&z * &z).read::<[f32; 2]>()?, [[-1.0, 0.0]]);
    let shared = Tensor::from_vec(vec![1.0f32, 2.0], &[2])?;
    let other = shared.clone();
    shared.assign(&(&shared + 1.0))?;
    assert_eq!(other.map::<f32>()?[..], [2.0, 3.0]);
    let sent = std::thread::spawn(move || (other * 2.0).read::<f32>());
    assert_eq!(sent.join().unwrap()?, [4.0, 6.0]);
    Ok(())
}

fn errors() -> Result<()> {
    let (x, y) = (Tensor::new(&[1.0f32, 2.0, 3.0], &[3])?, Tensor::new(&[1.0f32, 2.0], &[2])?);
    let line = line!() + 1;
    let error = ops::add(&x, &y).unwrap_err();
    assert_eq!((error.status, error.op.as_str()), (ffi::LOOM_ERROR_SHAPE, "add"));
    assert_eq!(error.site, format!("{}:{line}", file!()));
    let line = line!() + 1;
    let message = panic_of(|| &x + &y);
    assert!(message.starts_with(&format!("{}:{line}: add", file!())), "{message}");
    let far = ops::ArgmaxOptions { axis: Some(7), ..Default::default() };
    assert_eq!(ops::argmax(&x, far).unwrap_err().argument, "axis");
    assert_eq!(x.item::<f32>().unwrap_err().status, ffi::LOOM_ERROR_SHAPE);
    assert_eq!(x.read::<f64>().unwrap_err().status, ffi::LOOM_ERROR_DTYPE);
    let zero = ops::einsum([&x, &x], "i\0").unwrap_err();
    assert_eq!(zero.status, ffi::LOOM_ERROR_ARGUMENT);
    Ok(())
}

fn programs() -> Result<()> {
    let x = Tensor::new(&[1.0f32, 2.0, 3.0], &[3])?.require_grad()?;
    let gradients = grad(&[&ops::sum(&(&x * &x), Default::default())?], &[&x], false)?;
    assert_eq!(gradients[0].read::<f32>()?, [2.0, 4.0, 6.0]);
    {
        let _frozen = NoGrad::new()?;
        assert!(!(&x * 2.0).requires_grad()?);
    }
    assert!((&x * 2.0).requires_grad()?);
    let (zero, xs) = (Tensor::scalar(0.0f32)?, x.detach()?);
    let running = |given: &[Tensor]| {
        let total = &given[0] + &given[1];
        Ok(vec![total.clone(), total])
    };
    let ends = scan(running, &[&zero], &[&xs], 1)?;
    assert_eq!(ends[1].read::<f32>()?, [1.0, 3.0, 6.0]);
    let three = Tensor::scalar(3.0f32)?;
    let doubled = while_loop(
        |given| ops::less(&given[0], 100), |given| Ok(vec![&given[0] * 2.0]), &[&three], -1)?;
    assert_eq!(doubled[0].item::<f32>()?, 192.0);
    let either = cond(&Tensor::scalar(true)?, |given| Ok(vec![&given[0] + 1.0]),
                      |given| Ok(vec![&given[0] - 1.0]), &[&three], 1)?;
    assert_eq!(either[0].item::<f32>()?, 4.0);
    let same = |given: &[Tensor]| Ok(vec![given[0].clone(), given[0].clone()]);
    let twice = cond(&Tensor::scalar(true)?, same, same, &[&three], 2)?;
    assert_eq!(twice[1].item::<f32>()?, 3.0);
    let own = scan(|_| Err(Error::new(ffi::LOOM_ERROR_ARGUMENT, "mine")), &[&zero], &[&xs], 0);
    assert_eq!(own.unwrap_err().message, "mine");
    let panicked = panic_of(|| scan(|_| panic!("within"), &[&zero], &[&xs], 0));
    assert_eq!(panicked, "within");
    let (total, two) = (Tensor::scalar(0.0f32)?, Tensor::scalar(2.0f32)?);
    let step = Capture::new(&[&total, &two], || {
        total.assign(&(&total + &two))?;
        Ok(vec![&total * 10.0])
    })?;
    let before = total.item::<f32>()?;
    assert_eq!(step.run(&[&total, &two])?[0].item::<f32>()?, 10.0 * (before + 2.0));
    Ok(())
}

fn transforms() -> Result<()> {
    let x = Tensor::new(&[1.0f32, 2.0, 3.0], &[3])?;
    let one = Tensor::new(&[1.0f32, 0.0, 0.0], &[3])?;
    let two = Tensor::scalar(2.0f32)?;
    let square = |given: &[Tensor]| {
        Ok(vec![ops::sum(&(&given[0] * &given[0]), Default::default())?])
    };
    let (value, pullback) = vjp(square, &[&x], 1)?;
    assert_eq!(value[0].item::<f32>()?, 14.0);
    let pulled = pullback.apply(&[Some(&two)])?;
    assert_eq!(pulled[0].as_ref().unwrap().read::<f32>()?, [4.0, 8.0, 12.0]);
    assert_eq!(pullback.apply(&[]).unwrap_err().status, ffi::LOOM_ERROR_ARGUMENT);
    let (_, along) = jvp(square, &[&x], &[Some(&one)], 1)?;
    assert_eq!(along[0].as_ref().unwrap().item::<f32>()?, 2.0);
    let (_, push) = linearize(square, &[&x], 1)?;
    assert_eq!(push.apply(&[Some(&one)])?[0].as_ref().unwrap().item::<f32>()?, 2.0);
    let (values, slopes) = value_and_grad(
        |given| Ok(vec![ops::sum(&(&given[0] * &given[0]), Default::default())?, &given[0] * 2.0]),
        &[&x, &one], &[0], 2)?;
    assert_eq!((values.len(), slopes.len()), (2, 1));
    assert_eq!(slopes[0].read::<f32>()?, [2.0, 4.0, 6.0]);
    assert_eq!(jacobian(square, &[&x], &[], 1)?[0].shape()?, [3]);
    assert_eq!(hessian(square, &[&x], &[], 1)?[0].shape()?, [3, 3]);
    let rows = Tensor::new(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    let scaled = vmap(
        |given| Ok(vec![ops::sum(&(&given[0] * &given[1]), Default::default())?]),
        &[&rows, &two], &[Some(1), None], 1)?;
    assert_eq!(scaled[0].read::<f32>()?, [8.0, 12.0]);
    // the second of what is given back is the function's own input
    let zero = Tensor::scalar(0.0f32)?;
    let ends = scan(|given| Ok(vec![&given[0] + &given[1], given[0].clone()]), &[&zero], &[&x], 1)?;
    assert_eq!(ends[1].read::<f32>()?, [0.0, 1.0, 3.0]);
    let leaf = Tensor::new(&[1.0f32, 2.0, 3.0], &[3])?.require_grad()?;
    let slopes = grad_from(&[&(&leaf * &leaf)], &[&leaf], &[Some(&one)], false)?;
    assert_eq!(slopes[0].read::<f32>()?, [2.0, 0.0, 0.0]);
    let whole = Tensor::new(&[1i32, 2], &[2])?;
    assert_eq!((2 * (&whole + 1)).read::<i32>()?, [4, 6]);
    let before = set_option("reads", 2.0)?;
    assert_eq!((&x + 7.0).read::<f32>().unwrap_err().status, ffi::LOOM_ERROR_READ_FORBIDDEN);
    assert_eq!((set_option("reads", before)?, option("reads")?), (2.0, 0.0));
    let y = &x + 1.0;
    assert!(wait(&[&y], std::time::Duration::from_secs(60))? && is_ready(&y)?);
    assert!(evaluations_json(1)?.starts_with("[{") && options_json()?.starts_with('{'));
    assert!(stats_json()?.starts_with('{'));
    assert_eq!(profile_json()?, "{}");
    let profile = Profile::begin(None, true)?;
    assert_eq!(Profile::begin(None, true).unwrap_err().status, ffi::LOOM_ERROR_ARGUMENT);
    assert_eq!((2 * (&whole + 2)).read::<i32>()?, [6, 8]);
    let report = profile.end()?;
    assert!(report.contains("\"findings\"") && report == profile_json()?);
    drop(Profile::begin(None, false)?);
    drop(Profile::begin(None, false)?);
    assert_eq!(random_key(7)?.read::<u32>()?, [0, 7]);
    Ok(())
}

fn main() -> Result<()> {
    let _runtime = Runtime::start()?;
    operators()?;
    errors()?;
    programs()?;
    transforms()?;
    let mut alive = 1;
    unsafe { ffi::loom_live_handles(&mut alive) };
    assert_eq!(alive, 0);
    println!("works");
    Ok(())
}
