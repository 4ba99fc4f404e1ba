#!/usr/bin/env python3
"""Boots the virtual machine three times on one disk: a power cut between the first and the second,
an orderly end between the second and the third.

    tests/vm/reboot.py --build build/dev

reboot_test.cc says what has to be there after each. What each boot has written appears here; what it
left is in BUILD/vm/reboot/<boot>.
"""

import argparse
import pathlib
import sys

import job
import vm

BUSY = "the node is busy\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--timeout", type=float, default=200, help="of each boot, in seconds")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    directory = build / "vm/reboot"
    program = job.program(build, "reboot")
    kernel = job.make_disk(build, directory, [program], ["mke2fs"], ["/etc/mke2fs.conf"])
    disk = directory / "disk.img"
    disk.unlink(missing_ok=True)

    for boot in ("First", "AfterAPowerCut", "AfterAnOrderlyReboot"):
        options = vm.Options(kernel=kernel, images=directory, results=directory / boot,
                             job=job.HERE / "reboot_job", arguments=[program, boot],
                             disk_file=disk, timeout=arguments.timeout)
        if boot == "First":
            status = vm.run(options, until=BUSY)
        else:
            status = vm.run(options)
        if status != 0:
            print(f"reboot.py: {boot} ended with status {status}", file=sys.stderr)
            return 1
    disk.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
