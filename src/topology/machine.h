// What a machine is made of, as hwloc and the kernel tell it: flat lists, related by CPU sets.
// make_zones.h makes the tree of zones of it.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "resources/cpu_set.h"

namespace plimsoll::topology {

// `cpus` are those that are online and that containers may use. Numbers are the kernel's.

struct Package {
  std::optional<uint32_t> id;  // physical_package_id
  resources::CpuSet cpus;
  std::map<std::string, std::string> attributes;  // cpu-model, cpu-vendor
};

// A data or unified cache.
struct Cache {
  uint32_t level = 0;
  std::optional<uint32_t> id;  // in cache/index*/id
  uint64_t size_bytes = 0;     // 0: not told
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
  std::string core_type;                  // IntelAtom, IntelCore; empty: not told
  std::optional<uint32_t> capacity;       // cpu_capacity, arm64
  std::optional<uint32_t> part;           // arm64: who made it and which, as in MIDR_EL1
  std::optional<uint64_t> base_freq_mhz;  // what it runs at for ever
  std::optional<uint64_t> max_freq_mhz;
};

struct NumaNode {
  uint32_t id = 0;
  resources::CpuSet cpus;  // empty: memory only
  uint64_t memory_bytes = 0;
  std::map<uint64_t, uint64_t> hugepages;         // size in bytes -> how many there are
  std::map<uint32_t, uint32_t> distances;         // node -> SLIT value; its own too
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
  // What the machine does not tell, or tells in contradiction, a sentence each, with what that
  // costs or how it was decided.
  std::vector<std::string> missing;
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_H_
