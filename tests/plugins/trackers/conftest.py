"""Every test of the trackers has a place of its own, and runs in one process."""

import pytest


@pytest.fixture(autouse=True)
def _a_place_of_its_own(own_place: None, all_here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a test out of the user's folders, and off the network."""
    for name in ("WANDB_MODE", "WANDB_API_KEY", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, "home")
    for name in ("WANDB_DISABLE_GIT", "WANDB_X_DISABLE_META", "WANDB_X_DISABLE_STATS"):
        monkeypatch.setenv(name, "true")  # it looks at the machine for seconds
