#include "agent/node/capacity.h"

#include <sys/statvfs.h>

#include <limits>

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using resources::Quantity;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Texts of the amounts, "cpu 8".
std::vector<std::string> Texts(const ResourceList& list) {
  std::vector<std::string> texts;
  for (const auto& [resource, amount] : list) texts.push_back(resource + " " + amount.Canonical());
  return texts;
}

ResourceList Amounts(const std::map<std::string, std::string>& texts) {
  ResourceList list;
  for (const auto& [resource, text] : texts) list[resource] = *Quantity::Parse(text);
  return list;
}

topology::MachineMaps EightCpus() {
  topology::MachineMaps maps;
  maps.cpu_count = 8;
  maps.memory_bytes = 16LL << 30;
  maps.hugepages = {{2 << 20, 512}, {1 << 30, 0}};
  return maps;
}

TEST(CapacityTest, IsWhatTheTopologyAndTheFilesystemHave) {
  EXPECT_THAT(Texts(CapacityOf(EightCpus(), 100LL << 30, 110)),
              ElementsAre("cpu 8", "ephemeral-storage 100Gi", "hugepages-1Gi 0",
                          "hugepages-2Mi 1Gi", "memory 16Gi", "pods 110"));
}

TEST(CapacityTest, ASumThatIsTooLargeIsTheLargest) {
  topology::MachineMaps maps;
  maps.hugepages = {{1LL << 40, std::numeric_limits<int64_t>::max()}};
  EXPECT_EQ(CapacityOf(maps, 0, 1).at("hugepages-1Ti").Value(),
            std::numeric_limits<int64_t>::max());
}

// Huge pages are in the memory's capacity and no ordinary memory.
TEST(CapacityTest, AllocatableIsWhatIsNotReserved) {
  const ResourceList capacity = CapacityOf(EightCpus(), 100LL << 30, 110);
  const auto allocatable = AllocatableOf(
      capacity, {.system_reserved = Amounts({{"cpu", "500m"}, {"memory", "1Gi"}, {"pid", "1000"}}),
                 .kube_reserved = Amounts(
                     {{"cpu", "250m"}, {"memory", "512Mi"}, {"ephemeral-storage", "10Gi"}})});
  ASSERT_TRUE(allocatable.ok()) << allocatable.status();
  EXPECT_THAT(Texts(*allocatable),
              ElementsAre("cpu 7250m", "ephemeral-storage 90Gi", "hugepages-1Gi 0",
                          "hugepages-2Mi 1Gi", "memory 13824Mi", "pods 110"));
}

TEST(CapacityTest, MemoryThatIsAllHugePagesOrReservedIsNothing) {
  topology::MachineMaps maps = EightCpus();
  maps.memory_bytes = 1LL << 30;
  const auto allocatable =
      AllocatableOf(CapacityOf(maps, 0, 110), {.kube_reserved = Amounts({{"memory", "512Mi"}})});
  ASSERT_TRUE(allocatable.ok()) << allocatable.status();
  EXPECT_TRUE(allocatable->at("memory").IsZero());
}

TEST(CapacityTest, WhatIsReservedInVainIsNamed) {
  const ResourceList capacity = CapacityOf(EightCpus(), 0, 110);
  const auto too_many = AllocatableOf(capacity, {.system_reserved = Amounts({{"cpu", "6"}}),
                                                 .kube_reserved = Amounts({{"cpu", "2500m"}})});
  EXPECT_TRUE(absl::IsFailedPrecondition(too_many.status()));
  EXPECT_EQ(too_many.status().message(),
            "cpu: reserved are systemReserved 6 and kubeReserved 2500m, of a capacity of 8");
  const auto unknown =
      AllocatableOf(capacity, {.kube_reserved = Amounts({{"hugepages-16Mi", "16Mi"}})});
  EXPECT_THAT(unknown.status().message(), HasSubstr("hugepages-16Mi: reserved are kubeReserved"));
  EXPECT_TRUE(AllocatableOf(capacity, {.kube_reserved = Amounts({{"hugepages-16Mi", "0"}})}).ok());
}

TEST(CapacityTest, StorageIsTheFilesystems) {
  const TestDir dir;
  struct statvfs filesystem = {};
  ASSERT_EQ(statvfs(dir.path().c_str(), &filesystem), 0);
  EXPECT_EQ(*FilesystemBytes(dir.path()),
            static_cast<int64_t>(filesystem.f_blocks * filesystem.f_frsize));
  EXPECT_THAT(FilesystemBytes(dir.path() + "/none").status().message(),
              HasSubstr("/none: No such"));
}

}  // namespace
}  // namespace plimsoll::agent
