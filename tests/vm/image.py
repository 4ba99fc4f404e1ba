#!/usr/bin/env python3
"""Makes the disk that the virtual machine boots from.

    tests/vm/image.py --kernel DIR --out DIR [--program PATH]... [--tool NAME]... [--file PATH]...
                      [--tree DIR] [--systemd] [--root DIR]

The disk holds this machine's own files, so that nothing needs to be downloaded and the programs run
with the libraries they were linked to: programs (each at the path it has here), tools looked up in
PATH, the libraries of all of them, busybox for everything else, and the kernel's modules. Beside it
an initial ramdisk is made, which mounts it. --systemd: systemd too, for `init=/lib/systemd/systemd`.
--tree: the directory's content, such as what an installation has put below DESTDIR. --root: tools and libraries
come from this directory and not from this machine, for programs of another architecture (tests/vm/root.sh).
`DIR/root.img` is for `vm.py`, which never changes it.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Modules that the initial ramdisk needs to reach the disk; their dependencies are found.
BOOT_MODULES = ["virtio_pci", "virtio_blk"]
# Room for tests beyond the disk's content. The file is sparse.
FREE_MIB = 3072
DIRECTORIES = ["dev", "etc", "job", "mnt", "proc", "results", "root", "run", "sbin", "sys", "tmp",
               "usr/bin", "usr/lib", "usr/lib64", "usr/local/bin", "usr/sbin", "var/lib", "var/log",
               "var/tmp"]
# Debian's merged /usr.
LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/sbin",
         "var/run": "/run", "etc/mtab": "/proc/self/mounts"}
FILES = {"etc/passwd": "root:x:0:0:root:/root:/bin/sh\nmessagebus:x:100:100::/:/bin/false\n"
                       "nobody:x:65534:65534::/:/bin/false\n",
         "etc/group": "root:x:0:\ntty:x:5:\nmessagebus:x:100:\nnogroup:x:65534:\n",
         "etc/hosts": "127.0.0.1 localhost plimsoll-vm\n",
         "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
         "etc/hostname": "plimsoll-vm\n"}
# The job starts after everything else.
SYSTEMD_FILES = {
    # Boot removes nothing below /tmp: the build may be there.
    "etc/tmpfiles.d/tmp.conf": "",
    "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "etc/systemd/system/default.target":
        "[Unit]\nRequires=multi-user.target\nAfter=multi-user.target\nWants=guest-job.service\n",
    "etc/systemd/system/guest-job.service":
        "[Unit]\nAfter=multi-user.target\n[Service]\nExecStart=/usr/sbin/guest_job\n"
        "Environment=HOME=/root TMPDIR=/tmp PLIMSOLL_VM=1\n"}
# A tool's own files. Of the bus only systemd's policy: others name users that don't exist here.
TOOL_FILES = {"skopeo": ["/etc/containers"],
              "apparmor_parser": ["/etc/apparmor", "/usr/share/apparmor-features"],
              "dbus-daemon": ["/usr/share/dbus-1/system.conf",
                              "/usr/share/dbus-1/system.d/org.freedesktop.systemd1.conf",
                              "/usr/share/dbus-1/system-services/org.freedesktop.systemd1.service"]}


def libraries(program, root):
    """Absolute paths of the libraries that the dynamic linker loads for it; none if it is static."""
    if root is not None:
        return libraries_below(root, program)
    run = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return []
    missing = re.findall(r"(\S+) => not found", run.stdout)
    if missing:
        raise SystemExit(f"image.py: {program} needs {', '.join(missing)}, which is not here")
    return re.findall(r"(/\S+) \(0x", run.stdout)


def libraries_below(root, program):
    """The same for a program of another architecture, with the libraries below `root`: ldd would run it."""
    directories = [root / "lib", *root.glob("lib/*-linux-gnu"), *root.glob("usr/lib/*-linux-gnu"),
                   *root.glob("usr/lib/*-linux-gnu/systemd")]
    found, wanted = {}, [program]
    while wanted:
        headers = subprocess.run(["readelf", "-W", "--program-headers", "--dynamic", str(wanted.pop())],
                                 capture_output=True, text=True, check=False,
                                 env={**os.environ, "LC_ALL": "C"}).stdout
        names = re.findall(r"\(NEEDED\).*\[(.*)\]", headers)
        names += [os.path.basename(name) for name in re.findall(r"interpreter: (\S+)\]", headers)]
        for name in names:
            if name in found:
                continue
            found[name] = next((each / name for each in directories if (each / name).exists()), None)
            if found[name] is None:
                raise SystemExit(f"image.py: {program} needs {name}, which is not below {root}")
            wanted.append(found[name])
    return [f"/{path.relative_to(root)}" for path in found.values()]


class Tree:
    """The directory in which the root file system is assembled."""

    def __init__(self, path, root=None):
        self.path = path
        self.root = root             # of tools and libraries; None: this machine's

    def from_root(self, path):
        """Copies a tool or library to the same place."""
        self.place(path, self.root / path.lstrip("/") if self.root is not None else path)

    def place(self, path, source=None):
        """Copies a file or directory of this machine to the same place; links become files."""
        source = source or path
        # With the merged /usr a library has two names; /lib here is a link to /usr/lib.
        target = self.path / str(path).lstrip("/")
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        if pathlib.Path(source).is_dir():
            shutil.copytree(source, target)
            return
        # A hard link if the file system allows it: programs are large and soon replaced.
        try:
            os.link(os.path.realpath(source), target)
        except OSError:
            shutil.copy2(source, target)

    def place_program(self, program):
        self.place(program)
        self.place_libraries(program)

    def place_tool(self, name):
        path = find_tool(name, self.root)
        self.from_root(path)
        self.place_libraries(self.root / path.lstrip("/") if self.root is not None else path)
        for other in TOOL_FILES.get(name, []):
            self.from_root(other)

    def place_libraries(self, program):
        for library in libraries(program, self.root):
            self.from_root(library)

    def place_tree(self, tree):
        """Copies a directory's content over the root, with the libraries of its programs."""
        shutil.copytree(tree, self.path, symlinks=True, dirs_exist_ok=True)
        self.place_libraries_of(tree)

    def place_libraries_of(self, directory):
        for program in directory.rglob("*"):
            if program.is_file() and os.access(program, os.X_OK):
                self.place_libraries(program)


TOOL_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def find_tool(name, root=None):
    """A program's absolute path, on this machine or below `root`."""
    if root is not None:
        path = ":".join(f"{root}{directory}" for directory in TOOL_PATH.split(":"))
        found = shutil.which(name, path=path)
        found = found and found.removeprefix(str(root))
    else:
        found = shutil.which(name)
    if found is None:
        where = "here" if root is None else f"below {root}"
        raise SystemExit(f"image.py: no program {name} {where} (packaging/debian-packages)")
    return found


def place_systemd(tree):
    """Installs the root's systemd, which need not run here, with the job as a service."""
    root = tree.root or pathlib.Path("/")
    # An unpacked root has a /lib that is no link to /usr/lib.
    systemd = next((root / each / "systemd" for each in ("usr/lib", "lib") if
                    (root / each / "systemd/systemd").exists()), None)
    if systemd is None:
        raise SystemExit(f"image.py: no systemd in {root} (packaging/debian-packages)")
    for source, target in [(systemd, "usr/lib/systemd"), (root / "usr/lib/tmpfiles.d", "usr/lib/tmpfiles.d"),
                           (root / "etc/systemd", "etc/systemd")]:
        shutil.copytree(source, tree.path / target, symlinks=True, dirs_exist_ok=True)
    tree.place_libraries_of(systemd)
    for name, text in SYSTEMD_FILES.items():
        (tree.path / name).parent.mkdir(parents=True, exist_ok=True)
        (tree.path / name).write_text(text)


def guest_busybox(arguments):
    path = find_tool("busybox", arguments.root)
    return arguments.root / path.lstrip("/") if arguments.root is not None else path


def make_root(tree, arguments):
    for directory in DIRECTORIES:
        if directory not in LINKS:
            (tree.path / directory).mkdir(parents=True, exist_ok=True)
    for name, target in LINKS.items():
        (tree.path / name).parent.mkdir(parents=True, exist_ok=True)
        (tree.path / name).symlink_to(target)
    for name, text in FILES.items():
        (tree.path / name).write_text(text)
    (tree.path / "tmp").chmod(0o1777)

    for program in arguments.program:
        tree.place_program(os.path.abspath(program))
    for name in arguments.tool:
        tree.place_tool(name)
    for path in arguments.file:
        tree.place(os.path.abspath(path))

    busybox = guest_busybox(arguments)
    shutil.copy2(busybox, tree.path / "usr/bin/busybox")
    # This machine's own, which can run here, has the same ones.
    applets = subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True).stdout
    for applet in applets.split():
        link = tree.path / "usr/bin" / applet
        if not link.exists():
            link.symlink_to("busybox")
    # The kernel itself runs this program, by this name.
    (tree.path / "usr/sbin/modprobe").symlink_to("../bin/busybox")
    for source, name in [("guest_init", "usr/sbin/init"), ("guest_job", "usr/sbin/guest_job")]:
        shutil.copy2(HERE / source, tree.path / name)
        (tree.path / name).chmod(0o755)
    if arguments.systemd:
        place_systemd(tree)
    if arguments.tree is not None:
        tree.place_tree(arguments.tree)
    shutil.copytree(arguments.kernel / "modules", tree.path / "usr/lib/modules",
                    copy_function=os.link)


def boot_modules(kernel):
    """Files below the kernel's directory of modules, in an order that loads."""
    release = (kernel / "release").read_text().strip()
    base = kernel / "modules" / release
    needs = {}
    for line in (base / "modules.dep").read_text().splitlines():
        name, _, needed = line.partition(":")
        needs[name] = needed.split()
    by_name = {pathlib.Path(name).name.split(".")[0]: name for name in needs}
    order = []

    def add(name):
        for needed in needs[name]:
            add(needed)
        if name not in order:
            order.append(name)

    for module in BOOT_MODULES:
        add(by_name[module])
    return [base / name for name in order]


def make_initramfs(work, arguments):
    (work / "bin").mkdir(parents=True)
    (work / "modules").mkdir()
    shutil.copy2(guest_busybox(arguments), work / "bin/busybox")
    shutil.copy2(HERE / "initramfs_init", work / "init")
    (work / "init").chmod(0o755)
    modules = boot_modules(arguments.kernel)
    for module in modules:
        shutil.copy2(module, work / "modules")
    (work / "modules/order").write_text("".join(f"{module.name}\n" for module in modules))
    names = "\n".join(str(path.relative_to(work)) for path in sorted(work.rglob("*"))) + "\n"
    with open(arguments.out / "initramfs.cpio", "wb") as archive:
        subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], cwd=work, input=names.encode(),
                       stdout=archive, stderr=subprocess.DEVNULL, check=True)


def make_disk(tree, image):
    used = int(subprocess.run(["du", "-sm", str(tree.path)], capture_output=True, text=True,
                              check=True).stdout.split()[0])
    image.unlink(missing_ok=True)
    # No journal: the disk is thrown away after each boot.
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-E", "root_owner=0:0",
                    "-d", str(tree.path), str(image), f"{used + used // 10 + FREE_MIB}M"],
                   check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("--tool", action="append", default=[])
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--tree", type=pathlib.Path)
    parser.add_argument("--systemd", action="store_true")
    parser.add_argument("--root", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.kernel = arguments.kernel.resolve()
    if arguments.root is not None:
        arguments.root = arguments.root.resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.out = arguments.out.resolve()

    work = arguments.out / "work"
    shutil.rmtree(work, ignore_errors=True)
    (work / "root").mkdir(parents=True)
    tree = Tree(work / "root", arguments.root)
    make_root(tree, arguments)
    make_initramfs(work / "initramfs", arguments)
    make_disk(tree, arguments.out / "root.img")
    shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
