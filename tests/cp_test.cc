// plimsoll cp: files between this machine and hostile containers.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kHostRoot = 300000;

class CpTest : public NodeTest {
 protected:
  void SetUp() override {
    // A pod with a user namespace must be able to reach the run directory.
    ASSERT_EQ(chmod(node_.directory().c_str(), 0711), 0);
    NodeTest::SetUp();
  }

  Command CpCommand(std::vector<std::string> words) {
    words.insert(words.begin(), {ProgramPath("plimsoll"), "--address", node_.address(), "cp"});
    return {.argv = std::move(words)};
  }
  RunResult Cp(std::vector<std::string> words, const std::string& input = "") {
    auto result = RunProgram(CpCommand(std::move(words)),
                             {.timeout = Patience(absl::Seconds(60)), .input = input});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : RunResult{.exit = {.code = -1}};
  }
  // Fails the test unless it succeeds and prints nothing.
  void CpWell(std::vector<std::string> words, const std::string& input = "") {
    const RunResult result = Cp(std::move(words), input);
    EXPECT_EQ(result.exit.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
  }

  std::string Here(const std::string& name) { return absl::StrCat(dir_.path(), "/", name); }
  std::string Read(const std::string& name) { return dir_.root().Read(name).value_or("(none)"); }
  void Write(const std::string& name, const std::string& text, mode_t mode = 0644) {
    ASSERT_TRUE(dir_.root().ReplaceFile(name, text, mode).ok());
  }
  struct stat Stat(const std::string& name) {
    struct stat info = {};
    EXPECT_EQ(lstat(Here(name).c_str(), &info), 0) << name;
    return info;
  }

  cri::PodSandboxConfig UserPodConfig() {
    cri::PodSandboxConfig config = PodConfig();
    cri::NamespaceOption* options =
        config.mutable_linux()->mutable_security_context()->mutable_namespace_options();
    options->set_pid(cri::CONTAINER);
    options->mutable_userns_options()->set_mode(cri::POD);
    for (cri::IDMapping* ids : {options->mutable_userns_options()->add_uids(),
                                options->mutable_userns_options()->add_gids()}) {
      ids->set_host_id(kHostRoot);
      ids->set_length(65536);
    }
    return config;
  }
  bool HasUserNamespaces() {
    grpc::ClientContext context;
    cri::StatusResponse response;
    EXPECT_TRUE(node_.runtime().Status(&context, cri::StatusRequest(), &response).ok());
    return response.runtime_handlers(0).features().user_namespaces();
  }

  TestDir dir_;
};

TEST_F(CpTest, FilesGoBothWaysWithModeAndTime) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  Write("a", "text\n", 0640);
  const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 5}};
  ASSERT_EQ(utimensat(AT_FDCWD, Here("a").c_str(), times, 0), 0);
  ASSERT_EQ(chown(Here("a").c_str(), 1000, 1000), 0);
  CpWell({Here("a"), container + ":/tmp"});
  EXPECT_EQ(ExecOutput(container, "cat /tmp/a; stat -c '%a %u:%g %Y' /tmp/a"),
            "text\n640 0:0 1000000000\n");
  CpWell({container + ":/tmp/a", Here("back")});
  EXPECT_EQ(Read("back"), "text\n");
  EXPECT_EQ(Stat("back").st_mode & 07777, 0640u);
  EXPECT_EQ(Stat("back").st_mtim.tv_nsec, 5);
  EXPECT_EQ(Stat("back").st_uid, geteuid());
  // A path in a container is resolved from its root, even with "..".
  CpWell({container + ":../../tmp/../tmp/a", Here("again")});
  EXPECT_EQ(Read("again"), "text\n");
  EXPECT_EQ(ExecOutput(container, "ls -A /tmp"), "a\n") << "a temporary name is left";
}

TEST_F(CpTest, ArchiveKeepsOwnersAndSetIdBits) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  ExecOutput(container, "echo x > /tmp/s; busybox chown 1000:2000 /tmp/s; chmod 6755 /tmp/s");
  CpWell({container + ":/tmp/s", Here("plain")});
  EXPECT_EQ(Stat("plain").st_mode & 07777, 0755u);
  EXPECT_EQ(Stat("plain").st_uid, geteuid());
  CpWell({"-a", container + ":/tmp/s", Here("archive")});
  EXPECT_EQ(Stat("archive").st_mode & 07777, 06755u);
  EXPECT_EQ(Stat("archive").st_uid, 1000u);
  EXPECT_EQ(Stat("archive").st_gid, 2000u);
  CpWell({"-a", Here("archive"), container + ":/root/s"});
  EXPECT_EQ(ExecOutput(container, "stat -c '%a %u:%g' /root/s"), "6755 1000:2000\n");
  CpWell({Here("archive"), container + ":/root/plain"});
  EXPECT_EQ(ExecOutput(container, "stat -c '%a %u:%g' /root/plain"), "755 0:0\n");
}

TEST_F(CpTest, DirectoriesGoWholeOrByTheirContent) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  ExecOutput(container,
             "mkdir -p /tmp/d/sub; echo 1 > /tmp/d/one; echo 2 > /tmp/d/sub/two; "
             "ln -s /etc/passwd /tmp/d/link; ln /tmp/d/one /tmp/d/same");
  CpWell({container + ":/tmp/d", Here("new")});
  EXPECT_EQ(Read("new/sub/two"), "2\n");
  EXPECT_EQ(*dir_.root().ReadLink("new/link"), "/etc/passwd");
  EXPECT_EQ(Stat("new/one").st_ino, Stat("new/same").st_ino);
  CpWell({container + ":/tmp/d", Here("new")});
  EXPECT_EQ(Read("new/d/one"), "1\n");
  ASSERT_TRUE(dir_.root().MakeDirs("flat", 0700).ok());
  CpWell({container + ":/tmp/d/.", Here("flat")});
  EXPECT_THAT(*dir_.root().List("flat"), ElementsAre("link", "one", "same", "sub"));
  EXPECT_EQ(Stat("flat").st_mode & 07777, 0700u);

  CpWell({Here("flat") + "/.", container + ":/root"});
  EXPECT_EQ(ExecOutput(container, "cat /root/sub/two; readlink /root/link"), "2\n/etc/passwd\n");
  CpWell({Here("flat"), container + ":/root"});
  EXPECT_EQ(ExecOutput(container, "cat /root/flat/sub/two"), "2\n");
  const RunResult onto = Cp({Here("flat"), container + ":/etc/passwd"});
  EXPECT_EQ(onto.exit.code, 1);
  EXPECT_THAT(onto.err, HasSubstr(":/etc/passwd is a regular file: a directory can't be copied"));
}

TEST_F(CpTest, AWholeRootIsCopiedWithoutTheKernelsTrees) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  const RunResult result = Cp({"-q", container + ":/", Here("root")});
  EXPECT_EQ(result.exit.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_GT(Stat("root/bin/busybox").st_size, 100'000);
  EXPECT_THAT(*dir_.root().List("root/proc"), IsEmpty());
  EXPECT_THAT(*dir_.root().List("root/sys"), IsEmpty());
  CpWell({container + ":/proc/1/comm", Here("comm")});
  EXPECT_EQ(Read("comm"), ExecOutput(container, "cat /proc/1/comm"));
}

TEST_F(CpTest, TarStreamsComeAndGo) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  ExecOutput(container, "mkdir /tmp/d; echo 1 > /tmp/d/one; mkdir /tmp/into");
  const RunResult out = Cp({container + ":/tmp/d", "-"});
  EXPECT_EQ(out.exit.code, 0) << out.err;
  const auto list = RunProgram({.argv = {"/bin/tar", "tf", "-"}}, {.input = out.out});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->out, "d/\nd/one\n");
  CpWell({"-", container + ":/tmp/into"}, out.out);
  EXPECT_EQ(ExecOutput(container, "cat /tmp/into/d/one"), "1\n");
  const RunResult no_tar = Cp({"-", container + ":/tmp/into"}, "this is no archive at all\n");
  EXPECT_EQ(no_tar.exit.code, 1);
  EXPECT_THAT(no_tar.err, HasSubstr("tar stream is no archive"));
  const RunResult file = Cp({"-", container + ":/etc/passwd"}, out.out);
  EXPECT_EQ(file.exit.code, 1);
  EXPECT_THAT(file.err, HasSubstr("/etc/passwd: Not a directory"));
}

TEST_F(CpTest, LinksStayInTheContainer) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  Write("secret", "secret of the host\n");
  ExecOutput(container, absl::StrCat("ln -s ", dir_.path(), " /way; ln -s ", Here("secret"),
                                     " /secret; ln -s /proc/1/root", dir_.path(), " /magic"));
  for (const char* path : {"/way/secret", "/secret/", "/magic/secret"}) {
    const RunResult result = Cp({container + ":" + path, Here("got")});
    EXPECT_EQ(result.exit.code, 1) << path;
  }
  EXPECT_EQ(Cp({"-L", container + ":/secret", Here("got")}).exit.code, 1);
  CpWell({container + ":/secret", Here("link")});
  EXPECT_EQ(*dir_.root().ReadLink("link"), Here("secret"));

  Write("new", "new\n");
  EXPECT_EQ(Cp({Here("new"), container + ":/way/made"}).exit.code, 1);
  EXPECT_EQ(Cp({Here("new"), container + ":/magic/made"}).exit.code, 1);
  EXPECT_FALSE(dir_.root().Exists("made"));
  // A link's target, possibly new, is resolved in the container.
  ExecOutput(container, "mkdir /root/dir; ln -s /root/dir /dir; ln -s dir/new /root/link");
  CpWell({Here("new"), container + ":/dir"});
  CpWell({Here("new"), container + ":/root/link"});
  EXPECT_EQ(ExecOutput(container, "ls /root/dir; readlink /root/link"), "new\ndir/new\n");
}

// CVE-2018-15664: swapping links between check and open never reaches anything of the host.
TEST_F(CpTest, LinksThatAreSwappedMeanwhileLeadNowhere) {
  ASSERT_TRUE(dir_.root().MakeDirs("outside", 0755).ok());
  Write("outside/file", "of the host");
  const std::string outside = Here("outside");
  const std::string swaps = absl::StrCat("mkdir -p /w/real ", outside,
                                         "; echo of the container > /w/real/file; mv /w/real /w/p; "
                                         "while :; do mv /w/p /w/q; ln -s ",
                                         outside, " /w/p; rm /w/p; mv /w/q /w/p; done");
  const std::string container = Start(RunPod(), Shell(swaps));
  ASSERT_TRUE(Eventually([&] {
    return Cp({"-q", container + ":/w/p/file", Here("first")}).exit.code == 0;
  }));
  int got = 0;
  Write("bad", "bad");
  // A slow machine rarely meets the few moments in which the file exists.
  const absl::Time begin = absl::Now();
  while (absl::Now() < begin + (got > 0 ? absl::Seconds(4) : absl::Seconds(60))) {
    if (Cp({"-q", container + ":/w/p/file", Here("got")}).exit.code == 0) {
      ++got;
      EXPECT_EQ(Read("got"), "of the container\n");
    }
    Cp({"-q", Here("bad"), container + ":/w/p/made"});
    Cp({"-q", container + ":/w/.", Here("tree")});
  }
  EXPECT_GT(got, 0);
  EXPECT_THAT(*dir_.root().List("outside"), ElementsAre("file"));
  EXPECT_EQ(Read("outside/file"), "of the host");
}

TEST_F(CpTest, DevicesAndFifosAreNeverOpened) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  ExecOutput(container, "mkdir /tmp/d; busybox mkfifo /tmp/d/fifo; echo x > /tmp/d/file");
  const RunResult tree = Cp({container + ":/tmp/d", Here("tree")});
  EXPECT_EQ(tree.exit.code, 0) << tree.err;
  EXPECT_THAT(tree.err, HasSubstr("plimsoll: left out: "));
  EXPECT_THAT(tree.err, HasSubstr(":/tmp/d/fifo is a FIFO\n"));
  EXPECT_THAT(*dir_.root().List("tree"), ElementsAre("file"));
  const RunResult fifo = Cp({container + ":/tmp/d/fifo", Here("fifo")});
  EXPECT_EQ(fifo.exit.code, 1);
  EXPECT_THAT(fifo.err, HasSubstr("/tmp/d/fifo is a FIFO; valid are files"));
  EXPECT_EQ(Cp({container + ":/dev/zero", Here("zero")}).exit.code, 1);
  // Nor are links written to or replaced.
  Write("file", "x");
  const RunResult onto = Cp({Here("file"), container + ":/dev/null"});
  EXPECT_EQ(onto.exit.code, 1);
  EXPECT_THAT(onto.err, HasSubstr("a character device; it isn't replaced"));
  EXPECT_EQ(ExecOutput(container, "test -c /dev/null && echo still"), "still\n");
}

// Opening a FIFO for reading waits for a writer, for ever.
TEST_F(CpTest, AFifoThatTakesAFilesPlaceStopsNothing) {
  const std::string container =
      Start(RunPod(), Shell("mkdir /w; echo text > /w/file; busybox mkfifo /w/fifo; "
                            "while :; do ln -f /w/file /w/p; ln -f /w/fifo /w/p; done"));
  ASSERT_TRUE(Eventually(
      [&] { return absl::StrContains(ExecOutput(container, "ls /w 2>&1 || :"), "fifo"); }));
  int got = 0;
  int refused = 0;
  const absl::Time end = absl::Now() + Patience(absl::Seconds(20));
  while ((got == 0 || refused == 0) && absl::Now() < end) {
    const RunResult result = Cp({"-q", container + ":/w/p", Here("got")});
    if (result.exit.code == 0) {
      ++got;
      EXPECT_EQ(Read("got"), "text\n");
    }
    refused += absl::StrContains(result.err, "is a FIFO") ? 1 : 0;
    EXPECT_EQ(Cp({"-q", container + ":/w/.", Here("tree")}).exit.code, 0);
  }
  EXPECT_GT(got, 0);
  EXPECT_GT(refused, 0);
}

TEST_F(CpTest, ALongCopyIsSeenOnATerminal) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  const UniqueFd master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  char name[64];
  ASSERT_TRUE(grantpt(master.get()) == 0 && unlockpt(master.get()) == 0 &&
              ptsname_r(master.get(), name, sizeof(name)) == 0);
  const UniqueFd slave(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  Write("a", std::string(20'000, 'x'));
  const auto tar = RunProgram({.argv = {"/bin/tar", "cf", "-", "-C", dir_.path(), "a"}});
  ASSERT_TRUE(tar.ok()) << tar.status();
  Command command = CpCommand({"-", container + ":/tmp"});
  command.descriptors = {{reader.get(), 0}, {slave.get(), 2}};
  auto child = Spawn(command);
  ASSERT_TRUE(child.ok()) << child.status();
  // The rest comes late.
  ASSERT_EQ(write(writer.get(), tar->out.data(), 10'240), 10'240);
  // It may be shown before anything has come, and in several writes.
  std::string shown;
  EXPECT_TRUE(Eventually(
      [&] {
        pollfd look = {master.get(), POLLIN, 0};
        char part[4096];
        const ssize_t size =
            poll(&look, 1, 0) == 1 ? read(master.get(), part, sizeof(part)) : ssize_t{0};
        shown.append(part, static_cast<size_t>(std::max<ssize_t>(size, 0)));
        return absl::StrContains(shown, "10 KiB");
      },
      absl::Seconds(30)))
      << shown;
  EXPECT_THAT(shown, HasSubstr("cp: - to "));
  const auto rest = static_cast<ssize_t>(tar->out.size() - 10'240);
  ASSERT_EQ(write(writer.get(), tar->out.data() + 10'240, static_cast<size_t>(rest)), rest);
  writer.Reset();
  const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(30)));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 0);
  EXPECT_EQ(ExecOutput(container, "stat -c %s /tmp/a"), "20000\n");
}

TEST_F(CpTest, InAUserNamespaceItActsAsTheContainersRoot) {
  if (!HasUserNamespaces()) GTEST_SKIP() << "this machine has no user namespaces for pods";
  ASSERT_TRUE(dir_.root().MakeDirs("mapped", 0755).ok());
  ASSERT_TRUE(dir_.root().MakeDirs("plain", 0755).ok());
  Write("plain/of-root", "x", 0600);
  cri::ContainerConfig config = Shell("sleep 1000");
  cri::Mount* mapped = config.add_mounts();
  mapped->set_host_path(Here("mapped"));
  mapped->set_container_path("/mapped");
  for (cri::IDMapping* ids : {mapped->add_uidmappings(), mapped->add_gidmappings()}) {
    ids->set_host_id(kHostRoot);
    ids->set_length(65536);
  }
  cri::Mount* plain = config.add_mounts();
  plain->set_host_path(Here("plain"));
  plain->set_container_path("/plain");
  ASSERT_EQ(chmod(dir_.path().c_str(), 0755), 0);
  const std::string container = Start(RunPod(UserPodConfig()), config);

  Write("a", "text\n");
  ASSERT_EQ(chown(Here("a").c_str(), 1000, 2000), 0);
  CpWell({Here("a"), container + ":/root/a"});
  EXPECT_EQ(ExecOutput(container, "stat -c %u:%g /root/a"), "0:0\n");
  CpWell({"-a", Here("a"), container + ":/root/b"});
  EXPECT_EQ(ExecOutput(container, "stat -c %u:%g /root/b"), "1000:2000\n");
  // Through an id-mapped mount, which gives users outside the namespace EOVERFLOW.
  CpWell({Here("a"), container + ":/mapped/a"});
  EXPECT_EQ(Stat("mapped/a").st_uid, 0u);
  CpWell({"-a", container + ":/root/b", Here("back")});
  EXPECT_EQ(Stat("back").st_uid, 1000u);
  // cp can't write or read what the container's root can't.
  const RunResult write = Cp({Here("a"), container + ":/plain/a"});
  EXPECT_EQ(write.exit.code, 1);
  EXPECT_THAT(write.err, HasSubstr("Permission denied"));
  EXPECT_EQ(Cp({container + ":/plain/of-root", Here("stolen")}).exit.code, 1);
  EXPECT_THAT(*dir_.root().List("plain"), ElementsAre("of-root"));
}

TEST_F(CpTest, AReadOnlyRootTakesNothingButItsVolumesDo) {
  ASSERT_TRUE(dir_.root().MakeDirs("volume", 0755).ok());
  cri::ContainerConfig config = Shell("sleep 1000");
  config.mutable_linux()->mutable_security_context()->set_readonly_rootfs(true);
  cri::Mount* mount = config.add_mounts();
  mount->set_host_path(Here("volume"));
  mount->set_container_path("/data");
  Write("mounted", "old");
  cri::Mount* file = config.add_mounts();
  file->set_host_path(Here("mounted"));
  file->set_container_path("/data/mounted");
  const std::string container = Start(RunPod(), config);
  Write("a", "text\n");
  const RunResult refused = Cp({Here("a"), container + ":/root"});
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(":/root/a: make a file: Read-only file system\n"),
                                 HasSubstr("a volume that isn't read-only can take it")));
  // A mount point can't be replaced by rename.
  const RunResult busy = Cp({Here("a"), container + ":/data/mounted"});
  EXPECT_EQ(busy.exit.code, 1);
  EXPECT_THAT(busy.err, HasSubstr(":/data/mounted: the existing file is a mount point"));
  EXPECT_EQ(Read("mounted"), "old");
  CpWell({Here("a"), container + ":/data"});
  EXPECT_EQ(Read("volume/a"), "text\n");
  CpWell({container + ":/etc/passwd", Here("passwd")});
}

TEST_F(CpTest, AFullTargetKeepsWhatItHad) {
  ASSERT_TRUE(dir_.root().MakeDirs("small", 0755).ok());
  ASSERT_EQ(mount("tmpfs", Here("small").c_str(), "tmpfs", 0, "size=1m"), 0);
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  ExecOutput(container, "busybox dd if=/dev/zero of=/tmp/big bs=1M count=4 2>/dev/null; :");
  Write("small/big", "old");
  const RunResult result = Cp({container + ":/tmp/big", Here("small")});
  EXPECT_EQ(result.exit.code, 1);
  EXPECT_THAT(result.err, HasSubstr("small/big: write: No space left on device"));
  EXPECT_EQ(Read("small/big"), "old");
  EXPECT_THAT(*dir_.root().List("small"), ElementsAre("big"));
  EXPECT_EQ(umount2(Here("small").c_str(), MNT_DETACH), 0);
}

TEST_F(CpTest, HolesStayHoles) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  ExecOutput(container, "busybox truncate -s 1000000000 /tmp/sparse; echo end >> /tmp/sparse");
  CpWell({container + ":/tmp/sparse", Here("sparse")});
  EXPECT_EQ(Stat("sparse").st_size, 1'000'000'004);
  EXPECT_LT(Stat("sparse").st_blocks, 4096);
}

TEST_F(CpTest, CtrlCLeavesNothingHalfWritten) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  // A pipe that never ends keeps the copy running.
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  Write("big", std::string(2'000'000, 'x'));
  const auto tar = RunProgram({.argv = {"/bin/tar", "cf", "-", "-C", dir_.path(), "big"}},
                              {.max_output_bytes = 4 << 20});
  ASSERT_TRUE(tar.ok()) << tar.status();
  Command command = CpCommand({"-", container + ":/tmp"});
  command.descriptors = {{reader.get(), 0}, {2, 2}};
  auto child = Spawn(command);
  ASSERT_TRUE(child.ok()) << child.status();
  ASSERT_EQ(write(writer.get(), tar->out.data(), 1'000'000), 1'000'000);
  EXPECT_TRUE(Eventually(
      [&] { return absl::StrContains(ExecOutput(container, "ls -A /tmp"), ".plimsoll-cp-"); }));
  ASSERT_TRUE(child->Signal(SIGINT).ok());
  const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(30)));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 130);
  EXPECT_EQ(ExecOutput(container, "ls -A /tmp"), "");
}

TEST_F(CpTest, CtrlCLeavesNothingHalfWrittenHere) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  // The hole keeps the copy running for some ten seconds: cp knows no holes.
  ExecOutput(container,
             "mkdir /d; dd if=/dev/zero of=/d/big bs=1M count=20 2>/dev/null; "
             "busybox truncate -s 20000000000 /d/big");
  ASSERT_TRUE(dir_.root().MakeDirs("into", 0755).ok());
  auto child = Spawn(CpCommand({container + ":/d/big", Here("into/big")}));
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_TRUE(Eventually([&] { return !dir_.root().List("into")->empty(); }));
  ASSERT_TRUE(child->Signal(SIGINT).ok());
  const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(30)));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 130);
  EXPECT_THAT(*dir_.root().List("into"), IsEmpty());
}

TEST_F(CpTest, WhatIsMissingOrStoppedIsNamed) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  const RunResult path = Cp({container + ":/none", Here("x")});
  EXPECT_EQ(path.exit.code, 1);
  EXPECT_THAT(path.err, HasSubstr(":/none: No such file or directory\n"));
  const RunResult here = Cp({Here("none"), container + ":/tmp"});
  EXPECT_EQ(here.exit.code, 1);
  EXPECT_THAT(here.err, HasSubstr(Here("none") + ": No such file or directory\n"));
  const RunResult parent = Cp({container + ":/etc/passwd", Here("no/where")});
  EXPECT_THAT(parent.err, HasSubstr("/no/: No such file or directory\n"));
  const RunResult name = Cp({"nobody:/etc/passwd", Here("x")});
  EXPECT_EQ(name.exit.code, 1);
  EXPECT_THAT(name.err, HasSubstr("nobody"));
  EXPECT_EQ(Cp({Here("a"), Here("b")}).exit.code, 2);
  ASSERT_TRUE(StopContainer(container, 0).ok());
  const RunResult stopped = Cp({container + ":/etc/passwd", Here("x")});
  EXPECT_EQ(stopped.exit.code, 1);
  EXPECT_THAT(stopped.err, AllOf(HasSubstr("is not running"), HasSubstr("plimsoll logs")));
  EXPECT_FALSE(dir_.root().Exists("x"));
}

// CVE-2019-14271: the copying process loaded a library of the container's.
TEST_F(CpTest, NothingOfTheContainerIsRun) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  ExecOutput(container,
             "for d in /lib /lib64 /usr/lib /usr/lib/x86_64-linux-gnu /bin /usr/bin; do "
             "mkdir -p $d; for f in libnss_files.so.2 libc.so.6 tar gzip; do "
             "printf '#!/bin/sh\\ntouch /ran\\n' > $d/$f; chmod 755 $d/$f; done; done");
  Write("a", "text\n");
  CpWell({Here("a"), container + ":/root"});
  CpWell({container + ":/root/a", Here("b")});
  EXPECT_EQ(ExecOutput(container, "test -e /ran || echo no"), "no\n");
}

}  // namespace
}  // namespace plimsoll::testing
