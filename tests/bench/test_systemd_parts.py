"""Units are enabled as ``systemctl enable`` does it: by links that systemd.unit(5) describes."""

import pytest

from bench.systemd_parts import links, units_among

UNITS = {
    "/usr/lib/systemd/system/one.service": "[Install]\nWantedBy=sysinit.target basic.target\n",
    "/usr/lib/systemd/system/of@.service": "[Install]\nWantedBy=multi-user.target\n",
}
FOLDER = "/etc/systemd/system"


def test_a_unit_is_linked_below_each_target_that_wants_it() -> None:
    made = links(["one.service"], UNITS)

    for target in ("sysinit.target", "basic.target"):
        assert made[f"{FOLDER}/{target}.wants/one.service"] == "/usr/lib/systemd/system/one.service"


def test_an_instance_is_linked_to_its_template() -> None:
    made = links(["of@it.service"], UNITS)

    template = "/usr/lib/systemd/system/of@.service"
    assert made[f"{FOLDER}/multi-user.target.wants/of@it.service"] == template


def test_a_unit_that_nobody_installed_cannot_be_enabled() -> None:
    with pytest.raises(KeyError, match=r"two\.service"):
        links(["two.service"], UNITS)


def test_units_are_the_files_in_systemds_own_folder() -> None:
    files = {f"{FOLDER}/a.service": "A", f"{FOLDER}/a.service.d/b.conf": "B", "/etc/c": "C"}

    assert units_among(files) == {f"{FOLDER}/a.service": "A"}
