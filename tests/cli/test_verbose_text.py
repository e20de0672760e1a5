"""The audit of ``lspci -vvv`` text, held against that of the bytes of the same registers."""

import json
import subprocess
import sys
from pathlib import Path

from cli.in_process import Pcietune

RECORDED = Path(__file__).parents[2] / "pcietune" / "recorded_hosts" / "a800-sxm4-8gpu.tar.gz"


def _run(*command: str | Path, code: int = 0) -> str:
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    assert run.returncode == code, run.stderr
    return run.stdout


def _states(file: Path) -> dict[str, str]:
    audit = [sys.executable, "-m", "pcietune", "audit", "--mode", "vm", "--json", "--from"]
    findings = json.loads(_run(*audit, file, code=3))["findings"]
    return {f"{f['id']} {f['subject']}": f["state"] for f in findings}


def test_a_host_is_judged_by_text_as_by_bytes(tmp_path: Path) -> None:
    _run("tar", "-xzf", RECORDED, "-C", tmp_path)
    lspci = ["lspci", "-D", "-nn", "-vvv", "-O", f"sysfs.path={tmp_path}/sys/bus/pci"]
    text, data = tmp_path / "text", tmp_path / "bytes"
    text.write_text(_run(*lspci))
    data.write_text(_run(*lspci, "-xxxx"))

    by_text, by_bytes = _states(text), _states(data)

    assert {k: v for k, v in by_text.items() if v != by_bytes.get(k)} == {}
    assert by_text.keys() == by_bytes.keys()
    assert "fail" in {v for k, v in by_text.items() if k.startswith("port.nic-side.DirectTrans")}


def test_a_class_that_no_text_tells_is_said_to_be_so(pcietune: Pcietune, tmp_path: Path) -> None:
    tree = tmp_path / "tree.txt"  # as lspci -t prints it
    tree.write_text("-[0000:00]-+-00.0\n           \\-01.0-[01]----00.0\n")

    run = pcietune("topo", "--from", tree)

    assert "0000:01:00.0  ????:????  class not known" in run.stdout
    assert "ffff" not in run.stdout
