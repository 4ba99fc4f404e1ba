#include "pod_runner/pod_files/log_rotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/dir_for_test.h"
#include "pod_runner/pod_files/cri_log.h"

namespace plimsoll::pod {
namespace {

using ::testing::ElementsAre;

class LogRotationTest : public ::testing::Test {
 protected:
  void Put(const std::string& name, const std::string& text) {
    ASSERT_TRUE(dir_.root().ReplaceFile("/" + name, text).ok());
  }
  std::string Get(const std::string& name) { return dir_.root().Read("/" + name).value_or("-"); }
  std::vector<std::string> Names() { return *dir_.root().List("/"); }
  // The runtime's part.
  absl::Status Reopen() {
    ++reopened_;
    if (!failure_.ok()) return failure_;
    return dir_.root().ReplaceFile("/c.log", "");
  }
  absl::StatusOr<bool> Rotate(int64_t max_files = 3) {
    return RotateLog(dir_.root(), "/c.log", {.max_bytes = 4, .max_files = max_files},
                     [this] { return Reopen(); });
  }
  void RotateOnce(const std::string& text) {
    Put("c.log", text);
    const auto rotated = Rotate();
    ASSERT_TRUE(rotated.ok()) << rotated.status();
    EXPECT_TRUE(*rotated);
  }

  TestDir dir_;
  absl::Status failure_;
  int reopened_ = 0;
};

TEST_F(LogRotationTest, ALogThatFitsStays) {
  Put("c.log", "four");
  EXPECT_EQ(Rotate().value_or(true), false);
  EXPECT_EQ(reopened_, 0);
}

TEST_F(LogRotationTest, TheNewestAreKept) {
  Put("c.log.other", "not a rotated log");
  Put("d.log.1", "of another container");
  for (const char* text : {"first", "second", "third", "fourth"}) RotateOnce(text);
  EXPECT_EQ(Get("c.log"), "");
  EXPECT_EQ(Get("c.log.1"), "fourth");
  EXPECT_EQ(Get("c.log.2"), "third");
  EXPECT_THAT(Names(), ElementsAre("c.log", "c.log.1", "c.log.2", "c.log.other", "d.log.1"));
}

TEST_F(LogRotationTest, FewerFilesThanBeforeAreKept) {
  for (const char* number : {"1", "2", "3", "9"}) Put(std::string("c.log.") + number, number);
  Put("c.log", "longer");
  ASSERT_TRUE(Rotate(/*max_files=*/2).ok());
  EXPECT_THAT(Names(), ElementsAre("c.log", "c.log.1"));
  EXPECT_EQ(Get("c.log.1"), "longer");
}

TEST_F(LogRotationTest, AFailureGivesTheNameBackAndLosesNothing) {
  RotateOnce("first");
  RotateOnce("second");
  Put("c.log", "third");
  failure_ = absl::UnavailableError("runtime is away");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Rotate().status(), failure_);
  EXPECT_EQ(Get("c.log"), "third");
  EXPECT_EQ(Get("c.log.2"), "second");
  failure_ = absl::OkStatus();
  RotateOnce("third");
  EXPECT_EQ(Get("c.log.1"), "third");
  EXPECT_EQ(Get("c.log.2"), "second");
}

TEST_F(LogRotationTest, ARotationThatWasCutOffIsFinished) {
  Put("c.log.1", "written on by the runtime");
  EXPECT_EQ(Rotate().value_or(true), false);
  EXPECT_EQ(reopened_, 1);
  EXPECT_EQ(Get("c.log"), "");
  EXPECT_EQ(Get("c.log.1"), "written on by the runtime");
}

TEST_F(LogRotationTest, AReaderGoesOnAcrossRotations) {
  const std::string head = "2025-01-01T00:00:00.000000001Z stdout F ";
  std::vector<std::string> lines;
  const auto take = [&](const LogLine& line) { lines.push_back(line.text); };
  Put("c.log", head + "one\n");
  LogReader reader(dir_.root(), "/c.log");
  ASSERT_TRUE(reader.Poll(take).ok());
  for (const char* text : {"two", "three"}) {
    ASSERT_TRUE(Rotate().value_or(false));
    ASSERT_TRUE(dir_.root().Write("/c.log", head + text + "\n").ok());
    ASSERT_TRUE(reader.ReadAll(take).ok());
  }
  EXPECT_THAT(lines, ElementsAre("one", "two", "three"));
}

TEST_F(LogRotationTest, AllOfALogIsRemoved) {
  for (const char* name : {"c.log", "c.log.1", "c.log.7", "c.logs", "d.log"}) Put(name, "x");
  ASSERT_TRUE(RemoveLogs(dir_.root(), "/c.log").ok());
  EXPECT_THAT(Names(), ElementsAre("c.logs", "d.log"));
  EXPECT_TRUE(RemoveLogs(dir_.root(), "/c.log").ok());
  EXPECT_TRUE(RemoveLogs(dir_.root(), "/nowhere/c.log").ok());
  EXPECT_EQ(RemoveLogs(dir_.root(), "c.log").code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace plimsoll::pod
