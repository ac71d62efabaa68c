"""Writers of event files."""

from __future__ import annotations

import json
import os
import socket
import time
from datetime import datetime
from typing import Any

import numpy as np
from tensorboard.compat.proto import event_pb2
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ... import _absent
from . import summary
from .summary import as_array


class FileWriter:
    """Writes summaries to one event file in a folder, which is made where it is not there."""

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: float = 120,
                 filename_suffix: str = "") -> None:  # fmt: skip
        self.event_writer = EventFileWriter(
            str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        found: str = self.event_writer.get_logdir()
        return found

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an event of a step, now if no time is given."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None
                    ) -> None:
        """Write a summary."""
        self.add_event(event_pb2.Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        self.event_writer.flush()

    def close(self) -> None:
        self.event_writer.close()

    def reopen(self) -> None:
        """Nothing: an event after :meth:`close` is an error."""


class SummaryWriter:
    """Writes what TensorBoard shows: curves, histograms, images, texts, hyperparameters.

    Args:
        log_dir: a folder; ``runs/`` and the time, the machine and ``comment`` if not given.
        purge_step: events of this step and later ones, of a run before, are not shown.
        max_queue: events that wait to be written.
        flush_secs: seconds between two writes to the disk.
        filename_suffix: ends the names of files.

    What is given is read: a tensor's numbers are needed at once.
    """

    def __init__(self, log_dir: Any = None, comment: str = "", purge_step: Any = None,
                 max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = "",
                 ) -> None:  # fmt: skip
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.purge_step = purge_step
        self.max_queue, self.flush_secs = max_queue, flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()

    def _writer(self, folder: str) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _get_file_writer(self) -> FileWriter:
        if self.file_writer is None or self.all_writers is None:
            self.file_writer = self._writer(self.log_dir)
            self.all_writers = {self.log_dir: self.file_writer}
            if self.purge_step is not None:
                step = self.purge_step
                self.file_writer.add_event(
                    Event(step=step, file_version="brain.Event:2"), step)
                self.file_writer.add_event(
                    Event(step=step, session_log=SessionLog(status=SessionLog.START)), step)
                self.purge_step = None
        return self.file_writer

    def _add(self, made: Any, step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(made, step, walltime)

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None,
                   walltime: float | None = None, new_style: bool = False,
                   double_precision: bool = False) -> None:  # fmt: skip
        """A point of a curve."""
        self._add(summary.scalar(tag, scalar_value, new_style, double_precision), global_step,
                  walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None,
                    walltime: float | None = None) -> None:  # fmt: skip
        """Points of several curves in one chart, each in a folder of its own."""
        folder = self._get_file_writer().get_logdir()
        writers = self.all_writers
        assert writers is not None
        for tag, value in tag_scalar_dict.items():
            path = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if path not in writers:
                writers[path] = self._writer(path)
            writers[path].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None,
                   walltime: float | None = None) -> None:  # fmt: skip
        """The numbers of a tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(self, tag: str, values: Any, global_step: Any = None,
                      bins: Any = "tensorflow", walltime: float | None = None,
                      max_bins: int | None = None) -> None:  # fmt: skip
        """How the values are distributed."""
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(self, tag: str, min: Any, max: Any, num: Any, sum: Any,
                          sum_squares: Any, bucket_limits: Any, bucket_counts: Any,
                          global_step: Any = None, walltime: float | None = None,
                          ) -> None:  # fmt: skip
        """A histogram that is known. ValueError unless limits are as many as counts."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        self._add(summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits,
                                        bucket_counts), global_step, walltime)

    def add_image(self, tag: str, img_tensor: Any, global_step: Any = None,
                  walltime: float | None = None, dataformats: str = "CHW") -> None:  # fmt: skip
        """An image of bytes, or of numbers from 0 to 1."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(self, tag: str, img_tensor: Any, global_step: Any = None,
                   walltime: float | None = None, dataformats: str = "NCHW") -> None:  # fmt: skip
        """Images side by side."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(self, tag: str, figure: Any, global_step: Any = None, close: bool = True,
                   walltime: float | None = None) -> None:  # fmt: skip
        """A figure of Matplotlib, or a list of them, drawn as an image."""
        from matplotlib import pyplot
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        drawn = []
        for one in figure if isinstance(figure, list) else [figure]:
            canvas: Any = FigureCanvasAgg(one)
            canvas.draw()
            drawn.append(np.asarray(canvas.buffer_rgba())[..., :3])
            if close:
                pyplot.close(one)
        self.add_image(tag, np.stack(drawn), global_step, walltime, "NHWC")

    def add_audio(self, tag: str, snd_tensor: Any, global_step: Any = None,
                  sample_rate: int = 44100, walltime: float | None = None) -> None:  # fmt: skip
        """Sound of one channel, numbers from -1 to 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None,
                 walltime: float | None = None) -> None:  # fmt: skip
        """A text in Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_pr_curve(self, tag: str, labels: Any, predictions: Any, global_step: Any = None,
                     num_thresholds: int = 127, weights: Any = None,
                     walltime: float | None = None) -> None:  # fmt: skip
        """Precision and recall of predictions from 0 to 1 by thresholds."""
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights),
                  global_step, walltime)

    def add_pr_curve_raw(self, tag: str, true_positive_counts: Any, false_positive_counts: Any,
                         true_negative_counts: Any, false_negative_counts: Any, precision: Any,
                         recall: Any, global_step: Any = None, num_thresholds: int = 127,
                         weights: Any = None, walltime: float | None = None) -> None:  # fmt: skip
        """A curve of precision and recall that is known."""
        self._add(summary.pr_curve_raw(
            tag, true_positive_counts, false_positive_counts, true_negative_counts,
            false_negative_counts, precision, recall, num_thresholds), global_step, walltime)

    def add_hparams(self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any],
                    hparam_domain_discrete: dict[str, list[Any]] | None = None,
                    run_name: str | None = None, global_step: Any = None) -> None:  # fmt: skip
        """Hyperparameters and metrics of a run, in a folder of its own."""
        made = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(folder) as run:
            for one in made:
                run._add(one, None, None)
            for tag, value in metric_dict.items():
                run.add_scalar(tag, value, global_step)

    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Which curves stand in one chart."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(self, tags: list[str], category: str = "default",
                                          title: str = "untitled") -> None:
        """Several curves in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags: list[str], category: str = "default",
                                       title: str = "untitled") -> None:
        """A curve between two others: their three tags."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_embedding(self, mat: Any, metadata: Any = None, label_img: Any = None,
                      global_step: Any = 0, tag: str = "default", metadata_header: Any = None,
                      ) -> None:  # fmt: skip
        """Points of the projector, (N, D), with a label and an image (N, C, H, W) for each."""
        array = as_array(mat)
        assert array.ndim == 2, f"mat should have 2 dimensions, (points, numbers), not {array.ndim}"
        folder = os.path.join(self._get_file_writer().get_logdir(), f"{int(global_step or 0):05d}",
                              str(tag))
        os.makedirs(folder, exist_ok=True)
        inside = os.path.relpath(folder, self._get_file_writer().get_logdir())
        lines = [f"tensor_name: {json.dumps(f'{tag}:{int(global_step or 0):05d}')}",
                 f"tensor_path: {json.dumps(os.path.join(inside, 'tensors.tsv'))}"]
        np.savetxt(os.path.join(folder, "tensors.tsv"), array, "%.8g", "\t")
        if metadata is not None:
            assert len(metadata) == len(array), "#labels should equal with #data points"
            rows = [[str(x) for x in row] if metadata_header else [str(row)] for row in metadata]
            if metadata_header:
                rows.insert(0, [str(x) for x in metadata_header])
            with open(os.path.join(folder, "metadata.tsv"), "w") as file:
                file.writelines("\t".join(row) + "\n" for row in rows)
            lines.append(f"metadata_path: {json.dumps(os.path.join(inside, 'metadata.tsv'))}")
        text = "\n".join(lines) + "\n"
        if label_img is not None:
            images = as_array(label_img)
            assert len(images) == len(array), "#images should equal with #data points"
            scale = 1 if images.dtype == np.uint8 else 255
            side = int(np.ceil(np.sqrt(len(images))))
            filled = np.zeros((side * side, *images.shape[1:]), np.float32)
            filled[:len(images)] = images
            grid = summary.in_grid(filled, side).transpose(1, 2, 0) * scale
            grid = np.repeat(grid, 3, axis=2) if grid.shape[2] == 1 else grid
            with open(os.path.join(folder, "sprite.png"), "wb") as binary:
                binary.write(summary.png(grid.clip(0, 255).astype(np.uint8)))
            text += summary.sprite_config(
                os.path.join(inside, "sprite.png"), images.shape[2:4])
        config = os.path.join(self._get_file_writer().get_logdir(), "projector_config.pbtxt")
        with open(config, "a") as file:
            file.write("embeddings {\n" + text + "}\n")

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False,
                  use_strict_trace: bool = True) -> None:  # fmt: skip
        """Raises NotImplementedError: there is no graph of a program to show."""
        _absent.refuse("torch.utils.tensorboard.SummaryWriter.add_graph",
                       "there is no tracer whose graph one could show")

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Raises NotImplementedError, as :meth:`add_graph`."""
        _absent.refuse("torch.utils.tensorboard.SummaryWriter.add_onnx_graph",
                       "models are not exported to other runtimes")

    def add_video(self, tag: str, vid_tensor: Any, global_step: Any = None, fps: float = 4,
                  walltime: float | None = None) -> None:  # fmt: skip
        """Raises NotImplementedError: nothing here encodes videos."""
        _absent.refuse("torch.utils.tensorboard.SummaryWriter.add_video",
                       "nothing here encodes videos; use add_images")

    def add_mesh(self, tag: str, vertices: Any, colors: Any = None, faces: Any = None,
                 config_dict: Any = None, global_step: Any = None,
                 walltime: float | None = None) -> None:  # fmt: skip
        """Raises NotImplementedError."""
        _absent.refuse("torch.utils.tensorboard.SummaryWriter.add_mesh",
                       "meshes are not written; use tensorboardX")

    def add_image_with_boxes(self, tag: str, img_tensor: Any, box_tensor: Any,
                             global_step: Any = None, walltime: float | None = None,
                             rescale: float = 1, dataformats: str = "CHW", labels: Any = None,
                             ) -> None:  # fmt: skip
        """Raises NotImplementedError: draw the boxes, and use add_image."""
        _absent.refuse("torch.utils.tensorboard.SummaryWriter.add_image_with_boxes",
                       "nothing here draws boxes; draw them and use add_image")

    def flush(self) -> None:
        """Write what waits to the disk."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write what waits and close the files. What is added later goes to a new file."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


__all__ = ["FileWriter", "SummaryWriter"]
