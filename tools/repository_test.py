#!/usr/bin/env python3
"""Tests of tools/repository.sh with made-up packages, and a key in a keyring of its own."""

import gzip
import hashlib
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent
KEY = "repository@test"
MISSING = [name for name in ("apt-ftparchive", "gpg", "gpgv", "dpkg-deb") if shutil.which(name) is None]
CONTROL = """Package: {name}
Version: {version}
Architecture: {arch}
Maintainer: Test <test@example.com>
Description: made up
"""
# Signs nothing, and does all else.
UNSIGNED = """#!/bin/sh
case "$*" in *--clearsign*) echo no signature >&2; exit 2 ;; esac
exec {gpg} "$@"
"""


class RepositoryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # gpg's agent has its socket here: a path of at most 107 bytes.
        directory = tempfile.TemporaryDirectory(prefix="plimsoll-test-", dir="/tmp")
        cls.addClassCleanup(directory.cleanup)
        cls.home = pathlib.Path(directory.name)
        cls.home.chmod(0o700)
        environment = {**os.environ, "GNUPGHOME": str(cls.home)}
        cls.addClassCleanup(subprocess.run, ["gpgconf", "--kill", "all"], env=environment, check=False)
        subprocess.run(["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", KEY],
                       env=environment, check=True, capture_output=True)

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="plimsoll-test-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.target = self.directory / "repository"

    def package(self, name, version, arch, dist="bookworm"):
        """Makes a package as tools/packages.sh leaves it, and returns its directory."""
        result = self.directory / f"{version}/{dist}-amd64/result"
        tree = self.directory / "tree"
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN/control").write_text(CONTROL.format(name=name, version=version, arch=arch))
        result.mkdir(parents=True, exist_ok=True)
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree,
                        result / f"{name}_{version}_{arch}.deb"], check=True, capture_output=True)
        shutil.rmtree(tree)
        (result / "SHA256SUMS").touch()
        return result

    def publish(self, *results, key=KEY, path=None, **environment):
        return subprocess.run(
            [TOP / "tools/repository.sh", *([key] if key else []), self.target], text=True,
            capture_output=True, check=False,
            env={"PATH": f"{path}:/usr/bin:/bin" if path else "/usr/bin:/bin", "GNUPGHOME": str(self.home),
                 "RESULTS": " ".join(map(str, results)), **environment})

    def published(self, *results, **environment):
        run = self.publish(*results, **environment)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(f"repository: in {self.target}, for ", run.stdout)

    def index(self, arch="amd64", dist="bookworm"):
        """The packages of an index: {(name, version): fields}."""
        text = (self.target / f"dists/{dist}/main/binary-{arch}/Packages").read_text()
        found = {}
        for paragraph in text.strip().split("\n\n"):
            fields = dict(re.findall(r"^(\S+): (.*)$", paragraph, re.M))
            found[fields["Package"], fields["Version"]] = fields
        return found

    def verify(self, *files):
        """What gpgv says of a signature by the published key."""
        keyring = self.directory / "keyring.gpg"
        subprocess.run(["gpg", "--batch", "--yes", "--dearmor", "--output", keyring,
                        self.target / "plimsoll-archive-keyring.asc"], check=True)
        return subprocess.run(["gpgv", "--keyring", keyring, *files], capture_output=True, text=True,
                              check=False)

    def test_the_index_names_each_package_and_its_digest(self):
        result = self.package("plimsoll", "1", "amd64")
        self.package("plimsoll-doc", "1", "all")
        self.published(result)
        index = self.index()
        self.assertEqual(set(index), {("plimsoll", "1"), ("plimsoll-doc", "1")})
        for fields in index.values():
            self.assertTrue(fields["Filename"].startswith("pool/bookworm/"))
            data = (self.target / fields["Filename"]).read_bytes()
            self.assertEqual(fields["SHA256"], hashlib.sha256(data).hexdigest())
            self.assertEqual(fields["Size"], str(len(data)))
        release = (self.target / "dists/bookworm/Release").read_text()
        for line in ("Suite: bookworm", "Codename: bookworm", "Components: main", "Architectures: amd64"):
            self.assertRegex(release, f"(?m)^{line}$")
        packages = self.target / "dists/bookworm/main/binary-amd64/Packages"
        for suffix, unpack in (("", bytes), (".gz", gzip.decompress), (".xz", lzma.decompress)):
            data = packages.with_name(f"Packages{suffix}").read_bytes()
            self.assertEqual(unpack(data), packages.read_bytes())
            self.assertRegex(release, f" {hashlib.sha256(data).hexdigest()} +{len(data)} "
                                      f"main/binary-amd64/Packages{suffix}\n")

    def test_the_signatures_are_of_the_published_key(self):
        self.published(self.package("plimsoll", "1", "amd64"))
        dist = self.target / "dists/bookworm"
        for files in ([dist / "InRelease"], [dist / "Release.gpg", dist / "Release"]):
            self.assertEqual(self.verify(*files).returncode, 0, files)
        self.assertIn((dist / "Release").read_text(), (dist / "InRelease").read_text())
        self.assertIn("PUBLIC KEY", (self.target / "plimsoll-archive-keyring.asc").read_text())
        with (dist / "Release").open("a") as release:
            release.write("Changed: yes\n")
        self.assertIn("BAD signature", self.verify(dist / "Release.gpg", dist / "Release").stderr)
        # No key of ours, and no socket of gpg's agent.
        self.assertEqual([path for path in self.target.rglob("*") if "private" in path.name], [])

    def test_each_release_and_architecture_has_its_index(self):
        self.published(self.package("plimsoll", "1", "amd64"), self.package("plimsoll", "2", "arm64"),
                       self.package("plimsoll", "1", "amd64", dist="trixie"),
                       URL="https://packages.example.com")
        self.assertEqual(set(self.index("amd64")), {("plimsoll", "1")})
        self.assertEqual(set(self.index("arm64")), {("plimsoll", "2")})
        self.assertIn("Architectures: amd64 arm64\n", (self.target / "dists/bookworm/Release").read_text())
        self.assertEqual(set(self.index(dist="trixie")), {("plimsoll", "1")})
        for dist in ("bookworm", "trixie"):
            sources = (self.target / f"plimsoll-{dist}.sources").read_text()
            self.assertIn(f"URIs: https://packages.example.com\nSuites: {dist}\n", sources)
            self.assertIn("Signed-By: /usr/share/keyrings/plimsoll-archive-keyring.asc\n", sources)

    def test_an_older_version_stays(self):
        self.published(self.package("plimsoll", "1", "amd64"))
        self.published(self.package("plimsoll", "2", "amd64"))
        self.assertEqual(set(self.index()), {("plimsoll", "1"), ("plimsoll", "2")})
        self.assertEqual(self.verify(self.target / "dists/bookworm/InRelease").returncode, 0)

    def test_without_a_key_nothing_is_published(self):
        result = self.package("plimsoll", "1", "amd64")
        for key, said in ((None, "usage: tools/repository.sh KEY"), ("", "usage: tools/repository.sh KEY"),
                          ("nobody@test", "repository: gpg has no secret key nobody@test")):
            run = subprocess.run([TOP / "tools/repository.sh", *([] if key is None else [key, self.target])],
                                 text=True, capture_output=True, check=False,
                                 env={"PATH": "/usr/bin:/bin", "GNUPGHOME": str(self.home),
                                      "RESULTS": str(result)})
            self.assertEqual(run.returncode, 1)
            self.assertIn(said, run.stderr)
            self.assertFalse((self.target / "dists").exists())
            self.assertFalse((self.target / "pool").exists())

    def test_without_packages_nothing_is_published(self):
        run = self.publish(self.directory / "none")
        self.assertEqual(run.returncode, 1)
        self.assertIn("repository: no packages", run.stderr)
        self.assertFalse((self.target / "dists").exists())

    def test_a_failed_signature_leaves_the_older_index(self):
        self.published(self.package("plimsoll", "1", "amd64"))
        tools = self.directory / "tools"
        tools.mkdir()
        (tools / "gpg").write_text(UNSIGNED.format(gpg=shutil.which("gpg")))
        (tools / "gpg").chmod(0o755)
        run = self.publish(self.package("plimsoll", "2", "amd64"), path=tools)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("no signature", run.stderr)
        self.assertEqual(set(self.index()), {("plimsoll", "1")})
        self.assertEqual(self.verify(self.target / "dists/bookworm/InRelease").returncode, 0)


if __name__ == "__main__":
    if MISSING:
        # The line that tools/run_tests.sh reads as a skipped test, for CTest's SKIP_RETURN_CODE.
        print("repository_test: Skipped\n"
              f"there is no {' and no '.join(MISSING)}: tools/setup.sh packages\n"
              "[  SKIPPED ] repository_test (0 ms)")
        sys.exit(77)
    unittest.main()
