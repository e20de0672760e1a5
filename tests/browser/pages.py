"""The HTML report of recorded hosts, opened in Debian's Chromium."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

Open = Callable[[Path], "Page"]
"""Opens a file."""

_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # the tests may run as root
    "--disable-dev-shm-usage",
    "--window-size=1600,1200",
)

_TIMEOUT_S = 120  # of a check by axe, on a busy machine
_CHECK = """
const done = arguments[0];
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];
axe.run({runOnly: rules, resultTypes: ['violations']}).then(
  (found) => done(found.violations.map((each) =>
    [each.id, ...each.nodes.slice(0, 3).map((node) => node.html)].join(' '))));
"""


def chromium() -> Chrome:
    """Return a browser, which keeps what its console said."""
    options = ChromeOptions()
    for argument in _ARGUMENTS:
        options.add_argument(argument)
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return Chrome(options=options, service=ChromeService("/usr/bin/chromedriver"))


class Page:
    """One report in the browser."""

    def __init__(self, driver: Chrome, file: Path) -> None:
        self.driver = driver
        driver.get(file.as_uri())

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def ids(self, selector: str) -> set[str]:
        """Return the ids of all elements that a selector finds."""
        return {element.get_dom_attribute("id") or "" for element in self.all(selector)}

    def cell(self, sender: str, receiver: str) -> WebElement:
        (cell,) = self.all(f'.cell[href="#route-{sender}-{receiver}"]')
        return cell

    def peer(self, label: str) -> WebElement:
        (button,) = self.all(f'.peer[data-peer="{label}"]')
        return button

    @property
    def told(self) -> str:
        """What the live region says."""
        return self.driver.find_element(By.ID, "told").text

    def barriers(self) -> list[str]:
        """Return what axe-core says keeps people from reading the page."""
        self.driver.set_script_timeout(_TIMEOUT_S)
        self.driver.execute_script((files("axe_core_python") / "axe.min.js").read_text())
        found = self.driver.execute_async_script(_CHECK)
        return [str(each) for each in found]

    @property
    def console(self) -> list[str]:
        entries = self.driver.execute("getLog", {"type": "browser"})["value"]
        return [str(entry["message"]) for entry in entries]
