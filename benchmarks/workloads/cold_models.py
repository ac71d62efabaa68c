"""The wait for the first loss of known models, and what a step takes soon after."""

from __future__ import annotations

from suite import Case, Contender, Limit, Workload
from suite.programs import FIRST_STEP, LATER_STEP, running

EMPTY = "lazyloom, empty cache"
FILLED = "lazyloom, filled cache"
PEER = "PyTorch eager"
LIMIT = 120.0

#: by title: the program's model, and the most seconds until the first loss
MODELS = {
    "GPT, 4 layers of width 256": ("gpt", 1.5), "ResNet-50": ("resnet50", 3.0),
    "RoBERTa-base": ("roberta", 5.0), "Swin-T": ("swin", 5.0), "MobileNetV2": ("mobilenet", 5.0),
}  # fmt: skip

WORKLOAD = Workload(
    name="cold_models",
    title="First losses of models",
    about=(
        "A process builds a model and trains on one batch by AdamW. The first step counts from "
        "its start until its loss is read, and so does whatever initialising the model has left "
        "pending; a later step is the median of the ten that follow. GPT: batch 4 of length 128, "
        "4096 tokens. ResNet-50, Swin-T and MobileNetV2: 4 images of 224 x 224. RoBERTa-base: "
        "batch 2 of length 64, without dropout."
    ),
    cases=[
        Case(title if size == "full" else f"{title}, tiny",
             {"program": "first_steps", "size": size, "limit": LIMIT,
              "figures": [FIRST_STEP, LATER_STEP], "arguments": {"model": model}},
             warm=0, units=1, rounds=3, budget=120, limit=LIMIT, full=size == "full",
             quick=size == "small" and model == "gpt")
        for size in ("full", "small") for title, (model, _) in MODELS.items()
    ],
    contenders=[
        Contender(EMPTY, "lazyloom", running("lazyloom", "empty"), threads=2),
        Contender(FILLED, "lazyloom", running("lazyloom", "filled"), threads=2),
        Contender(PEER, "torch", running("torch"), threads=2),
    ],
    base=PEER,
    limits=[
        Limit("first loss, empty cache", [f"{title}: {FIRST_STEP}"], [EMPTY], seconds)
        for title, (_, seconds) in MODELS.items()
    ],
)  # fmt: skip
