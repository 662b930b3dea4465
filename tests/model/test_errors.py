import inspect

from model import errors


def test_every_error_is_a_model_error_and_stands_in_the_tree_drawn() -> None:
    classes = [one for _, one in inspect.getmembers(errors, inspect.isclass)]
    assert len(classes) > 1
    drawn = errors.__doc__ or ""
    for one in classes:
        assert issubclass(one, errors.ModelError)
        assert f" {one.__name__}" in drawn


def test_another_librarys_message_is_one_line_without_a_number() -> None:
    assert errors.reason(OSError(111, "Connection refused")) == "Connection refused"
    assert errors.reason(ConnectionError("[Errno -2] Name not\n known")) == "Name not known"
    assert errors.reason(ValueError()) == "ValueError"
