// Tests of plimsoll-pause, run as the real program.
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/programs/own_program.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/mounts.h"
#include "linux/process.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PauseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "namespaces need root";
    program_ = *FindOwnProgram("plimsoll-pause");
    ASSERT_TRUE(dir_.root().MakeDirs("root").ok());
  }
  void TearDown() override {
    if (init_.pid == 0) return;
    if (auto pidfd = linux::OpenProcess(host_, init_); pidfd.ok()) {
      linux::SignalProcess(*pidfd, SIGKILL).IgnoreError();
    }
    EXPECT_TRUE(AwaitEnd());
  }

  // Starts an init that waits to be released by go_.
  void Make() {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd theirs(ends[0]);
    go_.Reset(ends[1]);
    const auto out = RunChecked(
        {.argv = {program_, "make", dir_.path() + "/root"}, .descriptors = {{theirs.get(), 3}}});
    ASSERT_TRUE(out.ok()) << out.status();
    int pid = 0;
    ASSERT_TRUE(absl::SimpleAtoi(*out, &pid)) << *out;
    init_ = *linux::IdentifyProcess(host_, pid);
  }
  void Release() { ASSERT_EQ(write(go_.get(), "x", 1), 1); }
  bool AwaitEnd() const {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (*linux::IsRunning(host_, init_)) {
      if (absl::Now() > deadline) return false;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return true;
  }
  // Waits until the init has noticed its release: it has no descriptor left.
  void AwaitReady() {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    const auto ready = [&] {
      const auto open = host_.List(absl::StrCat("proc/", init_.pid, "/fd"));
      return open.ok() && open->empty();
    };
    while (!ready() && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(5));
    ASSERT_TRUE(ready());
  }
  absl::StatusOr<std::string> ProcFile(absl::string_view name) const {
    return host_.Read(absl::StrCat("proc/", init_.pid, "/", name));
  }
  // The output of a shell in its PID namespace.
  std::string Inside(const std::string& script) const {
    const auto out = RunChecked(
        {.argv = {*FindProgram("nsenter"), absl::StrCat("--pid=/proc/", init_.pid, "/ns/pid"), "--",
                  "sh", "-c", script}});
    EXPECT_TRUE(out.ok()) << out.status();
    return out.value_or("");
  }

  const FsRoot host_ = *FsRoot::Open("/");
  TestDir dir_;
  std::string program_;
  UniqueFd go_;
  linux::ProcessId init_;
};

TEST_F(PauseTest, IsPid1AndStaysWhenReleased) {
  Make();
  Release();
  go_.Reset();
  AwaitReady();
  EXPECT_EQ(Inside("kill -0 1 && echo $$"), "2\n");
  EXPECT_THAT(*ProcFile("status"), HasSubstr(absl::StrCat("NSpid:\t", init_.pid, "\t1\n")));
  EXPECT_TRUE(*linux::IsRunning(host_, init_));
}

TEST_F(PauseTest, EndsWithWhoAskedForIt) {
  Make();
  go_.Reset();
  EXPECT_TRUE(AwaitEnd());
}

TEST_F(PauseTest, HoldsNothingOfTheHost) {
  Make();
  Release();
  AwaitReady();
  const std::string status = *ProcFile("status");
  EXPECT_THAT(status, HasSubstr("Uid:\t65535\t65535\t65535\t65535"));
  EXPECT_THAT(status, HasSubstr("Gid:\t65535\t65535\t65535\t65535"));
  EXPECT_THAT(status, HasSubstr("Groups:\t \n"));
  EXPECT_THAT(status, HasSubstr("CapPrm:\t0000000000000000"));
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
  const auto mounts = linux::ParseMountInfo(*ProcFile("mountinfo"));
  ASSERT_TRUE(mounts.ok());
  EXPECT_EQ(mounts->size(), 2u);
  for (const linux::MountInfo& mount : *mounts) {
    EXPECT_THAT(mount.options, ::testing::Contains("ro")) << mount.mount_point;
  }
  // The kernel follows /proc/<pid>/root into that namespace; FsRoot would not.
  EXPECT_NE(access(absl::StrCat("/proc/", init_.pid, "/root/etc/passwd").c_str(), F_OK), 0);
  EXPECT_THAT(*linux::ReadMounts(host_),
              Not(::testing::Contains(
                  ::testing::Field(&linux::MountInfo::mount_point, dir_.path() + "/root"))));
}

TEST_F(PauseTest, ReapsOrphans) {
  Make();
  Release();
  AwaitReady();
  // The shell in the middle ends first; then the sleep is init's child.
  Inside("sh -c 'sleep 0.05 & sleep 0.06 &'");
  const std::string children = absl::StrCat("task/", init_.pid, "/children");
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (ProcFile(children).value_or("?") != "" && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_EQ(*ProcFile(children), "") << "a zombie or orphan is left";
}

TEST_F(PauseTest, EndsOnSigtermFromOutsideOnly) {
  Make();
  Release();
  AwaitReady();
  Inside("kill -TERM 1; kill -INT 1; kill -KILL 1; kill -SEGV 1");
  EXPECT_TRUE(*linux::IsRunning(host_, init_)) << "a container could end the whole pod";
  const auto pidfd = linux::OpenProcess(host_, init_);
  ASSERT_TRUE(pidfd.ok());
  // The kernel drops a signal while another of the same kind is pending, so it is repeated here;
  // the runtime sends SIGKILL.
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (!linux::HasExited(*pidfd) && absl::Now() < deadline) {
    linux::SignalProcess(*pidfd, SIGTERM).IgnoreError();
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_TRUE(linux::HasExited(*pidfd));
}

TEST_F(PauseTest, FailuresAreNamed) {
  const auto no_root = RunChecked({.argv = {program_, "make", dir_.path() + "/missing"}});
  EXPECT_THAT(no_root.status().message(), HasSubstr("/missing: No such file or directory"));
  const auto no_namespace =
      RunChecked({.argv = {program_, "make", dir_.path() + "/root", dir_.path() + "/net"}});
  EXPECT_THAT(no_namespace.status().message(), HasSubstr("open namespace " + dir_.path() + "/net"));
  EXPECT_THAT(RunChecked({.argv = {program_, "hold"}}).status().message(), HasSubstr("usage:"));
}

}  // namespace
}  // namespace plimsoll
