#include "agent/pod_resources/answer_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/managers/managers_for_test.h"

namespace plimsoll::agent {
namespace {

using Role = resources::ContainerRequirements::Role;
using ::testing::HasSubstr;

constexpr char kGpu[] = "example.com/gpu";

NodeMask Nodes(uint64_t bits) {
  return NodeMask::FromBits(bits);
}

MemoryBlock BlockOf(const std::string& resource, uint64_t nodes, int64_t bytes) {
  return {.resource = resource, .nodes = Nodes(nodes), .bytes = bytes, .shares = {}};
}

ContainerGrant GrantOfCpus(const std::string& cpus) {
  ContainerGrant grant;
  grant.cpus = CpusOfText(cpus);
  return grant;
}

template <typename Message>
std::string NodesOfTopology(const Message& message) {
  if (!message.has_topology()) return "";
  return absl::StrCat(
      "@", absl::StrJoin(message.topology().nodes(), "+", [](std::string* out, const auto& node) {
        absl::StrAppend(out, node.id());
      }));
}

template <typename Entries>
std::string DevicesIn(const Entries& entries) {
  return absl::StrJoin(entries, " ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.resource_name(), "=", absl::StrJoin(entry.device_ids(), ","),
                    NodesOfTopology(entry));
  });
}

template <typename Entries>
std::string MemoryOfMessage(const Entries& entries) {
  return absl::StrJoin(entries, " ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.memory_type(), "=", entry.size(), NodesOfTopology(entry));
  });
}

// "main: cpus 2,3 memory memory=1@0 devices example.com/gpu=a", a line each.
std::string TextOf(const ::v1::PodResources& pod) {
  return absl::StrJoin(pod.containers(), "\n", [](std::string* out, const auto& each) {
    absl::StrAppend(out, each.name(), ":");
    if (each.cpu_ids_size() > 0) {
      absl::StrAppend(out, " cpus ", absl::StrJoin(each.cpu_ids(), ","));
    }
    if (each.memory_size() > 0) absl::StrAppend(out, " memory ", MemoryOfMessage(each.memory()));
    if (each.devices_size() > 0) absl::StrAppend(out, " devices ", DevicesIn(each.devices()));
  });
}

class AnswerWriterTest : public ::testing::Test {
 protected:
  AnswerWriterTest() {
    stock_[kGpu].devices = {{.id = "a", .healthy = true, .nodes = Nodes(0b10)},
                            {.id = "b", .healthy = true, .nodes = Nodes(0b11)},
                            {.id = "c", .healthy = true, .nodes = std::nullopt},
                            {.id = "ill", .healthy = false, .nodes = Nodes(0b1)}};
    pod_.pod_namespace = "shop";
    pod_.name = "web";
    pod_.containers = {{.container = "main"}};
  }
  std::string Written() {
    ::v1::PodResources message;
    const absl::Status status = AnswerWriter(stock_).AddPod(pod_, &message);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(message.name(), "web");
    EXPECT_EQ(message.namespace_(), "shop");
    return TextOf(message);
  }
  ::v1::AllocatableResourcesResponse Allocatable(const ManagerOptions& options) {
    ::v1::AllocatableResourcesResponse message;
    MachineForTest machine;
    machine.cores = 1;
    machine.pages = 4;
    const auto managers = ManagersOf(options, MapsOf(machine));
    const absl::Status status = AnswerWriter(stock_).AddAllocatable(*managers, &message);
    EXPECT_TRUE(status.ok()) << status;
    return message;
  }

  DeviceStock stock_;
  ReportedPod pod_;
};

TEST_F(AnswerWriterTest, APodThatWasGivenNothingHasContainersAlone) {
  pod_.containers = {{.container = "one"}, {.container = "two"}};
  EXPECT_EQ(Written(), "one:\ntwo:");
}

TEST_F(AnswerWriterTest, ExclusiveCpusAndMemoryAreTheContainers) {
  pod_.containers = {{.container = "main"}, {.container = "shares"}};
  ContainerGrant& grant = pod_.grant.containers["main"] = GrantOfCpus("2-3,7");
  grant.memory = {BlockOf("hugepages-2Mi", 0b10, 4 << 20), BlockOf("memory", 0b11, kGi)};
  EXPECT_EQ(Written(),
            "main: cpus 2,3,7 memory hugepages-2Mi=4194304@1 memory=1073741824@0+1\nshares:");
}

TEST_F(AnswerWriterTest, ADeviceIsAnEntryForEachNodeNearIt) {
  pod_.grant.devices["main"][kGpu] = {"a", "b", "c"};
  EXPECT_EQ(Written(),
            "main: devices example.com/gpu=a@1 example.com/gpu=b@0 example.com/gpu=b@1 "
            "example.com/gpu=c");
}

TEST_F(AnswerWriterTest, ADeviceThatHasGoneIsToldWithoutNodes) {
  pod_.grant.devices["main"] = {{kGpu, {"gone"}}, {"example.com/fpga", {"x"}}};
  EXPECT_EQ(Written(), "main: devices example.com/fpga=x example.com/gpu=gone");
}

TEST_F(AnswerWriterTest, OrdinaryInitContainersAreLeftOutAndSidecarsAreNot) {
  pod_.containers = {{"prepare", Role::kInit}, {"sidecar", Role::kSidecar}, {.container = "main"}};
  pod_.grant.containers["prepare"] = GrantOfCpus("4");
  pod_.grant.containers["sidecar"] = GrantOfCpus("5");
  pod_.grant.devices["prepare"][kGpu] = {"c"};
  EXPECT_EQ(Written(), "sidecar: cpus 5\nmain:");
}

// Kubelet's managers do the same (cm/cpumanager, cm/memorymanager: the pod's shared pool).
TEST_F(AnswerWriterTest, ContainersOfAPodWithItsOwnShareWhatSiblingsLeave) {
  pod_.containers = {{"prepare", Role::kInit},
                     {.container = "own"},
                     {.container = "shares"},
                     {.container = "too"}};
  pod_.grant.pod = GrantOfCpus("2-5");
  pod_.grant.pod.memory = {BlockOf("memory", 0b1, 8 * kGi)};
  pod_.grant.containers["prepare"] = GrantOfCpus("4-5");
  ContainerGrant& own = pod_.grant.containers["own"] = GrantOfCpus("2-3");
  own.memory = {BlockOf("memory", 0b1, 3 * kGi)};
  EXPECT_EQ(Written(), absl::StrCat("own: cpus 2,3 memory memory=", 3 * kGi,
                                    "@0\nshares: cpus 4,5 memory memory=", 5 * kGi,
                                    "@0\ntoo: cpus 4,5 memory memory=", 5 * kGi, "@0"));
  own.cpus = CpusOfText("2-5");
  own.memory = pod_.grant.pod.memory;
  EXPECT_THAT(Written(), HasSubstr("\nshares: cpus 2,3,4,5\ntoo: cpus 2,3,4,5"))
      << "nothing is left: they run on all of the pod's";
}

TEST_F(AnswerWriterTest, AllocatableIsAllThatPodsMayHaveForThemselves) {
  stock_["example.com/away"].devices = {{.id = "x", .healthy = true, .nodes = std::nullopt}};
  stock_["example.com/away"].is_served = false;
  const auto message = Allocatable(StaticOptions());
  EXPECT_EQ(DevicesIn(message.devices()),
            "example.com/gpu=a@1 example.com/gpu=b@0 example.com/gpu=b@1 example.com/gpu=c")
      << "neither unhealthy ones nor those without their plugin";
  EXPECT_EQ(absl::StrJoin(message.cpu_ids(), ","), "1,2,3") << "0 is reserved";
  const int64_t pages = 4 * (2 << 20);
  EXPECT_EQ(MemoryOfMessage(message.memory()),
            absl::StrCat("hugepages-2Mi=", pages, "@0 memory=", 15 * kGi - pages,
                         "@0 hugepages-2Mi=", pages, "@1 memory=", 16 * kGi - pages, "@1"));
}

TEST_F(AnswerWriterTest, PoliciesNoneHaveNoCpusAndNoMemory) {
  const auto message = Allocatable({});
  EXPECT_EQ(message.cpu_ids_size(), 0);
  EXPECT_EQ(message.memory_size(), 0);
  EXPECT_EQ(message.devices_size(), 4);
}

TEST_F(AnswerWriterTest, AnAnswerThatIsTooLongIsRefusedAndNotSent) {
  pod_.grant.devices["main"][kGpu] = {"a", "b", "c"};
  pod_.grant.containers["main"] = GrantOfCpus("0-63");
  pod_.grant.containers["main"].memory = {BlockOf("memory", 0b11, 1)};
  ::v1::PodResources whole;
  ASSERT_TRUE(AnswerWriter(stock_).AddPod(pod_, &whole).ok());
  size_t least = 0;
  // At every bound the message is refused or within it.
  for (size_t most = 0; most < 2000; ++most) {
    ::v1::PodResources message;
    const absl::Status status = AnswerWriter(stock_, most).AddPod(pod_, &message);
    if (!status.ok()) {
      ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
      EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("longer than ", most, " bytes")));
      least = most + 1;
    }
  }
  EXPECT_GE(least, whole.ByteSizeLong());
  EXPECT_LT(least, 2000u);
}

// Each of the same answer takes of the same bound.
TEST_F(AnswerWriterTest, TheBoundIsTheWholeAnswers) {
  AnswerWriter writer(stock_, 1000);
  ::v1::ListPodResourcesResponse all;
  absl::Status status;
  while (status.ok() && all.pod_resources_size() < 1000) {
    status = writer.AddPod(pod_, all.add_pod_resources());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

}  // namespace
}  // namespace plimsoll::agent
