"""One real zygote for all tests here."""

import pytest

from executions.sandbox import Zygote


@pytest.fixture(scope="session")
def zygote():
    zygote = Zygote.start()
    yield zygote
    zygote.close()
