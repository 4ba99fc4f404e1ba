#!/usr/bin/env python3
"""Boots the virtual machine with systemd as process 1 and Plimsoll as `make install` lays it down.

    tests/vm/installed.py --build build/dev [--filter PATTERN]

installed_test.cc says what has to hold. What the machine left is in BUILD/vm/installed/results.
"""

import argparse
import pathlib
import sys

import job
import vm


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--filter", default="*", help="which tests (GoogleTest's)")
    parser.add_argument("--timeout", type=float, default=500)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    directory = build / "vm/installed"
    program = job.program(build, "installed")
    kernel = job.make_disk(build, directory, [program], job.SYSTEMD_TOOLS, systemd=True,
                           tree=job.install(build, directory / "tree"))
    return vm.run(vm.Options(
        kernel=kernel, images=directory, results=directory / "results",
        job=job.HERE / "installed_job", arguments=[program, arguments.filter],
        append=job.SYSTEMD_ARGUMENTS, timeout=arguments.timeout))


if __name__ == "__main__":
    sys.exit(main())
