#!/usr/bin/env python3
"""Boots the virtual machine once, runs a job in it and brings back its results.

    tests/vm/vm.py --kernel DIR --images DIR --results DIR --job FILE [option]... [-- argument]...

The job is a program or script; it runs as root in /job, beside the files given with --add, with the
arguments after `--`. Its standard output appears here as it comes; its files in /results end up in
the directory of --results. The exit status is the job's, or 125 if the machine didn't run it to its
end: then the kernel's console is shown.

Emulated without KVM, without a network. cgroup v2 only; 2 NUMA nodes of 1 socket, 2 cores, 2 threads
(8 CPUs); disk /dev/vda is the root, a snapshot that is discarded, /dev/vdb an empty disk for tests.

As a module: `with Vm(options) as vm: vm.wait_for("ready"); vm.qmp("device_add", ...)`.
"""

import argparse
import dataclasses
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time

import architectures

EXIT_BROKEN = 125
END = re.compile(rb"plimsoll-vm: job ended with status (\d+)\n$")
# Arguments of every architecture; each has further ones.
KERNEL_ARGUMENTS = [
    "quiet", "loglevel=5", "panic=-1", "mitigations=off", "cgroup_no_v1=all", "psi=1",
    "memhp_default_state=online_movable",
    # QEMU 7.2 caches translated code by virtual address: if each process has its libraries elsewhere,
    # each translates them again, which is most of a short program's time.
    "nokaslr", "norandmaps"]


class VmError(Exception):
    """The machine did not do what was asked; the message names it and where to look."""


class VmEnded(VmError):
    """QEMU is gone before its job was done."""


@dataclasses.dataclass
class Options:
    """The parameters of a boot. Sizes are QEMU's, e.g. "2G"; times are seconds."""
    kernel: pathlib.Path             # as tests/vm/kernel.sh prints it
    images: pathlib.Path             # made by image.py
    results: pathlib.Path            # emptied first
    job: pathlib.Path
    arguments: list = dataclasses.field(default_factory=list)
    add: list = dataclasses.field(default_factory=list)      # further files for /job
    environment: dict = dataclasses.field(default_factory=dict)  # of the job
    timeout: float = 600
    memory_mib: int = 2048           # half of it on each node
    disk: str = "1G"                 # of /dev/vdb
    disk_file: pathlib.Path = None   # keeps /dev/vdb from boot to boot; None: discarded
    hotplug: bool = False            # room for 8 more CPUs and 4 memory devices
    cgroup_v1: bool = False          # controllers may be mounted as cgroup v1
    append: list = dataclasses.field(default_factory=list)   # kernel arguments
    qemu: list = dataclasses.field(default_factory=list)     # arguments of QEMU

    @property
    def architecture(self):
        return architectures.of_kernel(self.kernel)

    def command(self, work):
        """QEMU's command line; files of this boot are in `work`."""
        architecture = self.architecture
        if self.hotplug and not architecture.hotplug:
            raise VmError(f"QEMU's machine {architecture.machine} plugs in neither CPUs nor memory")
        half = self.memory_mib // 2
        if self.hotplug:
            # Sockets 2 and 3 are empty; one on each node.
            smp = "cpus=8,maxcpus=16,sockets=4,cores=2,threads=2"
            memory = f"{self.memory_mib}M,slots=4,maxmem={self.memory_mib + 4096}M"
        else:
            smp, memory = "cpus=8,sockets=2,cores=2,threads=2", f"{self.memory_mib}M"
        command = [
            # One thread for all CPUs: with a thread each they spin for locks whose holder the host
            # isn't running, which doubled the time on a busy machine.
            architecture.qemu, "-machine", architecture.machine,
            "-accel", "tcg,thread=single,tb-size=512", "-cpu", architecture.cpu,
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-smp", smp, "-m", memory,
            "-object", f"memory-backend-ram,id=ram0,size={half}M",
            "-object", f"memory-backend-ram,id=ram1,size={half}M",
            "-numa", "node,nodeid=0,memdev=ram0", "-numa", "node,nodeid=1,memdev=ram1",
            "-numa", "dist,src=0,dst=1,val=20"]
        for socket_id in range(4 if self.hotplug else 2):
            command += ["-numa", f"cpu,node-id={socket_id % 2},socket-id={socket_id}"]
        arguments = [each for each in [*architecture.kernel_arguments, *KERNEL_ARGUMENTS]
                     if not (self.cgroup_v1 and each == "cgroup_no_v1=all")]
        disks = [(self.images / "root.img", "snapshot=on"),
                 (self.disk_file or work / "disk.img", "snapshot=off"),
                 (work / "job.tar", "readonly=on")]
        for number, (path, option) in enumerate(disks):
            command += ["-drive", f"file={path},format=raw,if=none,id=disk{number},cache=unsafe,"
                                  f"{option}",
                        "-device", f"virtio-blk-pci,drive=disk{number},num-queues=2"]
        command += ["-device", "virtio-serial-pci"]
        for name in ("log", "results"):
            command += ["-chardev", f"file,id={name},path={work / name}",
                        "-device", f"virtserialport,chardev={name},name={name}"]
        command += [
            "-serial", f"file:{work / 'console'}",
            "-qmp", f"unix:{work / 'qmp'},server=on,wait=off",
            "-kernel", str(self.kernel / "vmlinuz"),
            "-initrd", str(self.images / "initramfs.cpio"),
            "-append", " ".join(arguments + self.append)]
        return command + self.qemu


class Vm:
    """A booted machine, for as long as the `with` block lasts. Not for several threads."""

    def __init__(self, options, show=None):
        self.options = options
        self.show = show             # a binary stream that the job's output is copied to
        self.deadline = time.monotonic() + options.timeout
        self._process = None
        self._qmp = None
        self._log = b""
        self._shown = 0
        self._waited_to = 0

    def __enter__(self):
        self._work = pathlib.Path(tempfile.mkdtemp(prefix="plimsoll-test-vm-"))
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        options = self.options
        shutil.rmtree(options.results, ignore_errors=True)
        options.results.mkdir(parents=True)
        run = "#!/bin/sh\n"
        for name, value in options.environment.items():
            run += f"export {name}={shlex.quote(value)}\n"
        run += "exec ./" + shlex.join([options.job.name, *options.arguments]) + "\n"
        with tarfile.open(self._work / "job.tar", "w") as archive:
            for path in [options.job, *options.add]:
                archive.add(path, path.name)
            entry = tarfile.TarInfo("run")
            entry.mode, entry.size = 0o755, len(run)
            archive.addfile(entry, io.BytesIO(run.encode()))
        disk = options.disk_file or self._work / "disk.img"
        subprocess.run(["truncate", "-s", options.disk, str(disk)], check=True)
        # The guest's kernel gives a plugged-in CPU ten seconds to answer, and refuses it for good after them:
        # QEMU goes before the tests beside it. It must not outlive this process.
        command = ["setpriv", "--pdeathsig", "KILL", "nice", "-n", "-5",
                   *options.command(self._work)]
        with open(self._work / "qemu", "wb") as messages:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=messages,
                                             stderr=messages)

    def __exit__(self, *_):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._unpack_results()
            for name in ("console", "log"):
                if (self._work / name).exists():
                    shutil.copy2(self._work / name, self.options.results / f"vm.{name}")
        if self._qmp is not None:
            self._qmp.close()
        shutil.rmtree(self._work, ignore_errors=True)

    def _unpack_results(self):
        data = END.sub(b"", self._read("results"))
        # Archives end in empty blocks, and the last one may have been cut short.
        try:
            with tarfile.open(fileobj=io.BytesIO(data), ignore_zeros=True) as archive:
                for entry in archive:
                    archive.extract(entry, self.options.results)
        except tarfile.ReadError:
            pass

    def _read(self, name):
        try:
            return (self._work / name).read_bytes()
        except FileNotFoundError:
            return b""

    def console(self):
        """The output of kernel and QEMU."""
        return (self._read("qemu") + self._read("console")).decode(errors="replace")

    def poll(self):
        """Shows the job's new output; returns its exit status once it has ended."""
        alive = self._process.poll() is None
        self._log = self._read("log")
        if self.show is not None and len(self._log) > self._shown:
            self.show.write(self._log[self._shown:])
            self.show.flush()
        self._shown = len(self._log)
        results = self._work / "results"
        if results.exists() and results.stat().st_size > 0:
            with open(results, "rb") as file:
                file.seek(max(0, results.stat().st_size - 100))
                end = END.search(file.read())
            if end:
                return int(end.group(1))
        if not alive:
            raise VmEnded("the virtual machine ended before its job")
        if time.monotonic() > self.deadline:
            raise VmError(f"the job was not done within {self.options.timeout:g} s")
        return None

    def wait(self):
        """Waits for the job's end; returns its exit status."""
        while True:
            status = self.poll()
            if status is not None:
                return status
            time.sleep(0.1)

    def wait_for(self, text):
        """Waits until the job writes `text`, after the text of an earlier call."""
        while True:
            status = self.poll()
            found = self._log.find(text.encode(), self._waited_to)
            if found >= 0:
                self._waited_to = found + len(text.encode())
                return
            if status is not None:
                raise VmError(f"the job ended without saying {text!r}")
            time.sleep(0.1)

    def qmp(self, command, **arguments):
        """Runs a command of QEMU's machine protocol; returns its answer."""
        if self._qmp is None:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(60)
            connection.connect(str(self._work / "qmp"))
            self._qmp = connection.makefile("rw")
            connection.close()       # the file keeps it open
            self._qmp.readline()     # the greeting
            self.qmp("qmp_capabilities")
        self._qmp.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._qmp.flush()
        while True:
            line = self._qmp.readline()
            if not line:
                raise VmEnded(f"{command}: QEMU ended")
            answer = json.loads(line)
            if "error" in answer:
                raise VmError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", type=pathlib.Path, required=True)
    parser.add_argument("--images", type=pathlib.Path, required=True)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--job", type=pathlib.Path, required=True)
    parser.add_argument("--add", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--memory-mib", type=int, default=2048)
    parser.add_argument("--disk", default="1G")
    parser.add_argument("--disk-file", type=pathlib.Path)
    parser.add_argument("--hotplug", action="store_true")
    parser.add_argument("--append", action="append", default=[])
    parser.add_argument("--qemu", action="append", default=[])
    parser.add_argument("arguments", nargs="*")
    return Options(**vars(parser.parse_args(arguments)))


def run(options, until=None):
    """Boots, copies the job's output to stdout; returns the job's exit status or EXIT_BROKEN.

    `until`: cuts the machine's power once the job has written this, and returns 0."""
    # A test driver that gives up sends SIGTERM: the machine must end with this process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_BROKEN))
    architecture = options.architecture
    if shutil.which(architecture.qemu) is None:
        print(f"vm.py: no {architecture.qemu} here: apt-get install {architecture.qemu_package}",
              file=sys.stderr)
        return EXIT_BROKEN
    with Vm(options, show=sys.stdout.buffer) as vm:
        try:
            if until is not None:
                vm.wait_for(until)
                return 0
            return vm.wait()
        except VmError as error:
            console = "\n".join(vm.console().splitlines()[-60:])
            print(f"{console}\nvm.py: {error}", file=sys.stderr)
            return EXIT_BROKEN


if __name__ == "__main__":
    sys.exit(run(parse(sys.argv[1:])))
