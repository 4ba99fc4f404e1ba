#!/usr/bin/env python3
"""Boots the virtual machine with SELinux, a small policy of its own, enforcing.

    tests/vm/selinux.py --build build/dev [--filter PATTERN]

selinux_test.cc says what has to hold. What the machine left is in BUILD/vm/selinux/results.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys

import job
import vm

CATEGORIES = 1024


def compile_policy(directory):
    """The policy in the kernel's binary form."""
    compiler = shutil.which("secilc")
    if compiler is None:
        sys.exit("selinux.py: no secilc here (packaging/debian-packages)")
    names = [f"c{number}" for number in range(CATEGORIES)]
    categories = directory / "categories.cil"
    categories.write_text("".join(f"(category {name})\n" for name in names) +
                          f"(categoryorder ({' '.join(names)}))\n")
    policy = directory / "selinux_policy"
    subprocess.run([compiler, "--policyvers=33", f"--output={policy}", "--filecontext=/dev/null",
                    job.HERE / "selinux.cil", categories], check=True)
    return policy


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--filter", default="*", help="which tests (GoogleTest's)")
    parser.add_argument("--timeout", type=float, default=600)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    directory = build / "vm/selinux"
    program = job.program(build, "selinux")
    kernel = job.make_disk(build, directory, [program])
    return vm.run(vm.Options(
        kernel=kernel, images=directory, results=directory / "results",
        job=job.HERE / "selinux_job", add=[compile_policy(directory)],
        arguments=[program, arguments.filter],
        append=["security=selinux", "selinux=1", "enforcing=0"], timeout=arguments.timeout))


if __name__ == "__main__":
    sys.exit(main())
