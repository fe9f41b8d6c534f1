import pytest

from forge_project.kernel import failpoints


def test_nothing_happens_unless_armed():
    failpoints.reach("t1.before")


def test_the_nth_passing_crashes_past_except_exception():
    with failpoints.crash_at("t1.before", nth=2):
        failpoints.reach("t1.before")
        try:
            failpoints.reach("t1.before")
        except Exception:
            pytest.fail("a crash must not be caught")
        pytest.fail("the second passing must crash")


def test_a_failpoint_never_reached_fails_the_test():
    with pytest.raises(AssertionError, match="never reached"), failpoints.crash_at("t2.after"):
        pass


@pytest.mark.parametrize("spec", ["nowhere=kill", "t1.before", "t1.before=x", "t1.before:0=kill", "t1.before:x=kill"])
def test_a_bad_setting_is_refused(spec):
    with pytest.raises(ValueError, match="FORGE_FAILPOINTS"):
        failpoints.arm(spec)
