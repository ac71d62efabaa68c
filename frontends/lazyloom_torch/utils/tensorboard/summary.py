"""Summaries: what an event file says of one tag, as TensorBoard's protocol buffers."""

from __future__ import annotations

import io
import json
import struct
import wave
import zlib
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import metadata as custom_scalar_metadata
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

from ..._tensor import Tensor


def as_array(x: Any) -> np.ndarray:
    """The numbers of a tensor, an array or a number; reads a tensor."""
    if isinstance(x, Tensor):
        x = x.detach()
        return x.float().numpy() if x.dtype.name == "bfloat16" else x.numpy()
    return np.asarray(x)


def _one(tag: str, **value: Any) -> Any:
    return Summary(value=[Summary.Value(tag=tag, **value)])


def _metadata(plugin: str, content: bytes = b"", **more: Any) -> Any:
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(
        plugin_name=plugin, content=content), **more)


def _shape(*sizes: int) -> Any:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in sizes])


def _array_proto(array: np.ndarray) -> Any:
    """An array of floating-point numbers as a float32 proto."""
    array = np.ascontiguousarray(array, np.float32)
    return TensorProto(dtype="DT_FLOAT", tensor_shape=_shape(*array.shape),
                       tensor_content=array.tobytes())


def scalar(name: str, tensor: Any, new_style: bool = False, double_precision: bool = False) -> Any:
    """One number. AssertionError for several."""
    array = as_array(tensor)
    assert array.size == 1, f"a scalar has one element, not {array.size}"
    number = float(array.reshape(()))
    if not new_style:
        return _one(name, simple_value=number)
    kind = {"double_val": [number], "dtype": "DT_DOUBLE"} if double_precision else {
        "float_val": [number], "dtype": "DT_FLOAT"}
    return _one(name, tensor=TensorProto(**kind), metadata=_metadata(
        "scalars", data_class=1))


def tensor_proto(tag: str, tensor: Any) -> Any:
    """The numbers of a tensor, as float32."""
    return _one(tag, tensor=_array_proto(as_array(tensor)), metadata=_metadata("tensor"))


def _edges() -> np.ndarray:
    """Bins that grow by a tenth, from 1e-12 to 1e20, of both signs."""
    steps = 1e-12 * 1.1 ** np.arange(int(np.ceil(np.log(1e32) / np.log(1.1))))
    return np.concatenate([-steps[::-1], [0.0], steps])


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """How many of the values lie in each bin: edges, or a way of ``numpy.histogram``.

    Raises ValueError for no values.
    """
    array = as_array(values).astype(np.float64).reshape(-1)
    if not array.size:
        raise ValueError("The input has no element.")
    edges = _edges() if isinstance(bins, str) and bins == "tensorflow" else bins
    counts, limits = np.histogram(array, bins=edges)
    if max_bins is not None and len(counts) > max_bins:
        width = len(counts) // max_bins
        counts = np.add.reduceat(counts, np.arange(0, len(counts), width))
        limits = np.append(limits[:-1:width], limits[-1])
    inside = np.flatnonzero(counts)
    if not inside.size:
        raise ValueError("The histogram is empty, please file a bug report.")
    # an empty bin stands before the first that is not
    first, last = inside[0], inside[-1] + 1
    counts = np.concatenate([[0], counts[first:last]])
    return histogram_raw(name, array.min(), array.max(), array.size, array.sum(),
                         (array * array).sum(), limits[first:last + 1], counts)


def histogram_raw(name: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any,
                  bucket_limits: Any, bucket_counts: Any) -> Any:  # fmt: skip
    """A histogram of which all is known."""
    return _one(name, histo=HistogramProto(
        min=float(min), max=float(max), num=float(num), sum=float(sum),
        sum_squares=float(sum_squares), bucket_limit=[float(x) for x in bucket_limits],
        bucket=[float(x) for x in bucket_counts]))


def png(pixels: np.ndarray) -> bytes:
    """An image of bytes, (height, width, 1, 3 or 4 channels), as a PNG file (RFC 2083)."""
    height, width, channels = pixels.shape
    colour = {1: 0, 3: 2, 4: 6}[channels]

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))

    # each row begins with the number of its filter: none
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    return b"".join([
        b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour,
                                                         0, 0, 0)),
        chunk(b"IDAT", zlib.compress(rows.tobytes())), chunk(b"IEND", b"")])


def in_grid(images: np.ndarray, most: int = 8) -> np.ndarray:
    """(N, C, H, W) side by side as (C, H', W'), so many in a row."""
    n, channels, height, width = images.shape
    columns = min(n, most)
    rows = -(-n // columns)
    grid = np.zeros((channels, rows * height, columns * width), images.dtype)
    for i, one in enumerate(images):
        top, left = i // columns * height, i % columns * width
        grid[:, top:top + height, left:left + width] = one
    return grid


def to_hwc(tensor: np.ndarray, dataformats: str) -> np.ndarray:
    """An image, or several as a grid, as (height, width, channels).

    ``dataformats`` names the dimensions by the letters N, C, H and W. AssertionError for letters
    that do not fit.
    """
    letters = dataformats.upper()
    assert len(set(letters)) == len(letters) == tensor.ndim, (
        f"size of input tensor and input format are different: tensor shape {tensor.shape}, "
        f"input format {dataformats}")
    if "C" not in letters:
        tensor, letters = tensor[..., None], letters + "C"
    if "N" in letters:
        tensor = in_grid(tensor.transpose([letters.index(c) for c in "NCHW"]))
        letters = "CHW"
    found = tensor.transpose([letters.index(c) for c in "HWC"])
    # of grey images colours are made
    return np.repeat(found, 3, axis=2) if found.shape[2] == 1 else found


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Any:
    """An image of bytes, or of numbers from 0 to 1."""
    array = as_array(tensor)
    scale = 1 if array.dtype == np.uint8 else 255
    pixels = to_hwc(array, dataformats).astype(np.float32) * scale
    if rescale != 1:
        size = [max(int(n * rescale), 1) for n in pixels.shape[:2]]
        at = [(np.arange(n) / rescale).astype(np.int64).clip(0, whole - 1)
              for n, whole in zip(size, pixels.shape)]
        pixels = pixels[at[0]][:, at[1]]
    data = pixels.clip(0, 255).astype(np.uint8)
    return _one(tag, image=Summary.Image(
        height=data.shape[0], width=data.shape[1], colorspace=data.shape[2],
        encoded_image_string=png(data)))


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Any:
    """Sound, numbers from -1 to 1 of one channel, as a WAV file of 16 bits."""
    array = as_array(tensor).astype(np.float64).squeeze()
    assert array.ndim == 1, f"input tensor should be 1 dimensional, not of shape {array.shape}"
    data = (array.clip(-1, 1) * 32767).astype("<i2")
    held = io.BytesIO()
    with wave.open(held, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(data.tobytes())
    return _one(tag, audio=Summary.Audio(
        sample_rate=sample_rate, num_channels=1, length_frames=len(data),
        encoded_audio_string=held.getvalue(), content_type="audio/wav"))


def text(tag: str, text: str) -> Any:
    """A text, in Markdown."""
    content = TextPluginData(version=0).SerializeToString()
    proto = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=_shape(1))
    return _one(f"{tag}/text_summary", tensor=proto, metadata=_metadata("text", content))


def pr_curve_raw(tag: str, tp: Any, fp: Any, tn: Any, fn: Any, precision: Any, recall: Any,
                 num_thresholds: int = 127, weights: Any = None) -> Any:  # fmt: skip
    """A curve of precision and recall of which all is known."""
    count = min(num_thresholds, 127)
    content = PrCurvePluginData(version=0, num_thresholds=count).SerializeToString()
    rows = np.stack([as_array(r) for r in (tp, fp, tn, fn, precision, recall)])
    return _one(tag, tensor=_array_proto(rows), metadata=_metadata("pr_curves", content))


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127,
             weights: Any = None) -> Any:  # fmt: skip
    """Precision and recall of predictions from 0 to 1, by the threshold of what is called true."""
    count = min(num_thresholds, 127)
    true = as_array(labels).reshape(-1).astype(bool)
    given = as_array(predictions).reshape(-1).astype(np.float64)
    mass = 1.0 if weights is None else as_array(weights).reshape(-1)
    # the threshold that each prediction reaches
    at = np.int32(np.floor(given * (count - 1)))

    def reaching(which: np.ndarray) -> np.ndarray:
        found = np.bincount(at, which * mass, minlength=count)[::-1].cumsum()[::-1]
        return np.asarray(found)

    tp, fp = reaching(true), reaching(~true)
    tn, fn = fp[0] - fp, tp[0] - tp
    least = 1e-7
    return pr_curve_raw(tag, tp, fp, tn, fn, tp / np.maximum(least, tp + fp),
                        tp / np.maximum(least, tp + fn), count)


def custom_scalars(layout: dict[str, dict[str, Any]]) -> Any:
    """Which scalars stand in one chart: category, chart, (``"Multiline"`` or ``"Margin"``, tags).
    """
    categories = []
    for title, charts in layout.items():
        found = []
        for name, (kind, tags) in charts.items():
            if kind == "Margin":
                assert len(tags) == 3, f"a Margin has three tags, not {len(tags)}"
                series = layout_pb2.MarginChartContent.Series(
                    value=tags[0], lower=tags[1], upper=tags[2])
                found.append(layout_pb2.Chart(
                    title=name, margin=layout_pb2.MarginChartContent(series=[series])))
            else:
                found.append(layout_pb2.Chart(
                    title=name, multiline=layout_pb2.MultilineChartContent(tag=tags)))
        categories.append(layout_pb2.Category(title=title, chart=found))
    made = layout_pb2.Layout(category=categories)
    proto = TensorProto(dtype="DT_STRING", string_val=[made.SerializeToString()])
    return _one(custom_scalar_metadata.CONFIG_SUMMARY_TAG, tensor=proto, metadata=_metadata(
        custom_scalar_metadata.PLUGIN_NAME))


def _hparams_summary(tag: str, **content: Any) -> Any:
    data = plugin_data_pb2.HParamsPluginData(
        version=hparams_metadata.PLUGIN_DATA_VERSION, **content)
    return _one(tag, tensor=hparams_metadata.NULL_TENSOR, metadata=_metadata(
        hparams_metadata.PLUGIN_NAME, data.SerializeToString()))


def hparams(hparam_dict: dict[str, Any], metric_dict: dict[str, Any],
            hparam_domain_discrete: dict[str, list[Any]] | None = None) -> tuple[Any, Any, Any]:
    """Hyperparameters of a run and the tags of its metrics: three summaries.

    Raises TypeError for what are no dicts, ValueError for values that are no numbers, strings,
    truth values or tensors of one element.
    """
    if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
        raise TypeError("parameter: hparam_dict and metric_dict should be a dictionary, nothing "
                        "logged.")
    start = plugin_data_pb2.SessionStartInfo()
    infos = []
    for name, value in hparam_dict.items():
        if value is None:
            continue
        if isinstance(value, Tensor):
            value = value.item()
        info = api_pb2.HParamInfo(name=name)
        if isinstance(value, bool):
            start.hparams[name].bool_value = value
            info.type = api_pb2.DATA_TYPE_BOOL
        elif isinstance(value, (int, float, np.number)):
            start.hparams[name].number_value = float(value)
            info.type = api_pb2.DATA_TYPE_FLOAT64
        elif isinstance(value, str):
            start.hparams[name].string_value = value
            info.type = api_pb2.DATA_TYPE_STRING
        else:
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor, not "
                             f"{type(value).__name__} for {name!r}")
        for choice in (hparam_domain_discrete or {}).get(name, ()):
            added = info.domain_discrete.values.add()
            if isinstance(choice, bool):
                added.bool_value = choice
            elif isinstance(choice, str):
                added.string_value = choice
            else:
                added.number_value = float(choice)
        infos.append(info)
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metric_dict]
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.STATUS_SUCCESS)
    return (_hparams_summary(hparams_metadata.EXPERIMENT_TAG, experiment=experiment),
            _hparams_summary(hparams_metadata.SESSION_START_INFO_TAG, session_start_info=start),
            _hparams_summary(hparams_metadata.SESSION_END_INFO_TAG, session_end_info=end))


def sprite_config(path: str, size: tuple[int, int]) -> str:
    """The line of a projector's configuration that names an image of small images."""
    return (f"sprite {{\n  image_path: {json.dumps(path)}\n  single_image_dim: {size[1]}\n"
            f"  single_image_dim: {size[0]}\n}}\n")
