#include "pod_runner/lifecycle.h"

#include <gtest/gtest.h>

namespace plimsoll::pod {
namespace {

TEST(Lifecycle, APodRunsWhileAContainerRunsInAReadySandbox) {
  Inventory inventory;
  cri::PodSandbox& pod = inventory.pods.emplace_back();
  pod.set_id("p");
  pod.set_state(cri::SANDBOX_READY);
  cri::Container& other = inventory.containers.emplace_back();
  other.set_pod_sandbox_id("another");
  other.set_state(cri::CONTAINER_RUNNING);
  EXPECT_FALSE(IsRunning(inventory, pod));
  inventory.containers.emplace_back().set_pod_sandbox_id("p");
  inventory.containers.back().set_state(cri::CONTAINER_EXITED);
  EXPECT_FALSE(IsRunning(inventory, pod));
  inventory.containers.back().set_state(cri::CONTAINER_RUNNING);
  EXPECT_TRUE(IsRunning(inventory, pod));
  EXPECT_EQ(ContainersOf(inventory, pod).size(), 1u);
  pod.set_state(cri::SANDBOX_NOTREADY);
  EXPECT_FALSE(IsRunning(inventory, pod));
}

}  // namespace
}  // namespace plimsoll::pod
