import torch

from model.decoding.padding import padded_ids


def test_rows_are_padded_on_the_right() -> None:
    table = padded_ids([[1, 2, 3], [4], (5, 6)], pad_id=9, device=torch.device("cpu"))
    assert table.dtype == torch.int64
    assert table.tolist() == [[1, 2, 3], [4, 9, 9], [5, 6, 9]]


def test_the_device_is_the_requested_one() -> None:
    assert padded_ids([[1]], 0, torch.device("meta")).device.type == "meta"
