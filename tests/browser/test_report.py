"""The HTML report in a real browser: by mouse and keyboard, for screen readers, in print."""

import base64
from pathlib import Path

import pytest
from browser.pages import Open
from selenium.webdriver.common.keys import Keys

from pcietune.cli.app import run

# The switch of NIC0 and GPU0 on the A800: root port, upstream port, the port of each.
UP_AND_DOWN = {
    "f-0000:25:00.0",
    "f-0000:22:02.0",
    "f-0000:21:00.0",
    "f-0000:20:00.0",
    "rc-0000:20",
    "f-0000:22:00.0",
    "f-0000:23:00.0",
}
ACROSS = {"f-0000:25:00.0", "f-0000:22:02.0", "f-0000:22:00.0", "f-0000:23:00.0"}


def test_choosing_a_pair_lights_its_ports_and_names_what_decides(opened: Open, a800: Path) -> None:
    page = opened(a800)
    page.cell("NIC0", "GPU0").click()

    assert page.ids(".lit") == UP_AND_DOWN
    assert page.ids(".decides-here") == {"f-0000:22:02.0"}
    assert page.told.startswith("NIC0 to GPU0. posted write, translated: via root complex by ")
    assert "0000:22:02.0 DirectTrans- ReqRedir+" in page.told
    assert page.console == []


def test_once_the_profile_holds_another_way_is_lit(opened: Open, a800: Path) -> None:
    page = opened(a800)
    page.cell("NIC0", "GPU0").click()
    page.driver.find_element("id", "once").click()

    assert page.ids(".lit") == ACROSS
    assert "direct" in page.told


def test_two_boxes_make_a_pair_too(opened: Open, a800: Path) -> None:
    page = opened(a800)
    for label in ("GPU0", "NIC0"):
        button = page.peer(label)
        page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
        button.click()

    assert page.told.startswith("GPU0 to NIC0. posted write, by a guest's address")
    assert page.ids(".decides-here") == {"f-0000:22:00.0"}


def test_of_two_boxes_without_a_gpu_it_says_that_one_must_be(opened: Open, a800: Path) -> None:
    page = opened(a800)
    for label in ("NIC0", "NIC1"):
        page.driver.execute_script("arguments[0].click()", page.peer(label))

    assert page.told == "No route is told between NIC0 and NIC1: one of two must be a GPU."
    assert page.ids(".lit") == set()


def test_pointing_at_a_pair_lights_it_and_moves_nothing(opened: Open, a800: Path) -> None:
    page = opened(a800)
    cell = page.cell("NIC0", "GPU0")
    before = cell.rect
    page.driver.execute_script("arguments[0].dispatchEvent(new Event('mouseenter'))", cell)

    assert page.ids(".lit") == UP_AND_DOWN
    assert cell.rect == before
    page.driver.execute_script("arguments[0].dispatchEvent(new Event('mouseleave'))", cell)
    assert page.ids(".lit") == set()


def test_the_keyboard_alone_walks_chooses_and_lets_go(opened: Open, a800: Path) -> None:
    page = opened(a800)
    cell = page.cell("NIC0", "GPU0")
    cell.send_keys(Keys.ARROW_DOWN)
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)

    assert page.told.startswith("NIC1 to GPU1. ")
    assert len(page.all(".matrix .cell[tabindex='0']")) == len(page.all(".matrix"))
    page.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    page.driver.execute_script("document.activeElement.blur()")
    assert page.ids(".lit") == set()
    assert page.told.startswith("Choose a pair")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("host", ["a800", "unfolded"])
def test_axe_finds_nothing_that_keeps_people_out(
    opened: Open, request: pytest.FixtureRequest, host: str, scheme: str
) -> None:
    page = opened(request.getfixturevalue("a800" if host == "a800" else "small"))
    page.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    page.cell("NIC0", "GPU0").click()
    if host == "unfolded":
        for folded in page.all("details"):
            page.driver.execute_script("arguments[0].open = true", folded)

    assert page.driver.execute_script(
        "return matchMedia('(prefers-color-scheme: dark)').matches"
    ) is (scheme == "dark")
    assert page.barriers() == []


def test_every_route_is_there_in_print(opened: Open, a800: Path) -> None:
    page = opened(a800)
    printed = base64.b64decode(page.driver.print_page())
    page.driver.execute_script("dispatchEvent(new Event('beforeprint'))")

    assert printed.startswith(b"%PDF-")
    assert page.all("details:not([open])") == []
    assert len(page.all(".route")) == 8 * 8 * 2 + 8 * 7


def test_the_vfs_of_16_nics_with_128_each_stay_folded(opened: Open, big: Path) -> None:
    page = opened(big)
    folded = page.all("details.vfs > summary")

    assert [fold.text for fold in folded] == ["127 VFs"] * 16  # the first of them stands for all
    assert len(page.all(".box")) < 200
    assert big.stat().st_size < 5_000_000
    assert page.console == []


def test_the_file_fetches_nothing_and_two_runs_are_alike(a800: Path, opened: Open) -> None:
    page = opened(a800)
    fetched = page.driver.execute_script(
        "return performance.getEntriesByType('resource').map((each) => each.name)"
    )

    assert [name for name in fetched if not name.startswith("data:")] == []
    assert "http" not in a800.read_text().replace("http-equiv", "")


def test_text_of_the_host_is_no_markup(opened: Open, tmp_path: Path, hostile: Path) -> None:
    file = tmp_path / "host.html"
    assert run(["report", str(file), "--from", str(hostile)]) == 0
    page = opened(file)

    assert page.driver.execute_script("return window.struck") is None
    assert page.driver.find_element("tag name", "h1").text.startswith("<script>")
    assert page.console == []
