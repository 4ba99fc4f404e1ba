#!/usr/bin/env python3
"""Boots a bare Debian with systemd and an apt repository of two versions of the packages.

    tests/vm/packages.py --build build/check [--dist bookworm] [--packages DIR]

packages_job says what has to hold: installation, upgrade, refused downgrade, removal, refused purge and purge,
all with running pods. Both versions package the same build, or are the packages of --packages, as tools/packages.sh
leaves them. What the machine left is in BUILD/vm/packages/results.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

import image
import job
import vm

SOURCE = job.HERE.parent.parent
BUILD_VERSION = "0.0.1"
# Packages of the system, before any package of ours; the last three for the job.
SYSTEM = ["systemd-sysv", "dbus", "kmod", "busybox-static", "procps", "iproute2"]
# Packages that users have because apt recommends them.
PACKAGES = ["plimsoll", "plimsoll-agent", "plimsoll-kube", "plimsoll-cni-default",
            "plimsoll-examples"]
MASK = ["apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer",
        "fstrim.timer", "serial-getty@ttyS0.service"]


def run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, **options)


def build_package(tree, package):
    run("dpkg-deb", "-Znone", "--root-owner-group", "--build", tree, package,
        stdout=subprocess.DEVNULL)


def make_packages(arguments, directory, dist_arch):
    """Packages in two versions, the older first: {version: directory}."""
    old = directory / "old" / dist_arch / "result"
    new = directory / "new" / dist_arch / "result"
    if arguments.packages is None:
        run(SOURCE / "tools/packages.sh", arguments.dist, cwd=SOURCE, stdout=subprocess.DEVNULL,
            env={**os.environ, "BUILD": str(arguments.build.resolve()), "VERSION": BUILD_VERSION,
                 "RESULT": str(old)})
    source = arguments.packages or old
    for result in (old, new):
        result.mkdir(parents=True, exist_ok=True)
        (result / "SHA256SUMS").touch()
    # The newer ones differ by the version alone, which takes seconds and not minutes. None is compressed, as the
    # machine would take long.
    for package in sorted(source.glob("*.deb")):
        if "-dbgsym_" in package.name:
            continue
        work = directory / "repack"
        run("dpkg-deb", "--raw-extract", package, work)
        control = work / "DEBIAN/control"
        text = control.read_text()
        version = re.search(r"^Version: (.*)$", text, re.MULTILINE).group(1)
        build_package(work, old / package.name)
        control.write_text(text.replace(f"Version: {version}\n", f"Version: {version}+new\n"))
        build_package(work, new / package.name.replace(version, f"{version}+new"))
        shutil.rmtree(work)
    return {version: old, f"{version}+new": new}


def make_repository(results, directory):
    """Signs a repository with a key of its own."""
    home = directory / "gnupg"
    home.mkdir(mode=0o700, parents=True)
    environment = {**os.environ, "GNUPGHOME": str(home), "URL": "file:///repository",
                   "RESULTS": " ".join(map(str, results))}
    run("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "packages@test",
        env=environment)
    run(SOURCE / "tools/repository.sh", "packages@test", directory / "repository", cwd=SOURCE,
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run("gpgconf", "--kill", "all", env=environment)
    return directory / "repository"


def make_root(root, dist, repository, mirror):
    """A bare system that knows the repository, with the packages that ours need already installed: the machine
    has no network, and unpacks ten times as slowly as this one."""
    system = root.parent / f"{root.name}-system"
    if not (system / "etc/debian_version").exists():
        shutil.rmtree(system, ignore_errors=True)
        run("mmdebstrap", "--quiet", "--variant=minbase", "--skip=cleanup/apt",
            f"--include={','.join(SYSTEM)}", dist, system, mirror)
    shutil.rmtree(root, ignore_errors=True)
    run("cp", "-a", "--reflink=auto", system, root)
    shutil.copytree(repository, root / "repository")
    shutil.copy(repository / "plimsoll-archive-keyring.asc", root / "usr/share/keyrings")
    shutil.copy(repository / f"plimsoll-{dist}.sources",
                root / "etc/apt/sources.list.d/plimsoll.sources")
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    apt = ["chroot", root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"]
    run(*apt, "update", stdout=subprocess.DEVNULL)
    plan = subprocess.run([str(word) for word in [*apt, "install", "--simulate", *PACKAGES]],
                          capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"^Inst (?!plimsoll)(\S+)", plan, re.MULTILINE)
    run(*apt, "install", "--no-install-recommends", *needed, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    run(*apt, "clean")


def add_job(root, kernel):
    """Makes the system run guest_job once it has booted."""
    (root / "usr/local/bin/usleep").symlink_to("/bin/busybox")
    shutil.copy2(job.HERE / "guest_job", root / "usr/sbin/guest_job")
    (root / "usr/sbin/guest_job").chmod(0o755)
    for name, text in image.SYSTEMD_FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).unlink(missing_ok=True)
        (root / name).write_text(text)
    (root / "etc/hostname").write_text("plimsoll-vm\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost plimsoll-vm\n")
    # Packages ask nothing, and deb files stay unsynced: the disk is thrown away.
    (root / "etc/dpkg/dpkg.cfg.d/test").write_text("force-unsafe-io\n")
    shutil.copytree(kernel / "modules", root / "usr/lib/modules", dirs_exist_ok=True)
    # kernel.sh's index is busybox's; this system's modprobe reads its own alone.
    run("chroot", root, "depmod", (kernel / "release").read_text().strip())


def make_images(root, kernel, directory):
    """What vm.py boots: a disk with this root, and its initial ramdisk."""
    work = directory / "initramfs"
    shutil.rmtree(work, ignore_errors=True)
    image.make_initramfs(work, argparse.Namespace(kernel=kernel, out=directory, root=None))
    image.make_disk(image.Tree(root), directory / "root.img")


def schema():
    text = (SOURCE / "src/runtime/store/schema.cc").read_text()
    return re.findall(r"^    // (\d+): ", text, re.MULTILINE)[-1]


def build_text(packages, version):
    """What --version prints after a program's name, as an extended regular expression. An unreleased package has the
    commit in its version."""
    if packages is None:
        # A debug build, which names no commit.
        release = re.search(r"project\(plimsoll VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())
        return re.escape(release.group(1))
    release = re.match(r"[0-9.]+", version).group()
    commit = re.search(r"\.g([0-9a-f]{8})", version)
    commit = commit.group(1) if commit else "[0-9a-f]{8}"
    return rf"{re.escape(release)} \(commit {commit}[0-9a-f]{{4}}\)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--packages", type=pathlib.Path)
    parser.add_argument("--dist", default="bookworm")
    parser.add_argument("--mirror", default=os.environ.get("MIRROR", "http://deb.debian.org/debian"))
    parser.add_argument("--timeout", type=float, default=3600)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    directory = build / "vm/packages"
    kernel = job.find_kernel()
    arch = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True,
                          check=True).stdout.strip()
    for name in ("gnupg", "repository", "old", "new", "repack"):
        shutil.rmtree(directory / name, ignore_errors=True)
    versions = make_packages(arguments, directory, f"{arguments.dist}-{arch}")
    repository = make_repository(versions.values(), directory)
    root = directory / f"root-{arguments.dist}"
    make_root(root, arguments.dist, repository, arguments.mirror)
    add_job(root, kernel)
    make_images(root, kernel, directory)
    shutil.rmtree(root)
    return vm.run(vm.Options(
        kernel=kernel, images=directory, results=directory / "results",
        job=job.HERE / "packages_job",
        arguments=[*versions, schema(), build_text(arguments.packages, next(iter(versions)))],
        append=[*job.SYSTEMD_ARGUMENTS, *(f"systemd.mask={name}" for name in MASK)],
        timeout=arguments.timeout))


if __name__ == "__main__":
    sys.exit(main())
