"""Commands as functions: the same documents as the program's."""

import json
import subprocess
import sys

import pytest
from conftest import KERNELS, ROOT, SCALE

import assay

LAUNCH = {"grid": (256, 256), "threadgroup": (16, 16), "bytes": {3: "u32:256", 4: "u32:256", 5: "u32:256"}}


def program(*arguments):
    done = subprocess.run([sys.executable, "-m", "assay", *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
    return done.returncode, done.stdout


def test_a_profile_is_the_document_of_the_program():
    path = KERNELS / "matmul_tiled.metal"
    profile = assay.profile(path)
    code, printed = program("profile", path, "--format", "json")
    assert code == 0
    assert profile.to_dict() == json.loads(printed)["profiles"][0]


def test_every_part_of_a_profile_is_an_object():
    profile = assay.profile(KERNELS / "matmul_naive.metal", launch=LAUNCH)
    assert profile.name == "matmul_naive"
    assert profile.occupancy.threads == 1024
    assert [loop.depth for loop in profile.loops] == [1]
    assert any(finding.rule == "redundant-loads" for finding in profile.findings)
    assert any(line.line == 19 and line.file.endswith("matmul_naive.metal") for line in profile.lines)
    assert profile.instructions[-1].text.startswith("stop")
    assert profile.predicted.low_us < profile.predicted.time_us < profile.predicted.high_us
    assert "redundant-loads" in profile.text()
    assert profile.figures
    with pytest.raises(AttributeError, match="has no 'occupency'; it has .*occupancy"):
        profile.occupency


def test_source_text_bytes_and_paths_give_the_same_profile(tmp_path):
    path = tmp_path / "source.metal"
    path.write_text(SCALE)
    figures = [assay.profile(code).figures for code in (SCALE, SCALE.encode(), path, str(path), assay.compile(SCALE))]
    assert all(one == figures[0] for one in figures)


def test_functions_are_chosen_by_name():
    two = SCALE + SCALE.replace("scale", "other")
    assert assay.profile(two, "other").name == "other"
    assert [one.name for one in assay.profiles(two)] == ["scale", "other"]
    with pytest.raises(assay.UsageError, match="there are 2 kernels"):
        assay.profile(two)
    with pytest.raises(assay.UsageError, match="no kernel named scael"):
        assay.profile(two, "scael")


def test_a_diff_says_which_is_faster():
    diff = assay.diff(KERNELS / "matmul_naive.metal", KERNELS / "matmul_tiled.metal", launch=LAUNCH)
    assert diff.changed
    assert diff.kernels[0].predicted.before.kernel == "matmul_naive"
    assert "<html" in diff.html()
    assert not assay.diff(SCALE, SCALE).changed


def test_a_prediction_has_all_chips_that_were_asked_for():
    prediction = assay.predict(SCALE, chip=["m1", "m2-max"], launch="--grid 65536 --threadgroup 256 --arg by=2")
    assert [one.chip for one in prediction.chips] == ["m1", "m2-max"]
    assert prediction.chips[1].time_us < prediction.time_us
    assert sum(prediction.terms.values()) == pytest.approx(prediction.time_us, rel=0.05)


def test_code_is_disassembled_and_assembled():
    listing = assay.disasm(KERNELS / "saxpy.metal")
    assert listing.summary.unknown == 0
    assert assay.assemble(str(listing)).code == b"".join(bytes.fromhex(row.bytes) for row in listing)
    with pytest.raises(assay.InputError, match="program.s:1"):
        assay.assemble("frobnicate r0")


def test_chips_rules_and_files_are_known():
    assert {"m1", "m2", "m4"} <= set(assay.chips())
    assert "device memory" in assay.explain("tile-loads")
    assert assay.inspect(KERNELS / "softmax.metal").kernels[0].max_threads == 256
    with pytest.raises(assay.AssayError):
        assay.explain("no-such-rule")


def test_tables_are_pandas_where_it_is_installed():
    pandas = pytest.importorskip("pandas")
    profile = assay.profile(SCALE)
    assert isinstance(profile.to_pandas(), pandas.DataFrame)
    assert list(profile.to_pandas()["offset"]) == [row.offset for row in profile.instructions]
    assert len(assay.predict(SCALE, chip="all", launch="--grid 1024 --threadgroup 256 --arg by=2").to_pandas()) >= 10


def test_a_notebook_shows_pages():
    profile = assay.profile(SCALE)
    assert profile._repr_html_().startswith("<iframe srcdoc=")
    assert "&lt;html" in profile._repr_html_()
    assert "<pre" in assay.disasm(SCALE)._repr_html_()


@pytest.mark.parametrize("code", ["", "\n", b"", b"\0" * 64, b"MTLB" + b"\xff" * 400, b"BC\xc0\xde" + bytes(range(256)), "kernel void {"])
def test_inputs_that_are_nothing_are_exceptions(code):
    for function in (assay.profile, assay.inspect, assay.compile):
        with pytest.raises(assay.AssayError) as caught:
            result = function(code)
            raise assay.InputError(f"unexpected {result!r}") if function is not assay.inspect else assay.InputError("listed")
        assert caught.value.code in (2, 3)


def test_files_that_are_not_there_are_named():
    with pytest.raises(assay.InputError, match="no file missing.metal"):
        assay.profile("missing.metal")
    with pytest.raises(assay.UsageError, match="cannot be given as int"):
        assay.profile(3)
    with pytest.raises(assay.UsageError, match="a launch has no 'gird'"):
        assay.profile(SCALE, launch={"gird": 3})
    with pytest.raises(assay.UsageError):
        assay.profile(SCALE, chip="m99")


def test_errors_of_source_have_lines():
    with pytest.raises(assay.SourceError) as caught:
        assay.compile("kernel void k(device float* x) {\n    x[0] = nothing;\n}")
    (error,) = caught.value.errors
    assert (error["line"], caught.value.code) == (2, 3)
    assert "nothing" in error["message"] and "x[0] = nothing;" in error["source_line"]
