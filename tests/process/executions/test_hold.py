"""A hold over real workers: placed by the command, it keeps effects back until it is released."""

WRITE = {"capability": "file.write", "input": {"path": "a", "content": "new"}, "workspace": "ws"}


def test_an_approved_write_waits_for_the_release(site, hand, workers, folder, renames):
    workers()
    ref = hand.do("submit", key="k", body=WRITE)["ref"]
    hand.until(ref, "waiting_approval")
    site.manage("hold", "--workspace", "ws", "--reason", "incident 7")
    hand.do("approve", ref=ref)
    free = {"source": "return 1"}
    assert hand.until(hand.do("submit", key="k2", body=free)["ref"], "succeeded")["attempt"] == 1  # others go on
    assert hand.do("get", ref=ref)["status"] == "queued"
    assert renames.names() == []
    assert "incident 7" in site.manage("doctor", check=False).stdout
    site.manage("release", "--workspace", "ws", "--reason", "over")
    assert hand.until(ref, "succeeded")["side_effect"] == "applied"
    assert renames.names() == ["a"]
    assert site.verify()["findings"] == []


def test_a_script_held_on_its_way_goes_on_after_the_release(site, hand, workers, tmp_path):
    site.env["FORGE_TEST_MARKER"] = str(tmp_path / "marker")
    site.manage("hold", "--capability", "tests.marker", "--reason", "incident 7")
    workers()
    source = "text('begun'); await tools.call('tests.marker', {text: 'x'}); return 'done'"
    ref = hand.do("submit", key="k", body={"source": source})["ref"]
    while hand.do("get", ref=ref)["attempt"] < 1:
        pass
    hand.until(ref, "queued")
    assert not (tmp_path / "marker").exists()
    site.manage("release", "--capability", "tests.marker", "--reason", "over")
    assert hand.until(ref, "succeeded")["result"] == "done"
    assert hand.do("get", ref=ref)["attempt"] == 2
    assert len((tmp_path / "marker").read_text().splitlines()) == 1
    assert site.verify()["findings"] == []
