#include "runtime/oci/process_settings.h"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;

// Runs `work` in a thread without effective capabilities.
void WithoutCapabilities(const std::function<void()>& work) {
  std::thread([&] {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[2] = {};
    ASSERT_EQ(syscall(SYS_capset, &header, sets), 0);
    work();
  }).join();
}

class ProcessSettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    child_ = fork();
    if (child_ == 0) {
      pause();
      _exit(0);
    }
    id_ = *linux::IdentifyProcess(host_, child_);
  }
  void TearDown() override { End(); }
  void End() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }

  FsRoot host_ = *FsRoot::Open("/");
  pid_t child_ = 0;
  linux::ProcessId id_;
  OciExtras extras_;
};

TEST_F(ProcessSettingsTest, NothingAskedForIsNothingDone) {
  End();
  EXPECT_TRUE(ApplyProcessSettings(host_, extras_, id_).ok());
}

TEST_F(ProcessSettingsTest, WhatIsNotPermittedIsNamedWithAWayOut) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has capabilities to give up";
  WithoutCapabilities([&] {
    extras_.io_priority = {"IOPRIO_CLASS_RT", 0};
    absl::Status refused = ApplyProcessSettings(host_, extras_, id_);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("linux.io_priority: "));
    EXPECT_THAT(std::string(refused.message()), HasSubstr("CAP_SYS_NICE"));
    extras_.io_priority.reset();
    extras_.scheduler = Scheduler{.policy = "SCHED_FIFO", .priority = 1};
    refused = ApplyProcessSettings(host_, extras_, id_);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("linux.scheduler: "));
    EXPECT_THAT(std::string(refused.message()), HasSubstr("CAP_SYS_NICE"));
  });
}

TEST_F(ProcessSettingsTest, AnInitThatHasEndedIsNoSuccess) {
  extras_.scheduler = Scheduler{.policy = "SCHED_BATCH"};
  End();
  EXPECT_FALSE(ApplyProcessSettings(host_, extras_, id_).ok());
  // Another process has its pid by now.
  const linux::ProcessId other = {getpid(), id_.start_time_ticks};
  extras_.scheduler->policy = "SCHED_OTHER";
  EXPECT_TRUE(absl::IsFailedPrecondition(ApplyProcessSettings(host_, extras_, other)));
}

}  // namespace
}  // namespace plimsoll::runtime
