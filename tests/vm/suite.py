#!/usr/bin/env python3
"""Runs test programs in the virtual machine: one boot, results in BUILD/vm/results.

    tests/vm/suite.py --build build/dev [--only NAME]... [--filter GTEST_FILTER] [--show]

Makes the disk anew, boots, runs the programs that CMake wrote into BUILD/vm/programs. Exits with 0
when the machine ran them, whatever came out: each test's result is CTest's to tell (result.sh), or
--show's.
"""

import argparse
import os
import pathlib
import subprocess
import sys

import vm

HERE = pathlib.Path(__file__).resolve().parent
# busybox stands for the rest; its shell would run its own commands rather than these.
TOOLS = ["sh", "crun", "skopeo", "docker-registry", "flock", "setsid"]
# So many programs at once: while one waits another computes.
LANES = 2


def read_programs(path):
    """[(kind, name, path)]: kind is `test` or `program`, what a test runs."""
    return [tuple(line.split()) for line in path.read_text().splitlines() if line]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--filter")
    parser.add_argument("--show", action="store_true", help="print what the programs wrote")
    parser.add_argument("--timeout", type=float, default=1140)
    arguments = parser.parse_args()

    directory = arguments.build.resolve() / "vm"
    programs = read_programs(directory / "programs")
    tests = [(name, path) for kind, name, path in programs
             if kind == "test" and (not arguments.only or name in arguments.only)]
    unknown = set(arguments.only) - {name for name, _ in tests}
    if unknown:
        parser.error(f"no test program {', '.join(sorted(unknown))} in {directory / 'programs'}")
    kernel = subprocess.run([HERE / "kernel.sh", "--offline"], stdout=subprocess.PIPE, text=True,
                            check=False)
    if kernel.returncode != 0:
        return kernel.returncode
    kernel = pathlib.Path(kernel.stdout.strip())
    subprocess.run(
        [HERE / "image.py", "--kernel", kernel, "--out", directory,
         *(f"--program={path}" for kind, _, path in programs if kind == "program"),
         *(f"--program={path}" for _, path in tests), *(f"--tool={name}" for name in TOOLS)],
        check=True)

    job = [str(LANES), *(f"{name}={path}" for name, path in tests)]
    options = vm.Options(kernel=kernel, images=directory, results=directory / "results",
                         job=HERE / "suite_job", arguments=job, timeout=arguments.timeout)
    if arguments.filter:
        options.environment["GTEST_FILTER"] = arguments.filter
    status = vm.run(options)
    if arguments.show:
        for name, _ in tests:
            log = options.results / f"{name}.log"
            if log.exists():
                sys.stdout.write(log.read_text(errors="replace"))
    return status


if __name__ == "__main__":
    sys.exit(main())
