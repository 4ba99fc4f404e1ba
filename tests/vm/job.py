"""The common part of the virtual machine's jobs: finds the kernel, makes the disk.

The machine's architecture is that of the build's programs."""

import os
import pathlib
import shutil
import subprocess
import sys

import architectures

HERE = pathlib.Path(__file__).resolve().parent
# Kinds of programs that the suite runs.
SUITE = ("test", "alone")
# busybox provides the rest; its shell would prefer its own commands to these.
TOOLS = ["sh", "crun", "skopeo", "flock", "setsid"]
# Where systemd is process 1.
SYSTEMD_TOOLS = ["systemctl", "systemd-run", "systemd-tmpfiles", "systemd-sysusers",
                 "systemd-socket-activate", "journalctl", "mount", "umount", "kill", "true",
                 "dbus-daemon"]
# Units that are useless there and take time.
_MASK = ["systemd-logind.service", "getty.target", "systemd-user-sessions.service",
         "systemd-update-utmp.service", "systemd-update-utmp-runlevel.service", "tmp.mount",
         "systemd-binfmt.service", "systemd-pstore.service", "systemd-random-seed.service",
         "systemd-timesyncd.service", "systemd-networkd.service"]
SYSTEMD_ARGUMENTS = ["init=/lib/systemd/systemd", *(f"systemd.mask={name}" for name in _MASK)]


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


def find_kernel(arch=None):
    """The kernel of Debian's architecture `arch`, by default this machine's."""
    return _provided("kernel.sh", arch or architectures.of_this_machine())


def _provided(script, arch):
    run = subprocess.run([HERE / script, "--offline", arch], stdout=subprocess.PIPE, text=True,
                         check=False)
    if run.returncode != 0:
        sys.exit(run.returncode)
    return pathlib.Path(run.stdout.strip())


def install(build, directory):
    """Installs the build below `directory` as `make install` does, without debugging information;
    returns `directory`."""
    shutil.rmtree(directory, ignore_errors=True)
    subprocess.run(["cmake", "--install", build, "--prefix", "/usr/local", "--strip"],
                   env={**os.environ, "DESTDIR": str(directory)}, stdout=subprocess.DEVNULL,
                   check=True)
    return directory


def paths_of_programs(build):
    """Plimsoll's own programs."""
    return [path for kind, _, path in read_programs(build) if kind == "program"]


def make_disk(build, directory, programs, tools=(), files=(), systemd=False, tree=None):
    """Makes `directory`/root.img with Plimsoll's programs and `programs` (paths); returns
    the kernel. `systemd`: systemd can be process 1. `tree`: an installation, in place of the
    build's programs."""
    arch = architectures.of_program([*programs, *paths_of_programs(build)][0]).name
    root = None if arch == architectures.of_this_machine() else _provided("root.sh", arch)
    kernel = find_kernel(arch)
    paths = paths_of_programs(build) if tree is None else []
    subprocess.run([HERE / "image.py", "--kernel", kernel, "--out", directory,
                    *(f"--program={path}" for path in [*paths, *programs]),
                    *(f"--tool={name}" for name in [*TOOLS, *tools]),
                    *(f"--file={path}" for path in files),
                    *([f"--tree={tree}"] if tree is not None else []),
                    *([f"--root={root}"] if root is not None else []),
                    *(["--systemd"] if systemd else [])], check=True)
    return kernel


def program(build, name):
    """The path of a job's program."""
    for kind, other, path in read_programs(build):
        if kind == "job" and other == name:
            return path
    sys.exit(f"no program {name} in {build}/vm/programs")
