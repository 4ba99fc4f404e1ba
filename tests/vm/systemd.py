#!/usr/bin/env python3
"""Boots the virtual machine with systemd as process 1 and runs plimsolld as packaging/ has it; then
once more, to power it off with pods that ignore SIGTERM, and twice on one disk, with the plug pulled
between the boots.

    tests/vm/systemd.py --build build/dev [--filter PATTERN]

systemd_test.cc and systemd_ends_test.cc say what has to hold. What the boots left is in
BUILD/vm/systemd/results, poweroff, Before and After.
"""

import argparse
import pathlib
import sys
import time

import job
import vm

POWER_OFF = "PowerOffTest.*"
PULLED_PLUG = "PulledPlugTest."
# Pods' 30 s, and the emulated machine's own time.
POWER_OFF_LIMIT = 75


def power_off(options):
    """Whether the machine is off in time, with everything unmounted."""
    with vm.Vm(options, show=sys.stdout.buffer) as machine:
        machine.wait_for("powering off\n")
        begin = time.monotonic()
        booted = len(machine.console())  # units of this machine's packages fail there
        try:
            machine.wait()
            print("systemd.py: the job ended before its machine", file=sys.stderr)
            return False
        except vm.VmEnded:
            took = time.monotonic() - begin
        except vm.VmError as error:
            print(f"{machine.console()}\nsystemd.py: {error}", file=sys.stderr)
            return False
        console = machine.console()[booted:]
        print(f"systemd.py: powered off in {took:.0f} s")
        if took <= POWER_OFF_LIMIT and "FAILED" not in console:
            return True
        print(f"{console}\nsystemd.py: no orderly end within {POWER_OFF_LIMIT} s", file=sys.stderr)
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--filter", default="*", help="which tests (GoogleTest's)")
    parser.add_argument("--timeout", type=float, default=1200)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    directory = build / "vm/systemd"
    program = job.program(build, "systemd")
    kernel = job.make_disk(build, directory, [program], [*job.SYSTEMD_TOOLS, "mke2fs"],
                           ["/etc/mke2fs.conf"], systemd=True)
    unit = job.HERE.parents[1] / "packaging/plimsolld.service.in"
    disk = directory / "disk.img"
    disk.unlink(missing_ok=True)

    def options(results, tests, disk_file=None):
        state = [] if disk_file is None else ["/dev/vdb"]
        return vm.Options(
            kernel=kernel, images=directory, results=directory / results,
            job=job.HERE / "systemd_job", add=[unit], disk_file=disk_file,
            arguments=[str(build / "bin"), program, tests, *state],
            append=[*job.SYSTEMD_ARGUMENTS, "systemd.show_status=1"], timeout=arguments.timeout)

    status = vm.run(options("results", f"{arguments.filter}-{POWER_OFF}:{PULLED_PLUG}*"))
    if not power_off(options("poweroff", POWER_OFF)):
        status = max(status, 1)
    status = max(status, vm.run(options("Before", PULLED_PLUG + "Before", disk),
                                until="pull the plug\n"))
    status = max(status, vm.run(options("After", PULLED_PLUG + "After", disk)))
    disk.unlink()
    return status


if __name__ == "__main__":
    sys.exit(main())
