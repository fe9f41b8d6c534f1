"""GET docs/: the description as a page, under the same strict policy as everything else."""

import re

import pytest
from django.contrib.staticfiles import finders

pytestmark = pytest.mark.django_db


def test_it_is_for_everybody_and_has_nothing_inline(client):
    answer = client.get("/api/v1/docs/")
    page = answer.content.decode()
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'self'" in answer["Content-Security-Policy"]
    assert "unsafe" not in answer["Content-Security-Policy"]
    assert 'data-schema="/api/v1/schema/"' in page
    assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=", page)


def test_what_it_loads_is_ours_and_there(client):
    page = client.get("/api/v1/docs/").content.decode()
    places = re.findall(r'(?:src|href)="([^"]+)"', page)
    files = [place for place in places if place.startswith("/static/")]
    assert len(files) == 5
    assert all(place.startswith("/") and not place.startswith("//") for place in places)
    assert all(finders.find(place.removeprefix("/static/")) for place in files)


def test_an_odd_request_is_never_a_5xx(client):
    assert client.get("/api/v1/docs/?q=%00", HTTP_AUTHORIZATION="Token x").status_code == 200
    assert client.post("/api/v1/docs/").status_code == 405
