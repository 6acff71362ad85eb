"""The program as a whole, on a small text: it learns, resumes exactly, and repeats itself."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from absl import flags
from absl.testing import flagsaver

from qanat.models import char_lm
from qanat.models.saved_weights import same, weights
from qanat.summary import summary_iterator

Array = np.ndarray[Any, Any]
WORDS = ("the", "old", "cat", "dog", "sees", "likes", "a", "bird", "tree", "sleeps")
SMALL = (
    "--units=24",
    "--embedding=8",
    "--batch_size=8",
    "--sequence_length=12",
    "--learning_rate=0.02",
    "--sample_length=30",
)


@pytest.fixture(scope="module")
def data_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Words in random order: a character is known once its word has begun."""
    random = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("data") / "text"
    path.write_text(" ".join(random.choice(WORDS, 1500)) + "\n")
    return str(path)


def run(*arguments: str) -> None:
    with flagsaver.flagsaver():
        char_lm.main(flags.FLAGS(["char_lm", *arguments]))


def perplexities(shown: str) -> list[float]:
    return [float(found) for found in re.findall(r"validation perplexity ([0-9.]+) \(", shown)]


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_it_learns_and_writes(
    data_file: str, cell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    common = (*SMALL, f"--data_file={data_file}", f"--cell={cell}", "--prompt=the ")
    run(*common, "--epochs=0")
    (untrained,) = perplexities(capsys.readouterr().out)
    run(*common, "--epochs=4")
    first, *_, last = (shown := capsys.readouterr().out).splitlines()
    assert re.match(
        rf"{cell}: [0-9,]+ parameters, 17 different characters, 6,[0-9]{{3}} to train on, "
        "3[0-9]{2} to validate with",
        first,
    )
    found = perplexities(shown)
    assert len(found) == 4 and untrained > 15 > found[0] > found[-1]
    # Which word comes cannot be known, the rest of it can.
    least = len(WORDS) ** (1 / (1 + np.mean([len(word) for word in WORDS])))
    assert 0.97 * least < found[-1] < 1.07 * least
    assert last.startswith("the ") and len(last) == 34
    written = last.split(" ")[1:-1]
    assert len(written) >= 3 and sum(word in WORDS for word in written) >= len(written) - 1


@pytest.mark.parametrize(
    "model", [["--dropout=0.2", "--layers=2"], ["--cell=gru", "--optimizer=sgd", "--clip_norm=0.1"]]
)
def test_resuming_is_exact(data_file: str, tmp_path: Path, model: list[str]) -> None:
    """Cut within an epoch, in which states are carried, and once more in the next."""
    common = (*SMALL, f"--data_file={data_file}", *model)
    run(*common, "--steps=70", f"--checkpoint_dir={tmp_path / 'whole'}")
    for steps in (20, 61, 70):
        run(*common, f"--steps={steps}", f"--checkpoint_dir={tmp_path / 'cut'}")
    whole, cut = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert whole["global_step"] == 70 and np.any(whole["carried_0"])
    assert same(whole, cut)


def test_the_same_seed_gives_the_same_bits(data_file: str, tmp_path: Path) -> None:
    def trained(name: str, *arguments: str) -> dict[str, Array]:
        common = (*SMALL, f"--data_file={data_file}", "--steps=8", "--units=64", "--dropout=0.2")
        run(*common, f"--checkpoint_dir={tmp_path / name}", *arguments)
        return weights(tmp_path / name)

    one = trained("one", "--threads=1")
    assert same(one, trained("again", "--threads=1"))
    assert same(one, trained("two", "--threads=2"))
    assert not same(one, trained("other", "--threads=1", "--seed=2"))


def test_what_is_written_repeats_itself(
    data_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = (*SMALL, f"--data_file={data_file}", f"--checkpoint_dir={tmp_path}", "--epochs=1")
    texts = []
    for arguments in ([], [], ["--temperature=0"], ["--seed=2"], ["--sample_length=0"]):
        run(*common, *arguments)
        texts.append(capsys.readouterr().out.splitlines()[-1])
    assert texts[0] == texts[1] and len({*texts[1:4]}) == 3
    assert texts[0][0] == Path(data_file).read_text()[0] and len(texts[0]) == 31
    assert texts[4].startswith("step ")


def test_a_log_and_a_trace(data_file: str, tmp_path: Path) -> None:
    log, trace = tmp_path / "log", tmp_path / "trace.json"
    run(*SMALL, f"--data_file={data_file}", "--steps=12", f"--log_dir={log}", f"--trace={trace}")
    (path,) = log.iterdir()
    steps: dict[str, list[int]] = {}
    for event in summary_iterator(path):
        for value in event.summary.value:
            steps.setdefault(value.tag, []).append(event.step)
    for tag in ("train/loss", "train/gradient_norm", "train/learning_rate"):
        assert steps[tag] == list(range(1, 13))
    assert steps["validation/perplexity"] == steps["weights/embedding"] == [12]
    events = json.loads(trace.read_text())["traceEvents"]
    assert sum("MatMul" in event["name"] for event in events if event["ph"] == "X") >= 3 * 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data_file=/nowhere"], "/nowhere: No such file"),
        (["--batch_size=800"], "expected a text of 9601 characters or more to train on, got "),
        (["--prompt=aT"], "--prompt: expected characters that the text has, got 'T' at position 1"),
        (["--prompt="], "--prompt: expected one character or more, got none"),
        (["--optimizer=sgd", "--clip_norm=0", "--learning_rate=3e38"], "the loss is (nan|inf) at"),
        (["--trace=/nowhere/trace"], "/nowhere/trace"),
    ],
)
def test_errors_are_one_line(data_file: str, arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=f"^char_lm: .*{message}.*$"):
        run(*SMALL, f"--data_file={data_file}", "--steps=30", *arguments)


@pytest.mark.parametrize(
    "argument",
    ["--cell=tree", "--layers=0", "--dropout=1", "--temperature=-1", "--validation_share=1"],
)
def test_flags_are_checked(argument: str) -> None:
    with pytest.raises(flags.IllegalFlagValueError):
        run(argument)


def test_nothing_to_validate_with(data_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(*SMALL, f"--data_file={data_file}", "--steps=1", "--validation_share=0")
    assert "step 1: no text to validate with" in capsys.readouterr().out


def test_a_checkpoint_of_another_text(data_file: str, tmp_path: Path) -> None:
    common = (*SMALL, "--steps=1", f"--checkpoint_dir={tmp_path}")
    run(*common, f"--data_file={data_file}")
    (tmp_path / "other").write_text(Path(data_file).read_text().replace("a", "A"))
    with pytest.raises(SystemExit, match="^char_lm: .*got one of a text with other characters$"):
        run(*common, f"--data_file={tmp_path / 'other'}")
    (tmp_path / "more").write_text(Path(data_file).read_text() + "!")
    with pytest.raises(SystemExit, match="^char_lm: .*characters"):
        run(*common, f"--data_file={tmp_path / 'more'}")
