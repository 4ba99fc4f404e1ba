#include "agent/memory_manager/reserved_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "agent/memory_manager/machines_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::string ErrorOf(const topology::MachineMaps& maps, const MemoryByNode& reservations,
                    const MemoryAmounts& reserved) {
  const auto allocatable = AllocatableMemory(maps, reservations, reserved);
  EXPECT_EQ(allocatable.status().code(), absl::StatusCode::kFailedPrecondition);
  return std::string(allocatable.status().message());
}

TEST(ReservedMemoryTest, TakesReservationsAndHugePagesOff) {
  topology::MachineMaps maps = MachineOf({{0, 16 * kGi}, {1, 16 * kGi}});
  maps.nodes[0].hugepages = {{2 * kMi, 512}, {kGi, 4}};
  maps.nodes[1].hugepages = {{2 * kMi, 0}, {kGi, 0}};
  const auto allocatable = AllocatableMemory(
      maps, {{0, {{"memory", kGi}, {"hugepages-1Gi", kGi}}}, {1, {{"memory", 512 * kMi}}}},
      {{"memory", 1536 * kMi}, {"hugepages-1Gi", kGi}, {"cpu", 4}});
  ASSERT_TRUE(allocatable.ok()) << allocatable.status();
  EXPECT_THAT(
      *allocatable,
      ElementsAre(
          Pair(0, UnorderedElementsAre(Pair("memory", 10 * kGi), Pair("hugepages-2Mi", kGi),
                                       Pair("hugepages-1Gi", 3 * kGi))),
          Pair(1, UnorderedElementsAre(Pair("memory", 16 * kGi - 512 * kMi),
                                       Pair("hugepages-2Mi", 0), Pair("hugepages-1Gi", 0)))));
}

TEST(ReservedMemoryTest, ForeignCountsDontOverflow) {
  topology::MachineMaps maps = MachineOf({{0, kGi}, {3, kGi}});
  maps.nodes[3].hugepages = {{kGi, std::numeric_limits<int64_t>::max() / 2}};
  const auto allocatable = AllocatableMemory(maps, {{0, {{"memory", kGi}}}}, {{"memory", kGi}});
  ASSERT_TRUE(allocatable.ok()) << allocatable.status();
  EXPECT_EQ(allocatable->at(0).at("memory"), 0);
  EXPECT_EQ(allocatable->at(3).at("memory"), 0);
  EXPECT_EQ(allocatable->at(3).at("hugepages-1Gi"), std::numeric_limits<int64_t>::max());
}

TEST(ReservedMemoryTest, SumsMustBeThoseOfTheNode) {
  const topology::MachineMaps maps = MachineOf({{0, kGi}, {1, kGi}});
  const MemoryByNode reservations = {{0, {{"memory", 100 * kMi}}}, {1, {{"memory", 50 * kMi}}}};
  EXPECT_THAT(ErrorOf(maps, reservations, {{"memory", 250 * kMi}}),
              HasSubstr("the total amount \"150Mi\" of type \"memory\" is not equal to the value "
                        "\"250Mi\" determined by Node Allocatable feature"));
  EXPECT_THAT(ErrorOf(maps, reservations, {}), HasSubstr("the value \"0\""));
  EXPECT_THAT(ErrorOf(maps, reservations, {{"memory", 150 * kMi}, {"hugepages-2Mi", 2 * kMi}}),
              HasSubstr("the total amount \"0\" of type \"hugepages-2Mi\""));
}

TEST(ReservedMemoryTest, SomeMemoryMustBeReserved) {
  EXPECT_THAT(ErrorOf(MachineOf({{0, kGi}}), {}, {}),
              HasSubstr("[memorymanager] you should specify the system reserved memory"));
}

TEST(ReservedMemoryTest, RefusesNodesThatTheMachineLacks) {
  EXPECT_EQ(ErrorOf(MachineOf({{0, kGi}, {4, kGi}}), {{1, {{"memory", kMi}}}}, {{"memory", kMi}}),
            "the reserved memory configuration references a NUMA node 1 that does not exist on "
            "this machine, which has 0, 4");
  EXPECT_THAT(
      ErrorOf(MachineOf({{0, kGi}, {64, kGi}}), {{0, {{"memory", kMi}}}}, {{"memory", kMi}}),
      HasSubstr("NUMA node 64 is beyond 63"));
}

TEST(ReservedMemoryTest, RefusesMoreThanTheNodeHas) {
  topology::MachineMaps maps = MachineOf({{0, 4 * kGi}});
  maps.nodes[0].hugepages = {{kGi, 3}};
  EXPECT_EQ(ErrorOf(maps, {{0, {{"memory", 2 * kGi}}}}, {{"memory", 2 * kGi}}),
            "reservedMemory: 2Gi of \"memory\" of NUMA node 0 can't be reserved: the node has 1Gi "
            "beside its huge pages");
  const MemoryAmounts pages = {{"memory", kMi}, {"hugepages-2Mi", 2 * kMi}};
  EXPECT_EQ(ErrorOf(maps, {{0, pages}}, pages),
            "reservedMemory: 2Mi of \"hugepages-2Mi\" of NUMA node 0 can't be reserved: the node "
            "has 0");
  const MemoryAmounts negative = {{"memory", kMi}, {"hugepages-1Gi", -kGi}};
  EXPECT_THAT(ErrorOf(maps, {{0, negative}}, negative), HasSubstr("-1Gi of \"hugepages-1Gi\""));
}

}  // namespace
}  // namespace plimsoll::agent
