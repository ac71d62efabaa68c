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
}  # fmt: skip
