"""Other packages on our arrays: results stay ours, and are what they are for NumPy's arrays.

``SCIPY_ARRAY_API=1`` (set for all tests) lets SciPy and scikit-learn look at an array's namespace.
"""

from __future__ import annotations

import copy
import io
import math
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np

H = onp.random.default_rng(0).normal(size=(60, 5))
TARGET = H @ onp.arange(1.0, 6.0) + 0.1
CLASSES = (TARGET > 0).astype(onp.int64) + (H[:, 0] > 1)


def near(ours: Any, theirs: Any, limit: float = 1e-8) -> None:
    assert isinstance(ours, np.ndarray)
    assert ours.dtype == onp.asarray(theirs).dtype and ours.shape == onp.shape(theirs)
    onp.testing.assert_allclose(onp.asarray(ours), theirs, rtol=limit, atol=limit)


def test_array_api_compat_knows_us() -> None:
    compat = pytest.importorskip("array_api_compat")
    x = np.array(H)
    assert compat.array_namespace(x) is np
    assert compat.is_array_api_obj(x) and not compat.is_numpy_array(x)
    assert compat.device(x) == x.device and compat.size(x) == 300
    assert compat.to_device(x, x.device) is x
    with pytest.raises(TypeError, match="namespaces"):
        compat.array_namespace(x, H)


class TestScikitLearn:
    @pytest.fixture(autouse=True)
    def dispatch(self) -> Any:
        sklearn = pytest.importorskip("sklearn")
        with sklearn.config_context(array_api_dispatch=True):
            yield

    def test_ridge(self) -> None:
        from sklearn.linear_model import Ridge

        ours = Ridge(solver="svd").fit(np.array(H), np.array(TARGET))
        theirs = Ridge(solver="svd").fit(H, TARGET)
        near(ours.coef_, theirs.coef_)
        near(ours.predict(np.array(H)), theirs.predict(H))

    @pytest.mark.parametrize("solver", ["full", "covariance_eigh", "randomized"])
    def test_pca(self, solver: str) -> None:
        from sklearn.decomposition import PCA

        options = {"svd_solver": solver, "power_iteration_normalizer": "QR", "random_state": 0}
        ours, theirs = PCA(3, **options).fit(np.array(H)), PCA(3, **options).fit(H)
        near(ours.components_, theirs.components_)
        near(ours.explained_variance_ratio_, theirs.explained_variance_ratio_)
        near(ours.transform(np.array(H)), theirs.transform(H))
        near(ours.inverse_transform(ours.transform(np.array(H))),
             theirs.inverse_transform(theirs.transform(H)))  # fmt: skip

    def test_linear_discriminant_analysis(self) -> None:
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        ours = LinearDiscriminantAnalysis().fit(np.array(H), np.array(CLASSES))
        theirs = LinearDiscriminantAnalysis().fit(H, CLASSES)
        near(ours.coef_, theirs.coef_)
        near(ours.predict_proba(np.array(H)), theirs.predict_proba(H))
        onp.testing.assert_array_equal(onp.asarray(ours.predict(np.array(H))), theirs.predict(H))


def _cluster() -> Any:
    from scipy.cluster import vq

    return lambda x: (vq.whiten(x), vq.vq(x, x[:3])[1])


def _fft() -> Any:
    import scipy.fft

    return lambda x: (scipy.fft.fft(x), scipy.fft.irfft(scipy.fft.rfft(x, axis=0), axis=0))


def _integrate() -> Any:
    from scipy import integrate

    return lambda x: (integrate.trapezoid(x), integrate.cumulative_trapezoid(x, axis=0))


def _signal() -> Any:
    from scipy import signal

    return lambda x: (signal.detrend(x), signal.fftconvolve(x, x, mode="same"))


def _special() -> Any:
    from scipy import special

    return lambda x: (
        special.logsumexp(x, axis=0), special.softmax(x, axis=1), special.expit(x),
        special.gammaln(abs(x)), special.erf(x))  # fmt: skip


def _stats() -> Any:
    from scipy import stats

    return lambda x: (
        stats.zscore(x), stats.skew(x), stats.kurtosis(x), stats.moment(x, 2),
        stats.gmean(abs(x)), stats.entropy(abs(x)), stats.variation(x),
        stats.ttest_1samp(x, 0.0).pvalue, stats.pearsonr(x[:, 0], x[:, 1]).statistic)  # fmt: skip


def _optimize() -> Any:
    from scipy.optimize import rosen, rosen_der

    return lambda x: (rosen(x[0]), rosen_der(x[0]))


@pytest.mark.parametrize("functions", [_cluster, _fft, _integrate, _signal, _special, _stats,
                                       _optimize])  # fmt: skip
def test_scipy(functions: Callable[[], Any]) -> None:
    pytest.importorskip("scipy")
    call = functions()
    for ours, theirs in zip(call(np.array(H)), call(H), strict=True):
        near(ours, theirs)


def test_matplotlib() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    def draw(x: Any) -> bytes:
        figure, axes = plt.subplots(2, 3)
        first, second = x[:, 0], x[:, 1]
        axes[0, 0].plot(first, second, ".")
        axes[0, 0].errorbar(first, second, yerr=abs(x[:, 2]))
        axes[0, 1].imshow(x)
        axes[0, 2].hist(first, bins=5)
        axes[0, 2].bar(np.arange(5) if isinstance(x, np.ndarray) else onp.arange(5), abs(x[0]))
        axes[1, 0].contourf(x)
        axes[1, 1].scatter(first, second, c=x[:, 2])
        axes[1, 1].set_xlim(first.min(), first.max())
        axes[1, 2].hist2d(first, second, bins=4)
        axes[1, 2].boxplot(x)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
        plt.close(figure)
        return file.getvalue()

    with matplotlib.rc_context({"svg.hashsalt": "0"}):
        assert draw(np.array(H)) == draw(H)


def test_memory_is_shared_and_never_donated() -> None:
    x = np.array(H) * 2
    view = onp.from_dlpack(x)
    again = onp.asarray(x, copy=False)
    assert onp.shares_memory(view, again) and not view.flags.writeable
    assert onp.shares_memory(onp.frombuffer(x.data), view)
    before = view.copy()
    for _ in range(4):  # updates for which the memory would be reused
        x += 1.0
        lazyloom.sync(x)
    onp.testing.assert_array_equal(view, before)
    near(x, before + 4.0)
    with pytest.raises(ValueError, match="without a copy"):
        onp.asarray(x, dtype="float32", copy=False)
    with pytest.raises((ValueError, BufferError)):
        view[0, 0] = 1.0


def test_memory_given_by_dlpack() -> None:
    # XLA takes memory as it is where it begins at a multiple of 64 bytes, and copies other
    spare = onp.zeros(16)
    start = -spare.ctypes.data % 64 // 8
    host = spare[start : start + 4]
    host[:] = onp.arange(4.0)
    x = np.from_dlpack(host)
    assert onp.shares_memory(onp.from_dlpack(x), host)
    for _ in range(3):
        x += 1
        lazyloom.sync(x)
    onp.testing.assert_array_equal(host, onp.arange(4.0))
    copied = np.from_dlpack(host, copy=True)
    host[0] = 9.0
    near(copied, onp.arange(4.0))


def test_buffers() -> None:
    x = np.array(H[:3])
    assert bytes(x) == H[:3].tobytes()
    assert x.data.shape == (3, 5) and x.data.readonly and x.data.tolist() == H[:3].tolist()
    with pytest.raises(BufferError):
        x.__buffer__(1)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "complex128"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_copies_and_pickles(dtype: str, shape: tuple[int, ...]) -> None:
    x = np.ones(shape, dtype) + np.ones(shape, dtype)
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), x.copy()):
        assert type(y) is type(x) and y.dtype == x.dtype and y.shape == x.shape
        assert y.base is None and onp.array_equal(onp.asarray(y), onp.asarray(x))
    if shape == (2, 3):
        y = copy.deepcopy(x)
        y[0] = 0
        assert bool((x[0] != 0).all())


def test_numpy_asks_itself_about_what_is_out_of_scope() -> None:
    x = np.arange(3.0)
    numbers, nothing = onp.broadcast_arrays(x, None)
    assert type(numbers) is onp.ndarray and nothing.dtype == object
    joined = onp.concatenate([onp.array(["a"], object), x])
    assert joined.tolist() == ["a", 0.0, 1.0, 2.0]


def test_python_itself() -> None:
    x = np.array([4.0, 1.0, 9.0])
    assert sum(x) == 14.0 and max(x) == 9.0 and sorted(x) == [1.0, 4.0, 9.0]
    assert math.sqrt(x[0]) == 2.0 and f"{x[0]:.2f}" == "4.00" and round(x[1]) == 1
    assert range(5)[np.array(2)] == 2 and [10, 20][np.argmin(x)] == 20
    assert random.Random(0).choice(list(x)) in x
    assert {x.sum(): 1}[onp.float64(14.0)] == 1
