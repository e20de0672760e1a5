"""Shellcheck finds no fault with any shell script, of a developer or of an installed host."""

import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
FOLDERS = [".ci", "benchmarks", "docs", "initramfs", "install", "libvirt"]
SCRIPTS = [
    path
    for folder in FOLDERS
    for path in sorted((CHECKOUT / folder).rglob("*"))
    if path.is_file() and path.read_bytes().startswith((b"#!/bin/sh", b"#!/bin/bash"))
]


def test_the_scripts_are_found() -> None:
    assert {path.parent.name for path in SCRIPTS} >= {
        ".ci",
        "benchmarks",
        "initramfs",
        "install",
        "libvirt",
    }


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_shellcheck_finds_no_fault_with_a_script(script: Path) -> None:
    checked = subprocess.run(["shellcheck", script], check=False, capture_output=True, text=True)

    assert (checked.stdout, checked.returncode) == ("", 0)
