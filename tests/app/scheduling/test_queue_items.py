from __future__ import annotations

from app.scheduling.queue_items import Completion
from tests.app.asynchronous import asynchronous
from tests.app.scheduling.harness import new_request


@asynchronous
async def test_a_request_is_answered_by_its_last_sentence_in_the_order_of_all() -> None:
    request = new_request(2)
    first, second = Completion([], 1, 1), Completion([], 2, 2)
    request.sentences[1].settle(second)
    assert not request.future.done()
    request.sentences[0].settle(first)
    assert request.future.result() == [first, second]


@asynchronous
async def test_a_request_that_failed_or_was_given_up_stays_so() -> None:
    failed, given_up = new_request(2), new_request(1)
    failed.sentences[0].settle(ValueError("one"))
    failed.sentences[1].settle(ValueError("two"))
    assert str(failed.future.exception()) == "one"
    given_up.future.cancel()
    given_up.sentences[0].settle(Completion([], 0, 0))
    assert given_up.future.cancelled()


@asynchronous
async def test_a_request_without_a_client_is_its_own() -> None:
    alone, of_one, of_the_same = new_request(1), new_request(1), new_request(1)
    of_one.client = of_the_same.client = "key"
    assert alone.sentences[0].client is alone
    assert of_one.sentences[0].client == of_the_same.sentences[0].client
