"""Programs of packages that import torch themselves, run under PyTorch and under lazyloom_torch.

Each text ends with ``report(...)``: what the two have to agree in. ``filled(module)`` gives a
module parameters that do not depend on a random generator, ``loss_and_gradients`` runs it.
"""

from __future__ import annotations

HEADER = '''
import os, sys
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
import numpy as np
import torch
from torch.nn import functional as F

def filled(module):
    rng = np.random.default_rng(0)
    for name, p in sorted(module.named_parameters()):
        made = rng.standard_normal(tuple(p.shape)) * 0.5 / max(1, int(np.prod(p.shape[1:]))) ** 0.5
        p.data.copy_(torch.from_numpy((made + (p.ndim == 1 and "weight" in name)).astype("f4")))
    return module.eval()

def image(n=2, size=16, seed=0):
    return torch.from_numpy(
        np.random.default_rng(seed).standard_normal((n, 3, size, size)).astype("f4"))

def tokens(*shape, below=32):
    return torch.from_numpy(np.random.default_rng(1).integers(3, below, shape))

def loss_and_gradients(out, loss, module):
    loss.backward()
    named = {n: p.grad for n, p in module.named_parameters() if p.grad is not None}
    report(out=out, loss=loss, **named)

def classified(module, x):
    out = filled(module)(x)
    loss_and_gradients(out, F.cross_entropy(out, torch.arange(len(out))), module)

def report(**values):
    np.savez(sys.argv[1], **{k: v.detach().numpy() if isinstance(v, torch.Tensor) else np.asarray(v)
                             for k, v in values.items()})
'''

_SMALL = ("vocab_size=32, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, "
          "intermediate_size=32, max_position_embeddings=16")

#: name: the package that it needs, and the program
PROGRAMS: dict[str, tuple[str, str]] = {
    "einops": ("einops", '''
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
        self.mix = EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=48, d=8)
        self.mean = Reduce("b t d -> b d", "mean")
    def forward(self, x):
        h = self.mix(self.patches(x))
        q = repeat(h, "b t c -> b h t c", h=2)
        w = einsum(q, q, "b h i c, b h j c -> b h i j").softmax(-1)
        h = reduce(w @ q, "b h t c -> b t c", "max")
        both, shapes = pack([h, h * 2], "b * c")
        return self.mean(sum(unpack(both, shapes, "b * c")))
classified(Net(), image())
'''),
    "transformers-bert": ("transformers", f'''
from transformers import BertConfig, BertForMaskedLM
model = filled(BertForMaskedLM(BertConfig({_SMALL})))
ids, mask = tokens(2, 8), torch.ones(2, 8, dtype=torch.int64)
mask[1, 5:] = 0
found = model(input_ids=ids, attention_mask=mask, labels=ids)
loss_and_gradients(found.logits, found.loss, model)
'''),
    "transformers-gpt2": ("transformers", '''
from transformers import GPT2Config, GPT2LMHeadModel
model = filled(GPT2LMHeadModel(GPT2Config(
    vocab_size=32, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)))
ids = tokens(2, 8)
found = model(input_ids=ids, labels=ids)
found.loss.backward()
written = model.generate(ids[:1], max_new_tokens=2, do_sample=False, eos_token_id=None,
                         pad_token_id=0)
report(logits=found.logits, loss=found.loss, written=written,
       gradient=model.transformer.wte.weight.grad)
'''),
    "transformers-llama": ("transformers", f'''
from transformers import LlamaConfig, LlamaForCausalLM
model = filled(LlamaForCausalLM(LlamaConfig({_SMALL}, num_key_value_heads=1)))
ids = tokens(2, 8)
found = model(input_ids=ids, labels=ids)
loss_and_gradients(found.logits, found.loss, model)
'''),
    "transformers-t5": ("transformers", '''
from transformers import T5Config, T5ForConditionalGeneration
model = filled(T5ForConditionalGeneration(T5Config(
    vocab_size=32, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, pad_token_id=0,
    decoder_start_token_id=0)))
found = model(input_ids=tokens(2, 8), labels=tokens(2, 6))
loss_and_gradients(found.logits, found.loss, model)
'''),
    "torchvision-models": ("torchvision", '''
from torchvision.models.mobilenetv2 import MobileNetV2
from torchvision.models.resnet import BasicBlock, ResNet
from torchvision.models.vision_transformer import VisionTransformer
class Three(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.resnet = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=4)
        self.mobile = MobileNetV2(4, 0.25, [[1, 16, 1, 1], [6, 24, 1, 2]])
        self.vit = VisionTransformer(32, 8, 1, 2, 16, 32, num_classes=4)
    def forward(self, x):
        return self.resnet(x) + self.mobile(x) + self.vit(x)
classified(Three(), image(size=32))
'''),
    "torchvision-transforms": ("torchvision", '''
from PIL import Image
from torchvision import transforms as T
from torchvision.transforms import functional as TF
rng = np.random.default_rng(0)
photo = Image.fromarray(rng.integers(0, 255, (20, 24, 3), dtype=np.uint8))
prepared = T.Compose([T.Resize(16), T.CenterCrop(12), T.ToTensor(),
                      T.Normalize([0.5] * 3, [0.2] * 3)])(photo)
x = image(1, 12)[0].sigmoid()
report(prepared=prepared, resized=TF.resize(x, [7, 9], antialias=True), flipped=TF.hflip(x),
       padded=TF.pad(x, [1, 2, 3, 4], padding_mode="reflect"), gray=TF.rgb_to_grayscale(x),
       bright=TF.adjust_brightness(x, 1.3), blurred=TF.gaussian_blur(x, [3, 3], [1.0, 1.0]),
       cropped=np.asarray(T.RandomResizedCrop(8)(x).shape), back=np.asarray(T.ToPILImage()(x)))
'''),
    "torchvision-utils": ("torchvision", '''
from PIL import Image
from torchvision import ops
from torchvision.datasets import FakeData
from torchvision.transforms import ToTensor
from torchvision.utils import make_grid, save_image
x = image(4, 6).sigmoid()
save_image(x, "saved.png")
data = FakeData(6, (3, 8, 8), transform=ToTensor())
batch, labels = next(iter(torch.utils.data.DataLoader(data, batch_size=3)))
boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 9, 9]])
if torch.__name__ == "lazyloom_torch":
    try:
        ops.nms(boxes, torch.tensor([0.9, 0.8]), 0.5)
    except RuntimeError as error:
        assert "custom C++ ops" in str(error), error
    else:
        raise AssertionError("torchvision's compiled operators cannot work on these tensors")
report(grid=make_grid(x, nrow=2), saved=np.asarray(Image.open("saved.png")), batch=batch.shape,
       iou=ops.box_iou(boxes, boxes))
'''),
    "timm": ("timm", '''
import timm
class Both(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.resnet = timm.create_model("resnet10t", num_classes=4)
        self.vit = timm.create_model(
            "vit_tiny_patch16_224", img_size=32, depth=1, embed_dim=24, num_classes=4)
    def forward(self, x):
        return self.resnet(x) + self.vit(x)
classified(Both(), image(size=32))
'''),
    "vit-pytorch": ("vit_pytorch", '''
from vit_pytorch import ViT
classified(ViT(image_size=16, patch_size=4, num_classes=4, dim=16, depth=1, heads=2, mlp_dim=32),
           image())
'''),
    "x-transformers": ("x_transformers", '''
from x_transformers import Decoder, TransformerWrapper
model = filled(TransformerWrapper(num_tokens=32, max_seq_len=8, attn_layers=Decoder(
    dim=16, depth=1, heads=2, rotary_pos_emb=True)))
ids = tokens(2, 8)
out = model(ids)
loss_and_gradients(out, F.cross_entropy(out[:, :-1].transpose(1, 2), ids[:, 1:]), model)
'''),
    "torchmetrics": ("torchmetrics", '''
import torchmetrics
scores, right = image(8, 2)[:, :, 0, 0], torch.arange(8) % 3
kinds = dict(task="multiclass", num_classes=3)
found = {type(m).__name__: m for m in (
    torchmetrics.Accuracy(**kinds), torchmetrics.F1Score(average="macro", **kinds),
    torchmetrics.ConfusionMatrix(**kinds))}
for metric in found.values():
    metric.update(scores, right)
error = torchmetrics.MeanSquaredError()
error.update(scores, scores * 0.5)
report(mse=error.compute(), **{n: m.compute() for n, m in found.items()})
'''),
    "kornia": ("kornia", '''
import kornia
x = image(1, 12).sigmoid().requires_grad_()
gray = kornia.color.rgb_to_grayscale(x)
blurred = kornia.filters.gaussian_blur2d(x, (3, 3), (1.0, 1.0))
(kornia.filters.sobel(gray).sum() + kornia.losses.ssim_loss(x, blurred, 5)).backward()
report(hsv=kornia.color.rgb_to_hsv(x), blurred=blurred, gradient=x.grad,
       turned=kornia.geometry.rotate(x, torch.tensor([30.0])))
'''),
    "lpips": ("lpips", '''
import lpips
distance = filled(lpips.LPIPS(net="squeeze", pretrained=False, pnet_rand=True, verbose=False))
x = image(1, 48).requires_grad_()
found = distance(x, image(1, 48, seed=1))
found.sum().backward()
report(found=found, gradient=x.grad)
'''),
    "safetensors": ("safetensors", '''
from safetensors import safe_open
from safetensors.torch import load_file, load_model, save_file, save_model
model = filled(torch.nn.Linear(3, 2))
save_file({"x": image(), "n": torch.arange(3)}, "data.safetensors", metadata={"a": "b"})
save_model(model, "model.safetensors")
again = torch.nn.Linear(3, 2)
load_model(again, "model.safetensors")
with safe_open("data.safetensors", framework="pt") as opened:
    part = opened.get_slice("x")[:, 1]
    whole = opened.get_tensor("n")
report(part=part, whole=whole, weight=again.weight, **load_file("data.safetensors"))
'''),
    "pytorch-lightning": ("pytorch_lightning", '''
import logging, warnings
warnings.simplefilter("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
import pytorch_lightning as pl
class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
        self.losses = []
    def forward(self, x):
        return self.net(x)
    def training_step(self, batch, index):
        loss = F.cross_entropy(self(batch[0]), batch[1])
        self.log("loss", loss)
        self.losses.append(loss.detach())
        return loss
    def validation_step(self, batch, index):
        self.log("seen", F.cross_entropy(self(batch[0]), batch[1]))
    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]
model = filled(Classifier())
x = image(16, 4)[:, 0, 0]
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x[:, :3].argmax(1)), 8)
trainer = pl.Trainer(max_epochs=3, accelerator="cpu", logger=False, enable_progress_bar=False,
                     enable_model_summary=False, gradient_clip_val=1.0,
                     callbacks=[pl.callbacks.ModelCheckpoint(".", monitor="seen")])
trainer.fit(model, data, data)
again = Classifier.load_from_checkpoint(trainer.checkpoint_callback.best_model_path)
seen = trainer.validate(model, data, verbose=False)[0]["seen"]
report(losses=torch.stack(model.losses), seen=seen, predicted=again(x))
'''),
    "pyro-svi": ("pyro", '''
import pyro, pyro.distributions as dist
from pyro.infer import SVI, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.nn import PyroModule
x = image(8, 4)[:, 0, 0].double()
y = x @ torch.tensor([1.0, -2.0, 0.5, 0.0]).double()
def model():
    w = pyro.sample("w", dist.Normal(torch.zeros(4).double(), 1.0).to_event(1))
    s = pyro.sample("s", dist.LogNormal(torch.zeros(()).double(), 1.0))
    with pyro.plate("data", len(x)):
        pyro.sample("y", dist.Normal(x @ w, s), obs=y)
def guide():
    pyro.sample("w", dist.Delta(pyro.param("at", torch.zeros(4).double()), event_dim=1))
    pyro.sample("s", dist.Delta(pyro.param("scale", torch.ones(()).double(),
                                           constraint=dist.constraints.positive)))
steps = SVI(model, guide, pyro.optim.ClippedAdam({"lr": 0.05}), Trace_ELBO())
losses = torch.tensor([steps.step() for _ in range(30)])
@config_enumerate
def mixture():
    with pyro.plate("rows", len(x)):
        which = pyro.sample("which", dist.Categorical(torch.tensor([0.25, 0.75]).double()))
        means = pyro.param("means", torch.tensor([-1.0, 1.0]).double())
        pyro.sample("x", dist.Normal(means[which], 1.0), obs=x[:, 0])
mixed = SVI(mixture, lambda: None, pyro.optim.Adam({"lr": 0.1}),
            TraceEnum_ELBO(max_plate_nesting=1))
sums = torch.tensor([mixed.step() for _ in range(5)])
report(losses=losses, at=pyro.param("at"), scale=pyro.param("scale"), sums=sums,
       means=pyro.param("means"))
'''),
    "pyro-nuts": ("pyro", '''
import pyro, pyro.distributions as dist
from pyro.infer import MCMC, NUTS
pyro.set_rng_seed(0)
data = torch.from_numpy(np.random.default_rng(0).standard_normal(200) + 3.0)
def model():
    mean = pyro.sample("mean", dist.Normal(torch.zeros(()).double(), 10.0))
    with pyro.plate("data", len(data)):
        pyro.sample("x", dist.Normal(mean, 1.0), obs=data)
chain = MCMC(NUTS(model), num_samples=60, warmup_steps=30, disable_progbar=True)
chain.run()
found = chain.get_samples()["mean"]
# other draws for a seed: of a mean that is known to 0.07, the chain's is near
near = abs(found.mean().item() - data.mean().item()) < 0.05
report(shape=np.array(found.shape),
       found=np.array([float(near), float(0.03 < found.std().item() < 0.15)]))
'''),
    "gpytorch": ("gpytorch", '''
import gpytorch
x = torch.linspace(0, 1, 20).double()
y = torch.sin(6 * x) + 0.1 * torch.cos(37 * x)
class Process(gpytorch.models.ExactGP):
    def __init__(self, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))
likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
model = Process(likelihood).double()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
losses = []
for _ in range(15):
    optimizer.zero_grad()
    loss = -marginal(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
model.eval(), likelihood.eval()
with torch.no_grad():
    seen = likelihood(model(torch.linspace(0, 1.2, 7).double()))
report(losses=torch.stack(losses), mean=seen.mean, variance=seen.variance)
'''),
    "zuko": ("zuko", '''
import zuko
flow = filled(zuko.flows.NSF(3, 2, transforms=2, hidden_features=[8, 8]))
x, context = image(6, 3)[:, 0, 0], image(6, 2, seed=1)[:, 0, 0]
out = flow(context).log_prob(x)
assert flow(context).sample((4,)).shape == (4, 6, 3)
loss_and_gradients(out, -out.mean(), flow)
'''),
    "accelerate": ("accelerate", '''
from accelerate import Accelerator
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = filled(torch.nn.Linear(4, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
data = torch.utils.data.TensorDataset(image(32, 4)[:, 0, 0], torch.arange(32) % 2)
loader = torch.utils.data.DataLoader(data, batch_size=8)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
losses = []
for x, y in loader:
    with accelerator.accumulate(model):
        loss = F.cross_entropy(model(x), y)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
accelerator.save_state("state")
accelerator.load_state("state")
report(losses=torch.stack(losses), weight=accelerator.unwrap_model(model).weight)
'''),
    "tensorboard": ("tensorboard", '''
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter
with SummaryWriter("logs") as writer:
    for step in range(3):
        writer.add_scalar("loss", torch.tensor(1.0 / (step + 1)), step)
    writer.add_scalar("new", 0.25, 3, new_style=True)
    writer.add_scalars("both", {"a": 1.0, "b": torch.tensor(2.0)}, 1)
    writer.add_histogram("histogram", image().reshape(-1), 0)
    writer.add_histogram("coarse", image().reshape(-1), 0, max_bins=10)
    writer.add_image("image", image(1)[0].sigmoid(), 0)
    writer.add_images("images", image(3, 4)[:, :1].sigmoid(), 0)
    writer.add_text("text", "some *text*")
    writer.add_pr_curve("curve", torch.tensor([0, 1, 1, 0]), torch.tensor([0.1, 0.9, 0.4, 0.3]), 0)
    writer.add_audio("sound", torch.sin(torch.arange(100.0) / 5), 0)
    writer.add_embedding(torch.eye(3), metadata=["a", "b", "c"])
    writer.add_hparams({"lr": 0.1, "fast": True, "name": "adam"}, {"acc": 0.5}, run_name="run")
from tensorboard.util.tensor_util import make_ndarray
read = EventAccumulator("logs", size_guidance={"histograms": 0, "tensors": 0}).Reload()
told = {}
for name in ("histogram", "coarse"):
    h = read.Histograms(name)[0].histogram_value
    told[name] = np.array([h.min, h.max, h.num, h.sum, h.sum_squares])
    told[name + "_limits"], told[name + "_counts"] = np.array(h.bucket_limit), np.array(h.bucket)
for name in ("new", "curve"):
    told[name] = make_ndarray(read.Tensors(name)[0].tensor_proto)
told["text"] = np.frombuffer(
    make_ndarray(read.Tensors("text/text_summary")[0].tensor_proto)[0], np.uint8).astype("i4")
for name in ("image", "images"):
    told[name + "_size"] = np.array([read.Images(name)[0].width, read.Images(name)[0].height])
report(loss=np.array([[s.step, s.value] for s in read.Scalars("loss")]),
       tags=np.array(len(sum((t for t in read.Tags().values() if isinstance(t, list)), []))),
       acc=np.array([s.value for s in EventAccumulator("logs/run").Reload().Scalars("acc")]),
       both=np.array([EventAccumulator(f"logs/both_{k}").Reload().Scalars("both")[0].value
                      for k in "ab"]), **told)
'''),
}  # fmt: skip
