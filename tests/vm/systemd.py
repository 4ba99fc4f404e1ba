#!/usr/bin/env python3
"""Boots the virtual machine with systemd as process 1 and runs plimsolld as packaging/ has it.

    tests/vm/systemd.py --build build/dev

systemd_test.cc says what has to hold. What the machine left is in BUILD/vm/systemd/results.
"""

import argparse
import pathlib
import sys

import job
import vm

TOOLS = ["systemctl", "systemd-run", "systemd-tmpfiles", "journalctl", "mount", "umount", "kill",
         "true", "dbus-daemon"]
# Units that are useless here and take time.
MASK = ["systemd-logind.service", "getty.target", "systemd-user-sessions.service",
        "systemd-update-utmp.service", "systemd-update-utmp-runlevel.service",
        "tmp.mount", "systemd-binfmt.service", "systemd-pstore.service", "systemd-random-seed.service",
        "systemd-timesyncd.service", "systemd-networkd.service"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--timeout", type=float, default=1200)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    directory = build / "vm/systemd"
    program = job.program(build, "systemd")
    kernel = job.make_disk(build, directory, [program], TOOLS, systemd=True)
    unit = job.HERE.parents[1] / "packaging/plimsolld.service.in"
    return vm.run(vm.Options(
        kernel=kernel, images=directory, results=directory / "results",
        job=job.HERE / "systemd_job", add=[unit], arguments=[str(build / "bin"), program],
        append=["init=/lib/systemd/systemd", *(f"systemd.mask={name}" for name in MASK)],
        timeout=arguments.timeout))


if __name__ == "__main__":
    sys.exit(main())
