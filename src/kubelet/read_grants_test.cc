#include "kubelet/read_grants.h"

#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/pods_for_test.h"

namespace plimsoll::kubelet {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

std::string ListOf(const std::vector<::v1::PodResources>& pods) {
  ::v1::ListPodResourcesResponse response;
  for (const ::v1::PodResources& pod : pods) *response.add_pod_resources() = pod;
  return response.SerializeAsString();
}

TEST(ReadGrantsTest, AllThatAContainerWasGiven) {
  const auto read = ReadGrants(AnswerOf(WebGrants()), kWeb);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_THAT(*read, ElementsAre(Pair("web", ::testing::_)));
  const runtime::ContainerGrants& web = read->at("web");
  EXPECT_EQ(web.exclusive_cpus, "2-3,5");
  EXPECT_THAT(web.memory,
              ElementsAre(runtime::PinnedMemory{
                  .resource = "memory", .numa_nodes = {1}, .bytes = uint64_t{1} << 30}));
  EXPECT_THAT(web.devices, ElementsAre(Pair("example.com/gpu", ElementsAre("gpu-1", "gpu-0"))));
  EXPECT_THAT(web.cdi_devices, ElementsAre("classes.plimsoll.dev/rdt=gold"));
}

TEST(ReadGrantsTest, ContainersWithoutGrantsAreKnownToHaveNone) {
  ::v1::PodResources grants = WebGrants();
  *grants.mutable_containers(0) = {};
  grants.mutable_containers(0)->set_name("web");
  const auto read = ReadGrants(AnswerOf(grants), kWeb);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->at("web"), runtime::ContainerGrants());
}

TEST(ReadGrantsTest, ADeviceOfSeveralRequestsIsOne) {
  ::v1::PodResources grants = WebGrants();
  *grants.mutable_containers(0)->add_dynamic_resources() =
      grants.containers(0).dynamic_resources(0);
  EXPECT_THAT(ReadGrants(AnswerOf(grants), kWeb)->at("web").cdi_devices, SizeIs(1));
}

TEST(ReadGrantsTest, AnotherPodIsALie) {
  ::v1::PodResources grants = WebGrants();
  grants.set_name("db");
  const auto status = ReadGrants(AnswerOf(grants), kWeb).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("\"db\""));
  grants.set_name(kWeb.name);
  grants.set_namespace_("default");
  EXPECT_FALSE(ReadGrants(AnswerOf(grants), kWeb).ok());
  EXPECT_FALSE(ReadGrants("", kWeb).ok());
}

TEST(ReadGrantsTest, WhatNoMachineHasIsRefused) {
  for (const int64_t cpu : {int64_t{-1}, int64_t{65536}, std::numeric_limits<int64_t>::max()}) {
    ::v1::PodResources grants = WebGrants();
    grants.mutable_containers(0)->add_cpu_ids(cpu);
    const auto status = ReadGrants(AnswerOf(grants), kWeb).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("CPU"));
    EXPECT_FALSE(ReadAllGrants(ListOf({grants})).ok());
  }
  for (const int64_t node : {int64_t{-1}, int64_t{1024}}) {
    ::v1::PodResources grants = WebGrants();
    grants.mutable_containers(0)->mutable_memory(0)->mutable_topology()->add_nodes()->set_id(node);
    const auto status = ReadGrants(AnswerOf(grants), kWeb).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("NUMA node"));
    EXPECT_FALSE(ReadAllGrants(ListOf({grants})).ok());
  }
}

TEST(ReadGrantsTest, AContainerTwiceIsRefused) {
  ::v1::PodResources grants = WebGrants();
  grants.add_containers()->set_name("web");
  EXPECT_THAT(ReadGrants(AnswerOf(grants), kWeb).status().message(), HasSubstr("twice"));
}

TEST(ReadGrantsTest, FieldsAreBounded) {
  ::v1::PodResources grants = WebGrants();
  for (int i = 0; i < 110'000; ++i) grants.add_containers();
  EXPECT_TRUE(absl::IsResourceExhausted(ReadGrants(AnswerOf(grants), kWeb).status()));
}

TEST(ReadAllGrantsTest, SumsOverPods) {
  ::v1::PodResources other = WebGrants();
  other.set_name("db");
  other.mutable_containers(0)->clear_cpu_ids();
  other.mutable_containers(0)->add_cpu_ids(7);
  const auto read = ReadAllGrants(ListOf({WebGrants(), other}));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->exclusive_cpus, "2-3,5,7");
  EXPECT_THAT(read->memory,
              ElementsAre(runtime::PinnedMemory{
                  .resource = "memory", .numa_nodes = {1}, .bytes = uint64_t{2} << 30}));
  ASSERT_THAT(read->devices, SizeIs(2));
  EXPECT_EQ(read->devices[0].resource, "example.com/gpu");
  EXPECT_THAT(read->devices[0].numa_nodes, ElementsAre(0));
  EXPECT_EQ(read->devices[0].count, 2u);
  EXPECT_THAT(read->devices[1].numa_nodes, ElementsAre(1));
}

TEST(ReadAllGrantsTest, SumsDoNotWrapAround) {
  ::v1::PodResources huge = WebGrants();
  huge.mutable_containers(0)->mutable_memory(0)->set_size(std::numeric_limits<uint64_t>::max());
  const auto read = ReadAllGrants(ListOf({WebGrants(), huge}));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->memory[0].bytes, std::numeric_limits<uint64_t>::max());
}

TEST(ReadDeviceTotalsTest, CountsByResourceAndNodes) {
  ::v1::AllocatableResourcesResponse response;
  for (const char* id : {"a", "b", "c"}) {
    ::v1::ContainerDevices& devices = *response.add_devices();
    devices.set_resource_name("example.com/gpu");
    devices.add_device_ids(id);
    devices.mutable_topology()->add_nodes()->set_id(id[0] == 'a' ? 0 : 1);
  }
  const auto read = ReadDeviceTotals(response.SerializeAsString());
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_THAT(*read, SizeIs(2));
  EXPECT_THAT((*read)[0].numa_nodes, ElementsAre(0));
  EXPECT_EQ((*read)[0].count, 1u);
  EXPECT_THAT((*read)[1].numa_nodes, ElementsAre(1));
  EXPECT_EQ((*read)[1].count, 2u);
  response.mutable_devices(0)->mutable_topology()->mutable_nodes(0)->set_id(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(ReadDeviceTotals(response.SerializeAsString()).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadDeviceTotals("\xff").status()));
}

TEST(ReadAllGrantsTest, NoPodsIsNoError) {
  const auto read = ReadAllGrants("");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->exclusive_cpus, "");
  EXPECT_THAT(read->devices, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::kubelet
