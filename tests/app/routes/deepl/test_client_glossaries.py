"""Glossaries of DeepL's official client, unchanged, against a real uvicorn and a real model."""

from collections.abc import Iterator
from contextlib import closing

import deepl
import pytest

from app.shipped import SHIPPED_CHECKPOINT
from model.checkpoint.reader import load_checkpoint
from model.engine.build import build_engines
from tests.app.listening import listening

ENTRIES = {"house": "demeure", "credit card": "carte bleue"}


@pytest.fixture(scope="module")
def client(kernels: None) -> Iterator[deepl.DeepLClient]:
    [engine] = build_engines(load_checkpoint(SHIPPED_CHECKPOINT))
    with (
        listening(engine, SHIPPED_CHECKPOINT) as url,
        closing(deepl.DeepLClient("any key", server_url=url)) as client,
    ):
        yield client


def text_of(result: object) -> str:
    assert isinstance(result, deepl.TextResult)
    return result.text


def test_from_creation_to_deletion(client: deepl.DeepLClient) -> None:
    made = client.create_glossary("Homes", "EN", "FR", ENTRIES)
    assert (made.name, made.ready, made.entry_count) == ("Homes", True, 2)
    assert (made.source_lang, made.target_lang) == ("EN", "FR")
    assert client.get_glossary(made.glossary_id).creation_time == made.creation_time
    assert client.get_glossary_entries(made) == ENTRIES
    assert [one.glossary_id for one in client.list_glossaries()] == [made.glossary_id]
    client.delete_glossary(made)
    assert client.list_glossaries() == []


def test_its_terms_are_used(client: deepl.DeepLClient) -> None:
    made = client.create_glossary("Homes", "EN", "FR", ENTRIES)
    text = "The house is green."
    by_id = client.translate_text(
        text, source_lang="EN", target_lang="FR", glossary=made.glossary_id
    )
    assert text_of(by_id) == "La demeure est verte."
    assert text_of(client.translate_text_with_glossary(text, made)) == "La demeure est verte."
    html = client.translate_text(
        "<p>The <b>house</b> is green.</p>", source_lang="EN", target_lang="FR", glossary=made,
        tag_handling="html",
    )  # fmt: skip
    assert text_of(html) == "<p>La <b>demeure</b> est verte.</p>"
    client.delete_glossary(made)


def test_what_is_not_there(client: deepl.DeepLClient) -> None:
    unknown = "00000000-0000-4000-8000-000000000000"
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_glossary(unknown)
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_glossary_entries(unknown)
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.delete_glossary(unknown)
    with pytest.raises(deepl.DeepLException, match="no glossary has this id"):
        client.translate_text("cat", source_lang="EN", target_lang="FR", glossary=unknown)


def test_what_cannot_be_stored(client: deepl.DeepLClient) -> None:
    with pytest.raises(deepl.DeepLException, match="this server translates"):
        client.create_glossary("A", "EN", "DE", ENTRIES)
    with pytest.raises(deepl.DeepLException, match="entries: Entry 1 should have"):
        client.create_glossary_from_csv("A", "EN", "FR", "house")
