#include "agent/pods/resizing/resize_restarts.h"

#include <gmock/gmock.h>

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ObservedContainer EndedRun(const std::string& id, const std::string& name, int exit_code = 0) {
  ObservedContainer run;
  run.id = id;
  run.name = name;
  run.state = ObservedState::kExited;
  run.exit_code = exit_code;
  return run;
}

PodRecord Restarting(const std::map<std::string, std::string>& runs) {
  PodRecord record;
  record.restarting = runs;
  return record;
}

TEST(ResizeRestartsTest, TheRunOnRecordEndsForTheResizeAndNoOtherOne) {
  const PodRecord record = Restarting({{"web", "c2"}});
  EXPECT_TRUE(EndsForResize(record, EndedRun("c2", "web")));
  EXPECT_FALSE(EndsForResize(record, EndedRun("c1", "web"))) << "an earlier run";
  EXPECT_FALSE(EndsForResize(record, EndedRun("c2", "log")));
}

TEST(ResizeRestartsTest, ItCountsAsFailedWhateverItsExitCode) {
  ObservedPod pod;
  pod.containers = {EndedRun("c3", "web", 0), EndedRun("c4", "log", 0), EndedRun("c5", "db", 137)};
  const ObservedPod counted = WithRestarts(Restarting({{"web", "c3"}, {"db", "c5"}}), pod);
  EXPECT_EQ(counted.containers[0].exit_code, 1);
  EXPECT_EQ(counted.containers[1].exit_code, 0);
  EXPECT_EQ(counted.containers[2].exit_code, 137);
}

TEST(ResizeRestartsTest, ARestartIsDoneOnceTheRunHasASuccessorOrHasGone) {
  const PodRecord record = Restarting({{"web", "c1"}, {"log", "c2"}, {"db", "c3"}});
  ObservedPod pod;
  pod.containers = {EndedRun("c9", "web"), EndedRun("c1", "web"), EndedRun("c2", "log")};
  EXPECT_THAT(RestartsDone(record, pod), ElementsAre("db", "web"));
  EXPECT_THAT(RestartsDone(Restarting({}), pod), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::agent
