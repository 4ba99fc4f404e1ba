#!/usr/bin/env python3
"""Takes CPUs away and gives them back on a machine with cgroup v1, which forgets them in its groups.

    tests/vm/hybrid.py --build build/dev

Runs those tests of topology_changes_test.cc that are about CPUs. What the boot left is in
BUILD/vm/hybrid/results.
"""

import argparse
import pathlib
import sys

import job
import vm

FILTER = "TopologyChangesTest.ACpu*:TopologyChangesTest.AClient*"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--filter", default=FILTER, help="of GoogleTest")
    parser.add_argument("--timeout", type=float, default=300)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    directory = build / "vm/hybrid"
    program = next(path for _, name, path in job.read_programs(build) if name == "topology_changes")
    kernel = job.make_disk(build, directory, [program])
    options = vm.Options(kernel=kernel, images=directory, results=directory / "results",
                         job=job.HERE / "hybrid_job", arguments=[program, arguments.filter],
                         cgroup_v1=True, timeout=arguments.timeout)
    return vm.run(options)


if __name__ == "__main__":
    sys.exit(main())
