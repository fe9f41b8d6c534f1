"""Kill -9 between the renames of a three-file patch: all of it or nothing, and nobody does it twice."""

import signal

import pytest

BEFORE = {name: f"{name} one\n{name} two\n{name} three\n" for name in ("a", "b", "c")}
DIFF = "".join(
    f"--- a/{name}\n+++ b/{name}\n@@ -1,3 +1,3 @@\n {name} one\n-{name} two\n+{name} TWO\n {name} three\n"
    for name in BEFORE
)
AFTER = {name: text.replace(" two", " TWO") for name, text in BEFORE.items()}
SOURCE = """
const {artifact_ref} = await tools.call('artifact.patch-proposal.materialize', {diff: input.diff});
const {files} = await tools.call('patch.apply', {artifact_ref});
return files.map(file => file.path);
"""


@pytest.mark.parametrize(
    ("place", "applied"),
    [("effect.before", False), ("effect.middle", True), ("effect.middle:2", True), ("t2.before", True)],
)
def test_a_patch_is_all_or_nothing(site, hand, workers, folder, renames, place, applied):
    for name, text in BEFORE.items():
        (folder / name).write_text(text)
    hand.do("allow", capability="patch.apply")
    body = {"source": SOURCE, "input": {"diff": DIFF}, "workspace": "ws", "interruption": "resume"}
    ref = hand.do("submit", key="k", body=body)["ref"]
    second = place in ("effect.before", "t2.before")  # the proposal comes by there first
    doomed = workers(FORGE_FAILPOINTS=f"{place}:2=kill" if second else f"{place}=kill")
    assert doomed.wait(30) == -signal.SIGKILL
    workers()
    seen = hand.until(ref, "succeeded", "failed")
    assert {path.name: path.read_text() for path in folder.iterdir()} == (AFTER if applied else BEFORE)
    if applied:
        assert (seen["status"], seen["result"], seen["side_effect"]) == ("succeeded", ["a", "b", "c"], "applied")
        assert sorted(renames.names()) == ["a", "b", "c"]
    else:
        assert (seen["status"], seen["error"], seen["side_effect"]) == ("failed", "SCRIPT_RUNTIME", "not_applied")
        assert renames.names() == []
    assert site.verify()["findings"] == []
