#!/usr/bin/env python3
"""Runs test programs in the virtual machine: one boot, results in BUILD/vm/results.

    tests/vm/suite.py --build build/dev [--only NAME]... [--filter GTEST_FILTER] [--show]

Makes a new disk, boots, runs the programs that CMake wrote into BUILD/vm/programs. Exits with 0
when the machine ran them, whatever came out: each test's result is CTest's to tell (test_result.sh), or
--show's.
"""

import argparse
import pathlib
import sys

import job
import vm

# Programs at once: while one waits another computes.
LANES = 2
# Beside those of every job. busybox has the last three too, without the flags that a test uses.
TOOLS = ["docker-registry", "apparmor_parser", "containerd", "containerd-shim-runc-v2", "ctr",
         "runc", "nsenter", "setpriv", "unshare"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--filter", help="of GoogleTest, in the place of what the file `runs` says")
    parser.add_argument("--show", action="store_true", help="print what the programs wrote")
    parser.add_argument("--timeout", type=float, default=3600)
    arguments = parser.parse_args()

    build = arguments.build.resolve()
    directory = build / "vm"
    filters = job.read_filters(build)
    suite = [entry for entry in job.read_programs(build) if entry[0] in job.SUITE]
    unknown = set(arguments.only) - {name for _, name, _ in suite}
    if unknown:
        parser.error(f"no test program {', '.join(sorted(unknown))} in {directory / 'programs'}")
    if arguments.filter:
        filters = {name: arguments.filter for _, name, _ in suite}
    tests = [entry for entry in suite
             if entry[1] in filters and (not arguments.only or entry[1] in arguments.only)]
    if not tests:
        parser.error(f"nothing of {', '.join(arguments.only)} runs there (tests/vm/runs); give --filter")
    kernel = job.make_disk(build, directory, [path for _, _, path in tests], TOOLS)
    options = vm.Options(kernel=kernel, images=directory, results=directory / "results",
                         job=job.HERE / "suite_job", timeout=arguments.timeout,
                         arguments=[str(LANES), *(f"{kind}={name}={path}={filters[name]}"
                                                  for kind, name, path in tests)])
    status = vm.run(options)
    if arguments.show:
        for _, name, _ in tests:
            log = options.results / f"{name}.log"
            if log.exists():
                sys.stdout.write(log.read_text(errors="replace"))
    return status


if __name__ == "__main__":
    sys.exit(main())
