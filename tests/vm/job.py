"""The common part of the virtual machine's jobs: finds the kernel, makes the disk."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Kinds of programs that the suite runs.
SUITE = ("test", "alone")
# busybox provides the rest; its shell would prefer its own commands to these.
TOOLS = ["sh", "crun", "skopeo", "flock", "setsid"]


def read_programs(build):
    """[(kind, name, path)] as CMake wrote it: `program`, one of Plimsoll's; `test`, a program of the
    suite; `alone`, one that changes the machine under the others; `job`, a program of a job of its
    own."""
    return [line[:3] for line in _lines(build)]


def read_filters(build):
    """{name: GoogleTest filter} of the suite's programs with tests that run there."""
    return {line[1]: line[3] for line in _lines(build) if line[0] in SUITE and line[3] != "-"}


def _lines(build):
    text = (pathlib.Path(build) / "vm/programs").read_text()
    return [tuple(line.split()) for line in text.splitlines() if line]


def find_kernel():
    run = subprocess.run([HERE / "kernel.sh", "--offline"], stdout=subprocess.PIPE, text=True,
                         check=False)
    if run.returncode != 0:
        sys.exit(run.returncode)
    return pathlib.Path(run.stdout.strip())


def make_disk(build, directory, programs, tools=(), files=(), systemd=False):
    """Makes `directory`/root.img with Plimsoll's programs and `programs` (paths); returns
    the kernel. `systemd`: systemd can be process 1."""
    kernel = find_kernel()
    paths = [path for kind, _, path in read_programs(build) if kind == "program"]
    subprocess.run([HERE / "image.py", "--kernel", kernel, "--out", directory,
                    *(f"--program={path}" for path in [*paths, *programs]),
                    *(f"--tool={name}" for name in [*TOOLS, *tools]),
                    *(f"--file={path}" for path in files),
                    *(["--systemd"] if systemd else [])], check=True)
    return kernel


def program(build, name):
    """The path of a job's program."""
    for kind, other, path in read_programs(build):
        if kind == "job" and other == name:
            return path
    sys.exit(f"no program {name} in {build}/vm/programs")
