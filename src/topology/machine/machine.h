// The parts of a machine from hwloc and the kernel: flat lists, related by CPU sets. make_zones.h
// turns them into the tree of zones.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_MACHINE_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_MACHINE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "resources/cpu_set.h"

namespace plimsoll::topology {

// All `cpus` are online and available to containers. Numbers are the kernel's.

struct Package {
  std::optional<uint32_t> id;  // physical_package_id
  resources::CpuSet cpus;
  std::map<std::string, std::string> attributes;  // cpu-model, cpu-vendor
};

// A data or unified cache.
struct Cache {
  uint32_t level = 0;
  std::optional<uint32_t> id;  // in cache/index*/id
  uint64_t size_bytes = 0;     // 0: unknown
  resources::CpuSet cpus;
};

struct Core {
  std::optional<uint32_t> id;   // core_id: unique in its die only
  std::optional<uint32_t> die;  // die_id
  resources::CpuSet cpus;
};

// CPUs of one kind. A core is of one kind.
struct CoreKind {
  resources::CpuSet cpus;
  std::string core_type;                  // IntelAtom, IntelCore; empty: unknown
  std::optional<uint32_t> capacity;       // cpu_capacity, arm64
  std::optional<uint32_t> part;           // arm64: implementer and part number, from MIDR_EL1
  std::optional<uint64_t> base_freq_mhz;  // the sustained frequency
  std::optional<uint64_t> max_freq_mhz;
};

struct NumaNode {
  uint32_t id = 0;
  resources::CpuSet cpus;  // empty: memory only
  uint64_t memory_bytes = 0;
  std::map<uint64_t, uint64_t> hugepages;         // page size in bytes -> number of pages
  std::map<uint32_t, uint32_t> distances;         // node -> SLIT value; includes the node itself
  std::map<std::string, std::string> attributes;  // memory-type
};

struct Machine {
  resources::CpuSet cpus;
  std::vector<Package> packages;
  std::vector<Cache> caches;
  std::vector<Core> cores;
  std::vector<CoreKind> core_kinds;
  std::vector<NumaNode> nodes;
  std::map<std::string, std::string> attributes;  // machine-id, boot-id, system-uuid, architecture
  std::optional<uint64_t> swap_bytes;
  // Facts that are unknown or contradictory: one sentence each, with the consequence or the
  // decision.
  std::vector<std::string> missing;
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_MACHINE_H_
