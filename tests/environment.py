"""Which services this test run was given."""

import os

DATABASE_URL = os.environ.get("FORGE_TEST_DATABASE_URL", "")
BROKER_URL = os.environ.get("FORGE_TEST_BROKER_URL", "")
REQUIRE_ALL = os.environ.get("FORGE_REQUIRE_ALL") == "1"
ROUNDS = int(os.environ.get("FORGE_TEST_ROUNDS", "0"))  # of each race; 0: as many as the test itself thinks fit
