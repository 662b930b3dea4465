import random
import struct

import pytest

from model.checkpoint.shortlist_file import has_checksum, read_shortlist
from model.decoding.shortlist import Shortlist
from model.errors import CheckpointError
from tests.firefox_model import shortlist

N_SOURCE, N_TARGET = 40, 60
CONTENT = shortlist(N_SOURCE, N_TARGET)


def read(content: bytes, n_source: int = N_SOURCE, n_target: int = N_TARGET) -> Shortlist:
    return read_shortlist(content, "lex.bin", n_source=n_source, n_target=n_target, is_shared=False)


def changed(at: int, value: int, layout: str = "<Q") -> bytes:
    size = struct.calcsize(layout)
    return CONTENT[:at] + struct.pack(layout, value) + CONTENT[at + size :]


def test_a_file_is_read() -> None:
    found = read(CONTENT)
    assert found.n_first == 20
    assert len(found.offsets) == N_SOURCE + 1
    assert found.offsets[-1] == len(found.ids)
    assert found.target_size == N_TARGET
    assert has_checksum(CONTENT)


def test_a_hand_written_file() -> None:
    """Two source tokens: the first has none, the second 3 and 4."""
    content = struct.pack("<6Q3Q2I", 0xF11A48D5013417F5, 0, 2, 2, 3, 2, 0, 0, 2, 3, 4)
    assert read(content, 2, 8).candidates([0]).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert read(content, 2, 9).candidates([1]).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert not has_checksum(content)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "ends within the header"),
        (CONTENT[:47], "ends within the header"),
        (changed(0, 1), "does not start as one"),
        (CONTENT[:-1], "offsets and"),
        (CONTENT + b"x", "offsets and"),
        (changed(32, 2**64 - 1), "offsets and"),
        (changed(40, 2**62), "offsets and"),
        (changed(16, N_TARGET + 1), "first ids, not 2 to 60"),
        (changed(16, 1), "1 first ids"),
        (changed(48 + 8, 2**63), "do not ascend"),
        (changed(48 + 8 * N_SOURCE, 1), "do not ascend"),
        (changed(48 + 8 * (N_SOURCE + 1), N_TARGET, "<I"), "id 60; the vocabulary has 60"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(content: bytes, reason: str) -> None:
    with pytest.raises(CheckpointError, match=reason) as error:
        read(content)
    assert str(error.value).startswith("lex.bin: damaged, or not a shortlist: ")
    assert "\n" not in str(error.value)


def test_a_file_for_another_vocabulary_is_refused() -> None:
    with pytest.raises(CheckpointError, match="for 40 source tokens; the vocabulary has 41"):
        read(CONTENT, n_source=N_SOURCE + 1)


def test_random_damage_is_refused_or_read_as_valid_ids() -> None:
    choose = random.Random(1)
    for _ in range(300):
        damaged = bytearray(CONTENT)
        for _ in range(choose.randint(1, 4)):
            damaged[choose.randrange(len(damaged))] = choose.randrange(256)
        assert bytes(damaged) == CONTENT or not has_checksum(bytes(damaged))
        try:
            found = read(bytes(damaged)[: choose.choice([len(damaged), 200, 50])])
        except CheckpointError:
            continue
        assert found.candidates(range(N_SOURCE)).max() < N_TARGET
