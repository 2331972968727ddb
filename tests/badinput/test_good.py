"""The good requests are good: what the other tests see refused is the fault they put in."""

import pytest

from api.wiring import Services
from tests.badinput.sending import Sender
from tests.badinput.stock import BY_NAME, ENDING, Stock


@pytest.mark.parametrize("name", BY_NAME)
def test_a_good_request_is_answered(name: str, services: Services, url: str) -> None:
    stock = Stock(services, url)
    with Sender(stock) as send:
        answer = send(stock.request(name))
    assert answer.status in BY_NAME[name].answers, answer
    assert answer.status < 300, answer


def test_there_is_a_good_request_for_every_route() -> None:
    assert len(BY_NAME) == len(ENDING)
