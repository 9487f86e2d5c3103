"""A real browser without a window: Chromium, driven by selenium, and axe to look at a page as a screen reader would.

Knows: how to start it so that it talks to nobody but the test's server, and what it complained of.
Does not know: any page.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.wait import WebDriverWait

from tests.servers import in_ci
from tests.upstream import WAIT

PHONE = (320, 640)
DESKTOP = (1280, 900)
ALONE = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--hide-scrollbars",
)  # fmt: skip


class Browser:
    """One window."""

    def __init__(self, profile: Path) -> None:
        """`profile` is an empty folder."""
        binary, driver = (shutil.which(name) for name in ("chromium", "chromedriver"))
        if binary is None or driver is None:
            raise FileNotFoundError("chromium and chromedriver are needed")
        options = webdriver.ChromeOptions()
        options.binary_location = binary
        for argument in (*ALONE, f"--user-data-dir={profile}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(driver))
        self.driver.set_page_load_timeout(60)
        self.as_wide_as(DESKTOP)

    def as_wide_as(self, size: tuple[int, int], *, dark: bool = False) -> None:
        """The window's size in CSS pixels; below 600 it is a phone's."""
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def follow(self, element: WebElement, *keys: str) -> None:
        """Clicks on what leads to another page, or presses `keys` there, and returns once that page is there."""
        page = self.driver.find_element(By.TAG_NAME, "html")
        if keys:
            element.send_keys(*keys)
        else:
            element.click()
        # Between two pages chromedriver has no word of its own for an element that is gone; a moment later it has.
        leaving = WebDriverWait(self.driver, WAIT, ignored_exceptions=[WebDriverException])
        leaving.until(expected_conditions.staleness_of(page))
        WebDriverWait(self.driver, WAIT).until(
            lambda driver: driver.execute_script("return document.readyState") == "complete"
        )

    def complaints(self) -> list[str]:
        """What its log has since the last time: refused scripts and styles, errors, what was not there."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def wider_than_its_window(self) -> int:
        """Pixels by which the page has to be scrolled sideways."""
        found: int = self.driver.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return found

    def findings(self) -> list[str]:
        """What axe finds serious or critical on the page."""
        self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": _axe()})
        told: dict[str, Any] = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run().then(done, error => done({violations: [{id: String(error), impact: 'critical', nodes: []}]}))"
        )
        return [
            f"{one['id']}: {[node['html'][:200] for node in one['nodes'][:3]]}"
            for one in told["violations"]
            if one["impact"] in {"serious", "critical"}
        ]

    def forget(self) -> None:
        """No cookies, no log, and nothing on the page."""
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.driver.get("about:blank")
        self.as_wide_as(DESKTOP)
        self.complaints()

    def close(self) -> None:
        self.driver.quit()


@cache
def _axe() -> str:
    return (resources.files("axe_core_python") / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="session")
def _window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    try:
        window = Browser(tmp_path_factory.mktemp("browser"))
    except FileNotFoundError as error:
        if in_ci():
            pytest.fail(f"{error}: .ci/run installs them")
        pytest.skip(str(error))
    yield window
    window.close()


@pytest.fixture
def browser(_window: Browser) -> Browser:
    """One Chromium for all tests of a worker, as if it was new."""
    _window.forget()
    return _window
