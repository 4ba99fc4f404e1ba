// For tests of the races that a container can run against its own pod's next start: a volume in
// which `d`, a directory, and `e`, a link to a directory of the host, change places all the time.
#ifndef PLIMSOLL_TESTS_HARNESS_SUB_PATH_TRAP_H_
#define PLIMSOLL_TESTS_HARNESS_SUB_PATH_TRAP_H_

#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/swap_loop_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/kernel.h"

namespace plimsoll::testing {

// The volume is a hostPath, so that the test's own process swaps: that is faster than a container.
class SubPathTrap {
 public:
  // `visits`: the containers of the pod that walk into the trap, one after the other. A mount that
  // goes by a checked path arrives at the host's directory at least once in four.
  explicit SubPathTrap(const std::string& directory, size_t visits = 24)
      : visits_(visits), outside_(directory + "/outside"), volume_(directory + "/volume") {
    EXPECT_TRUE(Host().MakeDirs(outside_, 0777).ok());
    EXPECT_TRUE(Host().MakeDirs(volume_ + "/d", 0777).ok());
    // The link leads somewhere in the volume too, so that a start meets no error.
    EXPECT_TRUE(Host().MakeDirs(volume_ + outside_, 0777).ok());
    EXPECT_EQ(symlink(outside_.c_str(), (volume_ + "/e").c_str()), 0);
    swaps_.emplace(volume_, "d", "e");
  }

  // A pod that succeeds once each of its containers has left a file in `subPath: d`. `spec`:
  // further fields, each with a comma behind it.
  std::string Manifest(const std::string& spec = "") const {
    std::string visits;
    for (size_t i = 1; i < visits_; ++i)
      absl::StrAppend(&visits, Visitor(absl::StrCat("i", i)), ", ");
    return absl::StrCat(
        "{apiVersion: v1, kind: Pod, metadata: {name: visits}, spec: {restartPolicy: Never, ", spec,
        "volumes: [{name: v, hostPath: {path: ", volume_, "}}], initContainers: [", visits,
        "], containers: [", Visitor("main"), "]}}\n");
  }

  // After the pod has succeeded: every file is in the volume, and none outside.
  void ExpectAllInside() {
    swaps_.reset();
    EXPECT_THAT(*Host().List(outside_), ::testing::IsEmpty());
    const bool is_link = Host().ReadLink(volume_ + "/d").ok();
    const size_t there = Host().List(volume_ + (is_link ? "/e" : "/d"))->size();
    EXPECT_EQ(there + Host().List(volume_ + outside_)->size(), visits_);
  }

 private:
  static std::string Visitor(const std::string& name) {
    return absl::StrCat("{name: ", name,
                        ", image: busybox, imagePullPolicy: Never, command: [touch, /m/", name,
                        "], volumeMounts: [{name: v, mountPath: /m, subPath: d}]}");
  }

  const size_t visits_;
  const std::string outside_;
  const std::string volume_;
  std::optional<SwapLoopForTest> swaps_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_SUB_PATH_TRAP_H_
