#!/usr/bin/env python3
"""Kills the daemon and monitors at random instants of a busy node, on cgroup v2.

    tests/vm/kills.py --build build/dev [--kills 50] [--monitors 12] [--seed N]

tests/kill in the virtual machine. Its daemons live longer than on the host, because everything takes
longer there. The seed is printed; what the machine left is in BUILD/vm/kill/results.
"""

import argparse
import pathlib
import sys

import job
import vm


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--kills", default="50")
    parser.add_argument("--monitors", default="12")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--max-delay", default="5000", help="longest life of a daemon in ms")
    parser.add_argument("--timeout", type=float, default=3600)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    directory = build / "vm/kill"
    program = job.program(build, "kill")
    kernel = job.make_disk(build, directory, [program])
    flags = ["--verbose"]
    for name in ("kills", "monitors", "seed", "max_delay"):
        flags += ["--" + name.replace("_", "-"), getattr(arguments, name)]
    return vm.run(vm.Options(kernel=kernel, images=directory, results=directory / "results",
                             job=job.HERE / "kill_job", arguments=[program, *flags],
                             timeout=arguments.timeout))


if __name__ == "__main__":
    sys.exit(main())
