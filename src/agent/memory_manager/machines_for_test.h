// Machines and blocks for tests of this room.
#ifndef PLIMSOLL_AGENT_MEMORY_MANAGER_MACHINES_FOR_TEST_H_
#define PLIMSOLL_AGENT_MEMORY_MANAGER_MACHINES_FOR_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "agent/memory_manager/static_memory_policy.h"

namespace plimsoll::agent {

constexpr int64_t kMi = int64_t{1} << 20;
constexpr int64_t kGi = int64_t{1} << 30;

inline NodeMask Nodes(std::initializer_list<uint32_t> numbers) {
  NodeMask mask;
  for (const uint32_t number : numbers) mask.Add(number);
  return mask;
}

// Memory by node's number.
inline topology::MachineMaps MachineOf(const std::map<uint32_t, int64_t>& memory) {
  topology::MachineMaps maps;
  for (const auto& [number, bytes] : memory) maps.nodes[number].memory_bytes = bytes;
  return maps;
}

inline MemoryAmounts SumsOf(const MemoryByNode& reservations) {
  MemoryAmounts sums;
  for (const auto& [number, amounts] : reservations) {
    for (const auto& [resource, bytes] : amounts) sums[resource] += bytes;
  }
  return sums;
}

inline StaticMemoryPolicy PolicyOf(const topology::MachineMaps& maps,
                                   const MemoryByNode& reservations) {
  auto policy = StaticMemoryPolicy::Make(std::make_shared<topology::MachineMaps>(maps),
                                         reservations, SumsOf(reservations));
  EXPECT_TRUE(policy.ok()) << policy.status();
  return *std::move(policy);
}

inline MemoryBlock BlockOf(const std::string& resource, const std::map<uint32_t, int64_t>& shares) {
  MemoryBlock block = {.resource = resource, .nodes = {}, .bytes = 0, .shares = shares};
  for (const auto& [node, bytes] : shares) {
    block.nodes.Add(node);
    block.bytes += bytes;
  }
  std::erase_if(block.shares, [](const auto& share) { return share.second == 0; });
  return block;
}
inline MemoryBlock MemoryOf(const std::map<uint32_t, int64_t>& shares) {
  return BlockOf("memory", shares);
}

inline std::vector<MemoryBlock*> PointersTo(std::vector<MemoryBlock>& blocks) {
  std::vector<MemoryBlock*> pointers;
  for (MemoryBlock& block : blocks) pointers.push_back(&block);
  return pointers;
}

// For messages of failed tests.
inline void PrintTo(const MemoryBlock& block, std::ostream* out) {
  *out << block.bytes << " bytes of " << block.resource << " at nodes "
       << testing::PrintToString(block.nodes.ToVector()) << ", shares "
       << testing::PrintToString(block.shares);
}
inline void PrintTo(const Hint& hint, std::ostream* out) {
  *out << (hint.preferred ? "preferred " : "possible ")
       << (hint.nodes ? testing::PrintToString(hint.nodes->ToVector()) : "anywhere");
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MEMORY_MANAGER_MACHINES_FOR_TEST_H_
