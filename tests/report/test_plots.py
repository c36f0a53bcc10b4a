"""The data of pictures beside what they are of; figures that show these data; files that can be repeated."""

import subprocess
import sys

import numpy as np
import pytest

import ndcore as nd
from ndcore import plots
from ndcore.stats.binomial import interval

# ---- data


def test_filter_curves():
    design = nd.design_filter(0.8)
    data = plots.filter_curve(nd.ALTAVISTA, design, points=11)
    np.testing.assert_allclose(data.x, np.arange(11) / 10)
    assert list(data.series) == ["6 × 14, need 2", "19 × 4, need 2"]
    np.testing.assert_array_equal(data.series["6 × 14, need 2"], nd.pass_probability(data.x))
    np.testing.assert_array_equal(data.series["19 × 4, need 2"], design.pass_probability(data.x))


def test_interval_bands():
    bands = plots.interval_bands((5, 84, 5000), 0.9)
    assert list(bands) == [5, 84, 5000]
    np.testing.assert_allclose(bands[5].estimate, np.arange(6) / 5)
    assert len(bands[84].estimate) == 85 and len(bands[5000].estimate) == 201
    for size, band in bands.items():
        for estimate, low, high in zip(*band, strict=True):
            assert (low, high) == interval(round(estimate * size), size, 0.9)
            assert low <= estimate <= high


def test_interval_widths():
    data = plots.interval_widths((0.5, 0.95), [20, 100, 400])
    assert data.x.tolist() == [20, 100, 400] and list(data.series) == ["0.5", "0.95"]
    low, high = interval(95, 100)
    assert data.series["0.95"][1] == high - low
    for widths in data.series.values():
        assert (np.diff(widths) < 0).all()
    assert plots.interval_widths().x[-1] == 2000


def test_histograms():
    data = plots.histogram([0.8, 0.81, 0.8199, 0.82, 0.58, 1.0, 0.999])
    assert data.edges[0] == 0.58 and data.edges[-1] == 1.0 and len(data.edges) == len(data.counts) + 1 == 22
    counted = {round(float(edge), 2): int(n) for edge, n in zip(data.edges, data.counts, strict=False) if n}
    assert counted == {0.58: 1, 0.8: 3, 0.82: 1, 0.98: 2}
    every = plots.histogram(np.arange(101) / 100, 0.1)
    assert every.counts.tolist() == [10] * 9 + [11]
    assert plots.histogram([0.3], 1.0).counts.tolist() == [1]


def test_the_histogram_of_a_result():
    texts = [" ".join(f"w{i}" for i in range(start, start + 60)) for start in (0, 1, 3, 200)]
    pairs = nd.near_duplicates(texts, threshold=0.7).pairs
    assert plots.histogram(pairs.resemblance).counts.sum() == len(pairs.resemblance) == 3


@pytest.mark.parametrize(("call", "message"), [
    (lambda: plots.filter_curve(), "needs at least one design"),
    (lambda: plots.filter_curve(nd.ALTAVISTA, points=1), "points is 1"),
    (lambda: plots.interval_bands([0]), "a size is 0"),
    (lambda: plots.interval_widths([1.5]), r"1\.5 does not"),
    (lambda: plots.histogram([]), "no values to count"),
    (lambda: plots.histogram([0.5, -1]), "-1.0 does not"),
    (lambda: plots.histogram([0.5], 0.3), r"width is 0\.3; it must be 1 divided by a whole number"),
    (lambda: plots.plot_filter(nd.ALTAVISTA, scale="cubic"), "scale is 'cubic'"),
])  # fmt: skip
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_data_need_no_matplotlib_and_figures_say_so():
    code = """if True:
        import sys
        sys.modules["matplotlib"] = sys.modules["matplotlib.figure"] = None
        import ndcore as nd
        from ndcore import plots
        assert plots.filter_curve(nd.ALTAVISTA).series and plots.interval_bands() and plots.histogram([0.5])
        for call in (lambda: plots.plot_filter(nd.ALTAVISTA), plots.plot_intervals, lambda: plots.plot_histogram([0.5])):
            try:
                call()
            except ImportError as error:
                assert "pip install 'ndcore[plot]'" in str(error), error
            else:
                raise AssertionError
    """
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- figures


@pytest.fixture
def _matplotlib():
    pytest.importorskip("matplotlib")


needs_matplotlib = pytest.mark.usefixtures("_matplotlib")


def lines(plot):
    """Collect the data of the lines that are curves."""
    return [line.get_xydata() for line in plot.get_lines() if len(line.get_xdata()) > 2]


@needs_matplotlib
def test_figures_show_the_data():
    designs = nd.ALTAVISTA, nd.design_filter(0.8)
    figure, data = plots.plot_filter(*designs)
    linear, logarithmic = figure.axes
    for plot, scale in ((linear, "linear"), (logarithmic, "log")):
        assert plot.get_yscale() == scale
        assert plot.get_xlabel() == "resemblance of the pair" and "probability" in plot.get_ylabel()
        for curve, y in zip(lines(plot), data.series.values(), strict=True):
            np.testing.assert_array_equal(curve, np.stack([data.x, y], axis=1)[y > 0])
    names = [text.get_text() for text in linear.get_legend().get_texts()]
    assert names == ["6 × 14, need 2 (half at 0.909)", "19 × 4, need 2 (half at 0.543)", "thresholds"]
    assert len(plots.plot_filter(nd.ALTAVISTA, scale="log").figure.axes) == 1
    figure, (bands, widths) = plots.plot_intervals((84, 200))
    assert list(bands) == [84, 200] and len(lines(figure.axes[0])) == 4
    for curve, y in zip(lines(figure.axes[1]), widths.series.values(), strict=True):
        np.testing.assert_array_equal(curve[:, 1], y)
    figure, data = plots.plot_histogram([0.8, 0.9, 0.9], threshold=0.8)
    assert [bar.get_height() for bar in figure.axes[0].patches] == data.counts.tolist()


@needs_matplotlib
def test_curves_differ_without_colour():
    designs = [nd.FilterDesign.of(groups, 4, threshold=0.8) for groups in range(1, 8)]
    drawn = [line for line in plots.plot_filter(*designs).figure.axes[0].get_lines() if len(line.get_xdata()) > 2]
    styles = {(line._unscaled_dash_pattern[0], tuple(line._unscaled_dash_pattern[1] or ())) for line in drawn}
    assert len({line.get_color() for line in drawn}) == len(styles) == 7


@needs_matplotlib
@pytest.mark.parametrize("suffix", [".png", ".svg", ".PDF"])
def test_files_can_be_repeated(tmp_path, suffix):
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        plots.plot_filter(nd.ALTAVISTA).save(path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second and first[:4] in (b"\x89PNG", b"<?xm", b"%PDF")


@needs_matplotlib
def test_other_formats_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"curve.jpg: pictures are written as .png, .svg, .pdf"):
        plots.plot_filter(nd.ALTAVISTA).save(tmp_path / "curve.jpg")
    assert list(tmp_path.iterdir()) == []
