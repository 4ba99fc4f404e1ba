// Reports that are believed of a process seen by the container, and messages to the daemon.
#include "container_entry/report.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "container_entry/protocol.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::entry {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string Told(const Failure& failure) {
  char cwd[] = "cwd=/work";
  char program[] = "prog";
  std::array<char*, 2> arguments = {program, nullptr};
  Plan plan;
  plan.text = monitor::LaunchPlan(cwd, sizeof(cwd));
  plan.arguments = arguments.data();
  plan.log = memfd_create("log", MFD_CLOEXEC);
  Tell(plan, failure);
  std::string text(4096, '\0');
  const ssize_t n = pread(plan.log, text.data(), text.size(), 0);
  close(plan.log);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return text;
}

TEST(ReportTest, OnlyAWholeKnownFailureIsBelieved) {
  const Failure sent = {Step::kFork, EAGAIN};
  char bytes[2 * sizeof(Failure)] = {};
  memcpy(bytes, &sent, sizeof(sent));
  for (size_t size = 0; size <= sizeof(bytes); ++size) {
    Failure failure;
    EXPECT_EQ(Decode(bytes, size, &failure), size == sizeof(Failure)) << size;
    EXPECT_EQ(failure.step, size == sizeof(Failure) ? Step::kFork : Step::kNone) << size;
  }
  for (const int32_t step :
       {INT32_MIN, -1, 0, static_cast<int32_t>(Step::kCount), 1 << 20, INT32_MAX}) {
    memcpy(bytes, &step, sizeof(step));
    Failure failure;
    EXPECT_FALSE(Decode(bytes, sizeof(Failure), &failure)) << step;
    EXPECT_EQ(failure.step, Step::kNone) << step;
  }
}

// Any number may stand for the error.
TEST(ReportTest, EachStepIsTold) {
  for (int32_t step = 1; step < static_cast<int32_t>(Step::kCount); ++step) {
    for (const int32_t error : {INT32_MIN, -1, 0, EPERM, ENOENT, 4096, INT32_MAX}) {
      EXPECT_THAT(Told({static_cast<Step>(step), error}), Not(IsEmpty())) << step << " " << error;
    }
  }
}

// The OCI runtime may retry a command that was not begun, but never one that the container has
// seen.
TEST(ReportTest, WhatWasBegunIsNotLeftToTheOciRuntime) {
  for (int32_t step = 1; step < static_cast<int32_t>(Step::kCount); ++step) {
    for (const int error : {EPERM, EAGAIN}) {
      const std::string told = Told({static_cast<Step>(step), error});
      const bool leaves = told.starts_with(kUnsupported) || told.starts_with(kNotNow);
      const bool is_final = static_cast<Step>(step) > Step::kFork ||
                            static_cast<Step>(step) == Step::kDirectory ||
                            static_cast<Step>(step) == Step::kBeyondRoot;
      EXPECT_EQ(leaves, !is_final) << told;
    }
  }
  EXPECT_THAT(Told({Step::kGroup, EAGAIN}), StartsWith(kNotNow));
  EXPECT_THAT(Told({Step::kGroup, EPERM}), StartsWith(kUnsupported));
  EXPECT_EQ(Told({Step::kNamespaces, ESRCH}), "the container is not running");
  EXPECT_THAT(Told({Step::kNotFound, ENOENT}),
              HasSubstr("executable file `prog` not found in $PATH"));
  EXPECT_THAT(Told({Step::kDirectory, EACCES}), StartsWith("chdir `/work`: "));
}

}  // namespace
}  // namespace plimsoll::entry
