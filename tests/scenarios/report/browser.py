"""A headless Chromium that opens pages from disk and writes down what they log and ask for."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

WAIT_S = 30.0


class Browser:
    """One Chromium."""

    def __init__(self) -> None:
        webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
        chromium, driver = (shutil.which(name) for name in ("chromium", "chromedriver"))
        if chromium is None or driver is None:
            pytest.skip("needs chromium and chromedriver")
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver: Any = webdriver.Chrome(service=webdriver.ChromeService(driver), options=options)

    def open(self, path: Path, *, width: int = 1400, scheme: str = "light", media: str = "screen") -> None:
        """Open *path* and wait until its charts are drawn."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get_log("performance")
        self.driver.get_log("browser")
        self.driver.get(path.resolve().as_uri())
        end = time.monotonic() + WAIT_S
        while self.run("return document.documentElement.dataset.charts") != "drawn":
            assert time.monotonic() < end, self.messages()
            time.sleep(0.05)

    def run(self, script: str, *values: Any) -> Any:
        """The value of *script*."""
        return self.driver.execute_script(script, *values)

    def messages(self) -> list[str]:
        """What the console said since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Addresses that the page asked for since it was opened, those of its own file and data left out."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
