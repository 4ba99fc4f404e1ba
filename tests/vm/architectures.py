"""The architectures that the virtual machine can have: QEMU's machine and the kernel's arguments."""

import dataclasses
import pathlib
import subprocess


@dataclasses.dataclass(frozen=True)
class Architecture:
    """One of them; it is that of the programs that run in the machine."""
    name: str                 # Debian's
    elf_machine: int          # e_machine of its programs
    qemu: str                 # QEMU's program
    qemu_package: str
    machine: str
    cpu: str
    kernel_arguments: tuple
    hotplug: bool             # whether QEMU plugs CPUs and memory in without firmware


AMD64 = Architecture(
    name="amd64", elf_machine=62, qemu="qemu-system-x86_64", qemu_package="qemu-system-x86",
    machine="q35,graphics=off",
    # An emulated CPU runs string instructions byte by byte: without these flags kernel and C library copy
    # and clear in other ways (clearcpuid hides the flag from the kernel, whose own rep_good isn't one of the
    # CPU's). AVX is emulated in software, SSE2 isn't. The kernel sees threads on Intel's CPUs only.
    cpu="max,vendor=GenuineIntel,-erms,-fsrm,-la57,-avx,-avx2",
    kernel_arguments=(
        "console=ttyS0", "random.trust_cpu=on", "clearcpuid=erms,rep_good,fsrm",
        # Else the kernel counts ticks for some milliseconds at its start, in which a busy host may give
        # it none, and panics ("IO-APIC + timer doesn't work").
        "no_timer_check"),
    hotplug=True)
ARM64 = Architecture(
    name="arm64", elf_machine=183, qemu="qemu-system-aarch64", qemu_package="qemu-system-arm",
    machine="virt,gic-version=3",
    # A server's. "max" adds signed pointers, memory tags and vectors, which are computed in software.
    cpu="neoverse-n1",
    # QEMU's device tree brings a seed.
    kernel_arguments=("console=ttyAMA0", "random.trust_bootloader=on"),
    hotplug=False)
ALL = (AMD64, ARM64)


def named(name):
    """The architecture with Debian's name `name`."""
    for architecture in ALL:
        if architecture.name == name:
            return architecture
    raise SystemExit(f"no architecture {name}; there are {', '.join(each.name for each in ALL)}")


def of_program(path):
    """The architecture of a program of ours."""
    with open(path, "rb") as file:
        header = file.read(20)
    machine = int.from_bytes(header[18:20], "little") if header[:4] == b"\x7fELF" else None
    for architecture in ALL:
        if architecture.elf_machine == machine:
            return architecture
    raise SystemExit(f"{path} is no program for {' or '.join(each.name for each in ALL)}")


def of_kernel(directory):
    """The architecture of a kernel as tests/vm/kernel.sh leaves it."""
    # Documentation/arm64/booting.rst, "magic number"; Documentation/x86/boot.rst, "header".
    with open(pathlib.Path(directory) / "vmlinuz", "rb") as file:
        header = file.read(0x206)
    for architecture, offset, magic in ((ARM64, 56, b"ARM\x64"), (AMD64, 0x202, b"HdrS")):
        if header[offset:offset + 4] == magic:
            return architecture
    raise SystemExit(f"{directory}/vmlinuz is no kernel for {' or '.join(each.name for each in ALL)}")


def of_this_machine():
    """Debian's name of this machine's architecture, whatever that is."""
    return subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True,
                          check=True).stdout.strip()
