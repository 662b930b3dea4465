import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.text import placeholders
from app.text.placeholders import WINDOW, find_placeholders
from app.text.spans import Span
from tests.cases import cases
from tests.linear import assert_linear

PLACEHOLDERS = cases(__file__, "placeholders")


def found(text: str) -> list[str]:
    return [span.of(text) for span in find_placeholders(text)]


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
@pytest.mark.parametrize(
    ("before", "behind"),
    [("", ""), ("See ", " now."), ("(", ")."), ("« ", " »"), ("", ", ok"), ("'", "'!")],
)
def test_a_placeholder_is_found_whole(placeholder: str, before: str, behind: str) -> None:
    assert found(before + placeholder + behind) == [placeholder]


@pytest.mark.parametrize("text", cases(__file__, "prose_has_no_placeholders"))
def test_prose_has_no_placeholders(text: str) -> None:
    assert found(text) == []


def test_neighbours_are_one() -> None:
    assert found("At {hours}:{minutes} {zone}, {name}.") == ["{hours}:{minutes} {zone}", "{name}"]
    assert found("<b>{name}</b>and<br/>") == ["<b>{name}</b>", "<br/>"]


@given(st.lists(st.sampled_from(PLACEHOLDERS) | st.sampled_from("{}<>%$ a.@/:(,"), max_size=12))
def test_spans_are_in_order_and_apart(parts: list[str]) -> None:
    spans = find_placeholders("".join(parts))
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(set(edges))


@pytest.mark.parametrize("unit", cases(__file__, "time_is_linear_in_the_length"))
def test_time_is_linear_in_the_length(unit: str) -> None:
    assert_linear(lambda n: find_placeholders(unit * n), 100_000 // len(unit))


@pytest.mark.parametrize("parts", [("%", "0", "?"), ("http://a", ".*)", "a")])
def test_time_is_linear_in_the_length_of_one_placeholder(parts: tuple[str, str, str]) -> None:
    start, unit, end = parts
    assert_linear(lambda n: find_placeholders(start + unit * n + end), 50_000)


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("http://a.b/c.).", "http://a.b/c"),
        ("http://a.b/(c).)", "http://a.b/(c)"),
        ("http://a.b/(c)…", "http://a.b/(c)"),
        ("http://a.b/c!?", "http://a.b/c"),
    ],
)
def test_punctuation_after_an_address_is_not_part_of_it(address: str, found: str) -> None:
    assert [span.of(address) for span in find_placeholders(address)] == [found]


@given(
    st.lists(st.sampled_from([*PLACEHOLDERS, "word", " ", "\n", "a@b.com", "www.a.b/c", "%", "{"]))
)
def test_a_search_in_windows_finds_the_same(parts: list[str]) -> None:
    text = "".join(parts)
    # An address includes adjacent placeholders and addresses.
    assume(all(len(match[0]) <= 80 for match in placeholders._START.finditer(text)))
    whole = find_placeholders(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placeholders, "LONGEST", 80)
        patch.setattr(placeholders, "WINDOW", 100)
        assert find_placeholders(text) == whole


def test_a_placeholder_over_the_end_of_a_window_is_one() -> None:
    for n_before in range(WINDOW - 40, WINDOW + 5):
        text = "a" * (n_before - 1) + " {{ user | upper }} a"
        assert find_placeholders(text) == [Span(n_before, n_before + 18)]
    url = "https://a.b/" + "c" * (2 * WINDOW)
    assert find_placeholders("a " + url + " a") == [Span(2, 2 + len(url))]
