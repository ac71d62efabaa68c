//! The digits classifier of examples/digits.c in Rust:
//!
//!     cargo run --example digits -- [DATA_FOLDER [REPORT.json [EPOCHS]]]
//!
//! Everything that the classifiers share (random numbers, order, steps) is described in digits.c.

use std::error::Error;
use std::{env, fs};

use lazyloom::{ops, stat, NoGrad, Result, Runtime, Tensor};

const PIXELS: usize = 64;
const BATCH: usize = 32;
const SIZES: [usize; 4] = [PIXELS, 64, 32, 10];
const BOUNDS: [f64; 3] = [0.30618621784789724, 0.30618621784789724, 0.4330127018922193];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
}

struct Digits {
    pixels: Vec<f32>,
    labels: Vec<i64>,
}

fn read_digits(folder: &str, part: &str) -> std::io::Result<Digits> {
    let pixels = fs::read(format!("{folder}/{part}-images.idx3-ubyte"))?;
    let labels = fs::read(format!("{folder}/{part}-labels.idx1-ubyte"))?;
    Ok(Digits {
        pixels: pixels[16..].iter().map(|&p| f32::from(p) / 16.0).collect(),
        labels: labels[8..].iter().map(|&l| i64::from(l)).collect(),
    })
}

struct Network {
    parameters: Vec<Tensor>, // w1, b1, w2, b2, w3, b3
    momenta: Vec<Tensor>,
}

impl Network {
    fn new(random: &mut Random) -> Result<Self> {
        let (mut parameters, mut momenta) = (Vec::new(), Vec::new());
        for layer in 0..3 {
            let (inputs, outputs) = (SIZES[layer], SIZES[layer + 1]);
            let weights: Vec<f32> = (0..inputs * outputs)
                .map(|_| {
                    let u = (random.next() >> 40) as f64 / 16777216.0;
                    ((2.0 * u - 1.0) * BOUNDS[layer]) as f32
                })
                .collect();
            let zeros = vec![0.0f32; inputs * outputs];
            parameters.push(Tensor::new(&weights, &[inputs, outputs])?.require_grad()?);
            parameters.push(Tensor::new(&zeros[..outputs], &[outputs])?.require_grad()?);
            momenta.push(Tensor::new(&zeros, &[inputs, outputs])?);
            momenta.push(Tensor::new(&zeros[..outputs], &[outputs])?);
        }
        Ok(Self { parameters, momenta })
    }

    fn logits(&self, x: &Tensor) -> Result<Tensor> {
        let mut h = x.clone();
        for layer in 0..3 {
            h = ops::matmul(&h, &self.parameters[2 * layer])? + &self.parameters[2 * layer + 1];
            if layer < 2 {
                h = ops::relu(&h)?;
            }
        }
        Ok(h)
    }

    /// Records a step; gives the loss before it. What is temporary is dropped when it returns.
    fn step(&self, images: &Tensor, labels: &Tensor, indices: &[i64]) -> Result<Tensor> {
        let chosen = Tensor::new(indices, &[BATCH])?;
        let x = ops::take(images, &chosen, Default::default())?;
        let y = ops::take(labels, &chosen, Default::default())?;
        let loss = ops::cross_entropy(&self.logits(&x)?, &y, Default::default())?;
        loss.backward()?;
        let mut gradients = Vec::new();
        for p in &self.parameters {
            gradients.push(p.gradient()?.expect("every parameter is used"));
            p.clear_gradient()?;
        }
        let _frozen = NoGrad::new()?;
        for ((p, m), g) in self.parameters.iter().zip(&self.momenta).zip(&gradients) {
            m.assign(&(m * 0.9 + g))?;
            p.assign(&(p - m * 0.05))?;
        }
        Ok(loss)
    }

    fn accuracy(&self, images: &Tensor, labels: &[i64]) -> Result<f64> {
        let _frozen = NoGrad::new()?;
        // a statement of its own: what lives at a read, as temporaries do, is computed by it too
        let guesses = ops::argmax(
            &self.logits(images)?, ops::ArgmaxOptions { axis: Some(1), ..Default::default() })?;
        let guessed = guesses.read::<i64>()?;
        let right = guessed.iter().zip(labels).filter(|(g, l)| g == l).count();
        Ok(right as f64 / labels.len() as f64)
    }
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let folder = arguments.first().map_or("examples/data/digits", String::as_str);
    let epochs: usize = arguments.get(2).map_or(Ok(20), |text| text.parse())?;
    let (train, test) = (read_digits(folder, "train")?, read_digits(folder, "test")?);
    let _runtime = Runtime::start()?;
    let mut random = Random(2024);
    let network = Network::new(&mut random)?;
    let count = train.labels.len();
    let images = Tensor::new(&train.pixels, &[count, PIXELS])?;
    let labels = Tensor::new(&train.labels, &[count])?;
    let test_images = Tensor::new(&test.pixels, &[test.labels.len(), PIXELS])?;
    let mut order: Vec<i64> = (0..count as i64).collect();
    let (mut losses, mut accuracy) = (Vec::new(), 0.0);
    for epoch in 1..=epochs {
        for i in (1..count).rev() {
            order.swap(i, (random.next() % (i as u64 + 1)) as usize);
        }
        let first = losses.len();
        for indices in order.chunks_exact(BATCH) {
            let loss = network.step(&images, &labels, indices)?;
            losses.push(f64::from(loss.item::<f32>()?));
        }
        accuracy = network.accuracy(&test_images, &test.labels)?;
        let mean = losses[first..].iter().sum::<f64>() / (losses.len() - first) as f64;
        println!("rust: epoch {epoch:2}  loss {mean:.6}  test accuracy {accuracy:.4}");
    }
    if let Some(path) = arguments.get(1) {
        fs::write(path, format!(
            "{{\"frontend\": \"rust\", \"programs_compiled\": {}, \"final_loss\": {}, \
             \"test_accuracy\": {accuracy}, \"losses\": {losses:?}}}\n",
            stat("programs_compiled")?, losses[losses.len() - 1]))?;
    }
    Ok(())
}
