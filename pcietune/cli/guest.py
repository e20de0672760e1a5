"""``pcietune guest``: what VMs are given, planned, written and checked."""

import typer

from pcietune.cli import (
    guest_check,
    guest_libvirt,
    guest_nccl,
    guest_nvswitch,
    guest_plan,
    guest_qemu,
)

app = typer.Typer(
    help="Plan a VM that GPUDirect works in, and write what QEMU, libvirt and NCCL need for it.",
    no_args_is_help=True,
)
app.command("plan")(guest_plan.plan)
app.command("qemu")(guest_qemu.qemu)
app.command("libvirt")(guest_libvirt.libvirt)
app.command("nvswitch")(guest_nvswitch.nvswitch)
app.command("nccl")(guest_nccl.nccl)
app.command("check")(guest_check.check)
