#include "agent/runtime_operations.h"

#include <gtest/gtest.h>

namespace plimsoll::agent {
namespace {

TEST(RuntimeOperationsTest, TypesAreKubelets) {
  EXPECT_EQ(OperationType("RunPodSandboxRequest"), "run_podsandbox");
  EXPECT_EQ(OperationType("CreateContainerRequest"), "create_container");
  EXPECT_EQ(OperationType("ListContainersRequest"), "list_containers");
  EXPECT_EQ(OperationType("ExecSyncRequest"), "exec_sync");
  EXPECT_EQ(OperationType("UpdateContainerResourcesRequest"), "update_container");
  EXPECT_EQ(OperationType("VersionRequest"), "version");
}

TEST(RuntimeOperationsTest, ErrorsAreCountedBesideAllCalls) {
  Counters counters;
  CountOperation(counters, "StatusRequest", absl::OkStatus(), absl::Milliseconds(10));
  CountOperation(counters, "StatusRequest", absl::UnavailableError("away"), absl::Seconds(1000));
  const auto counts = counters.Counts();
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_STREQ(counts[0].kind.name, "kubelet_runtime_operations_errors_total");
  EXPECT_EQ(counts[0].values.at({"status", ""}), 1u);
  EXPECT_EQ(counts[1].values.at({"status", ""}), 2u);
  const Counters::Histogram histogram = counters.AllTimes().at(0).values.at({"status", ""});
  EXPECT_EQ(histogram.counts.at(1), 1u);
  EXPECT_EQ(histogram.counts.back(), 1u);
}

}  // namespace
}  // namespace plimsoll::agent
