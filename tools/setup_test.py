#!/usr/bin/env python3
"""Tests of tools/setup.sh with a made-up dpkg-query and apt-get; nothing is installed."""

import os
import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent / "setup.sh"
LIST = """# a comment
[build]
here      # is installed
gone      # why gone is wanted
removed   # was there once

[run]

[check]
other     # for tests

[elsewhere]
gone      # not its group
"""
# dpkg-query knows `here` and the remains of `removed`; it reports the others on stderr only.
DPKG_QUERY = """#!/bin/sh
if [ "$3" = '${db:Status-Status}\\n' ]; then
  case $4 in
    here) echo installed ;;
    removed) echo config-files ;;
    *) exit 1 ;;
  esac
  exit
fi
for word; do
  case $word in
    here) echo 'here installed' ;;
    removed) echo 'removed config-files' ;;
    gone | other) echo "no packages found matching $word" >&2; failed=1 ;;
  esac
done
exit ${failed:-0}
"""
APT_GET = """#!/bin/sh
echo "$*" >>"$APT_LOG"
case $1 in
  update) exit ${APT_UPDATE_EXIT:-0} ;;
  install) exit ${APT_INSTALL_EXIT:-0} ;;
esac
"""
# apt-cache offers `newer` and `newest`; with APT_LISTS=missing only after an update.
APT_CACHE = """#!/bin/sh
[ "${APT_LISTS:-}" != missing ] || grep -q update "$APT_LOG" 2>/dev/null || exit 0
case $2 in
  newer | newest) printf '%s:\\n  Installed: (none)\\n  Candidate: 1.2\\n' "$2" ;;
  older) printf '%s:\\n  Installed: (none)\\n  Candidate: (none)\\n' "$2" ;;
esac
"""


class SetupTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="plimsoll-test-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.log = self.directory / "apt.log"
        self.program("dpkg-query", DPKG_QUERY)
        self.program("apt-get", APT_GET)
        self.program("apt-cache", APT_CACHE)
        self.program("id", "#!/bin/sh\necho ${FAKE_UID:-0}\n")
        (self.directory / "list").write_text(LIST)

    def program(self, name, text):
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o755)

    def run_setup(self, *groups, **environment):
        run = subprocess.run(
            [str(TOOL), *groups], capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
            env={"PATH": f"{self.directory}:/usr/bin:/bin", "APT_LOG": str(self.log),
                 "PLIMSOLL_PACKAGE_LIST": str(self.directory / "list"), **environment})
        apt = self.log.read_text().splitlines() if self.log.exists() else []
        return run, apt

    def test_installs_what_is_missing_and_nothing_else(self):
        run, apt = self.run_setup("build")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(apt, ["update -q", "install -q -y --no-install-recommends gone removed"])
        self.assertIn("why gone is wanted", run.stdout)
        self.assertNotIn("is installed", run.stdout)
        self.assertNotIn("not its group", run.stdout)

    def test_of_alternatives_the_installed_one_counts(self):
        (self.directory / "list").write_text("[build]\nnewer|here # why\n")
        run, apt = self.run_setup("build")
        self.assertEqual((run.returncode, run.stdout, run.stderr, apt), (0, "", "", []))

    def test_of_alternatives_the_first_that_is_offered_is_installed(self):
        (self.directory / "list").write_text("[build]\nolder|newer|newest # why one is wanted\n")
        run, apt = self.run_setup("build")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(apt, ["update -q", "install -q -y --no-install-recommends newer"])
        self.assertIn("why one is wanted", run.stdout)

    def test_of_alternatives_none_is_offered_before_an_update(self):
        (self.directory / "list").write_text("[build]\nolder|newer # why\n")
        _, apt = self.run_setup("build", APT_LISTS="missing")
        self.assertEqual(apt, ["update -q", "install -q -y --no-install-recommends newer"])

    def test_of_alternatives_that_nobody_offers_the_first_is_named(self):
        (self.directory / "list").write_text("[build]\nolder|gone # why\n")
        run, _ = self.run_setup("build", APT_INSTALL_EXIT="100")
        self.assertIn("could not install: older", run.stderr)

    def test_nothing_missing_is_silent(self):
        (self.directory / "list").write_text("[build]\nhere\n")
        run, apt = self.run_setup("build")
        self.assertEqual((run.returncode, run.stdout, run.stderr, apt), (0, "", "", []))

    def test_without_a_group_all_are_taken(self):
        _, apt = self.run_setup()
        self.assertIn("install -q -y --no-install-recommends gone removed other", apt)

    def test_a_package_source_out_of_order_does_not_stop_it(self):
        run, apt = self.run_setup("check", APT_UPDATE_EXIT="100")
        self.assertEqual(run.returncode, 0)
        self.assertEqual(len(apt), 2)

    def test_a_failed_install_names_the_packages(self):
        run, _ = self.run_setup("check", APT_INSTALL_EXIT="100")
        self.assertEqual(run.returncode, 1)
        self.assertIn("could not install: other", run.stderr)

    def test_without_root_it_says_what_to_run(self):
        run, apt = self.run_setup("check", FAKE_UID="1000")
        self.assertEqual(run.returncode, 1)
        self.assertIn("As root: apt-get install --no-install-recommends other", run.stderr)
        self.assertEqual(apt, [])

    def test_an_unknown_group_is_refused(self):
        run, apt = self.run_setup("chekc")
        self.assertEqual(run.returncode, 1)
        self.assertIn("no group [chekc]", run.stderr)
        self.assertEqual(apt, [])

    def test_another_system_is_told_what_it_is_about(self):
        tools = self.directory / "tools"
        tools.mkdir()
        for name in ("dirname", "grep", "awk", "sh"):
            os.symlink(f"/usr/bin/{name}", tools / name)
        run, _ = self.run_setup("build", PATH=str(tools))
        self.assertEqual(run.returncode, 1)
        self.assertIn("no Debian system", run.stderr)

    def test_the_projects_list_is_well_formed(self):
        seen = set()
        group = ""
        for line in (TOOL.parent.parent / "packaging/debian-packages").read_text().splitlines():
            if line.startswith("["):
                group = line
            if not line or line.startswith(("#", "[")):
                continue
            package, _, why = line.partition("#")
            self.assertRegex(package.strip(), r"^[a-z0-9][a-z0-9+.-]+(\|[a-z0-9][a-z0-9+.-]+)*$")
            self.assertTrue(why.strip(), f"{package.strip()}: say why it is needed")
            # For another architecture the virtual machine has some of the others again.
            if group != "[vm root]":
                self.assertNotIn(package.strip(), seen)
                seen.add(package.strip())


if __name__ == "__main__":
    unittest.main()
