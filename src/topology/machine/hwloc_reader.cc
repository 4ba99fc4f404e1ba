#include "topology/machine/hwloc_reader.h"

#include <hwloc.h>
#include <hwloc/cpukinds.h>
#include <hwloc/distances.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "topology/machine/hwloc_xml.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

absl::StatusOr<Handle> Init() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return ErrnoStatus(errno, "hwloc");
  Handle handle(topology);
  // CPUs outside this process's own cpuset belong to the machine all the same (confinement.h).
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  // Groups stay: NUMA nodes that are part of a package are attached to them.
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_icache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_DIE, HWLOC_TYPE_FILTER_KEEP_ALL);
  return handle;
}

absl::Status Load(hwloc_topology_t topology) {
  if (hwloc_topology_load(topology) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "hwloc: read the machine's topology");
}

CpuSet CpusOf(hwloc_const_bitmap_t bitmap) {
  CpuSet cpus;
  if (bitmap == nullptr) return cpus;
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0; cpu = hwloc_bitmap_next(bitmap, cpu)) {
    if (static_cast<uint32_t>(cpu) >= CpuSet::kMaxCpus) break;  // the bitmap is infinite
    cpus.Add(static_cast<uint32_t>(cpu));
  }
  return cpus;
}

std::optional<uint32_t> IdOf(hwloc_obj_t object) {
  if (object == nullptr || object->os_index == HWLOC_UNKNOWN_INDEX) return std::nullopt;
  return object->os_index;
}

// Calls `visit` with each object of a type, even of a type with several levels: a core is above its
// threads' own caches, but below caches that have the same CPUs as itself.
template <typename Visit>
void ForEach(hwloc_topology_t topology, hwloc_obj_type_t type, const Visit& visit) {
  const auto visit_level = [&](int depth) {
    for (hwloc_obj_t object = nullptr;
         (object = hwloc_get_next_obj_by_depth(topology, depth, object)) != nullptr;) {
      visit(object);
    }
  };
  const int only = hwloc_get_type_depth(topology, type);
  if (only == HWLOC_TYPE_DEPTH_UNKNOWN) return;
  if (only != HWLOC_TYPE_DEPTH_MULTIPLE) return visit_level(only);
  for (int depth = 0; depth < hwloc_topology_get_depth(topology); ++depth) {
    if (hwloc_get_depth_type(topology, depth) == type) visit_level(depth);
  }
}

void ReadPackages(hwloc_topology_t topology, Machine& machine) {
  ForEach(topology, HWLOC_OBJ_PACKAGE, [&](hwloc_obj_t object) {
    Package package = {.id = IdOf(object), .cpus = CpusOf(object->cpuset)};
    for (const auto& [info, attribute] :
         {std::pair("CPUModel", "cpu-model"), std::pair("CPUVendor", "cpu-vendor")}) {
      const char* value = hwloc_obj_get_info_by_name(object, info);
      if (value != nullptr && *value != '\0') package.attributes[attribute] = value;
    }
    if (!package.cpus.Empty()) machine.packages.push_back(std::move(package));
  });
  if (!machine.packages.empty()) return;
  machine.packages.push_back({.id = 0, .cpus = machine.cpus});
  machine.missing.emplace_back(kNoPackages);
}

void ReadCores(hwloc_topology_t topology, Machine& machine) {
  ForEach(topology, HWLOC_OBJ_CORE, [&](hwloc_obj_t object) {
    const hwloc_obj_t die = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_DIE, object);
    Core core = {.id = IdOf(object), .die = IdOf(die), .cpus = CpusOf(object->cpuset)};
    if (!core.cpus.Empty()) machine.cores.push_back(std::move(core));
  });
  CpuSet rest = machine.cpus;
  for (const Core& core : machine.cores) rest = rest.Difference(core.cpus);
  if (rest.Empty()) return;
  machine.missing.push_back(absl::StrCat("the machine does not show the cores of CPUs ",
                                         rest.ToString(), ": each is shown as a core"));
  for (const uint32_t cpu : rest.ToVector()) {
    Core core;
    core.cpus.Add(cpu);
    machine.cores.push_back(std::move(core));
  }
}

// A cache of the memory, such as MCDRAM, that hwloc shows as the last one of the CPUs.
bool IsMemorySide(hwloc_obj_t cache) {
  const char* type = hwloc_obj_get_info_by_name(cache, "Type");  // hwloc 1
  return absl::NullSafeStringView(cache->subtype) == "MemorySideCache" ||
         absl::NullSafeStringView(type) == "MemorySideCache";
}

void ReadCaches(hwloc_topology_t topology, Machine& machine) {
  for (const hwloc_obj_type_t type :
       {HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE}) {
    ForEach(topology, type, [&](hwloc_obj_t object) {
      if (IsMemorySide(object)) return;
      machine.caches.push_back({.level = object->attr->cache.depth,
                                .id = IdOf(object),
                                .size_bytes = object->attr->cache.size,
                                .cpus = CpusOf(object->cpuset)});
    });
  }
  if (machine.caches.empty()) {
    machine.missing.emplace_back("the machine shows no caches: there are no cache groups");
  }
}

NumaNode ReadNode(hwloc_obj_t object) {
  NumaNode node = {.id = IdOf(object).value_or(0), .cpus = CpusOf(object->cpuset)};
  const auto& memory = object->attr->numanode;
  node.memory_bytes = memory.local_memory;
  uint64_t smallest = UINT64_MAX;
  for (unsigned i = 0; i < memory.page_types_len; ++i) {
    smallest = std::min<uint64_t>(smallest, memory.page_types[i].size);
  }
  for (unsigned i = 0; i < memory.page_types_len; ++i) {
    if (memory.page_types[i].size == smallest) continue;  // not huge
    node.hugepages[memory.page_types[i].size] = memory.page_types[i].count;
  }
  if (object->subtype != nullptr) node.attributes["memory-type"] = object->subtype;
  return node;
}

// hwloc gives memory without CPUs the nearest CPUs. Here each CPU is local to one node: the one
// with the fewest CPUs, and of those the first.
void TakeBorrowedCpus(std::vector<NumaNode>& nodes) {
  std::vector<NumaNode*> order;
  for (NumaNode& node : nodes) order.push_back(&node);
  std::stable_sort(order.begin(), order.end(), [](const NumaNode* a, const NumaNode* b) {
    return std::pair(a->cpus.Size(), a->id) < std::pair(b->cpus.Size(), b->id);
  });
  CpuSet taken;
  for (NumaNode* node : order) {
    node->cpus = node->cpus.Difference(taken);
    taken = taken.Union(node->cpus);
  }
}

// The lowest number in the bitmap of a node that is not among `nodes`.
std::optional<uint32_t> FirstOther(hwloc_const_bitmap_t bitmap,
                                   const std::vector<NumaNode>& nodes) {
  if (bitmap == nullptr || hwloc_bitmap_weight(bitmap) < 0) return std::nullopt;  // or infinite
  for (int id = hwloc_bitmap_first(bitmap); id >= 0; id = hwloc_bitmap_next(bitmap, id)) {
    const auto number = static_cast<uint32_t>(id);
    const bool is_there = std::any_of(nodes.begin(), nodes.end(),
                                      [&](const NumaNode& node) { return node.id == number; });
    if (!is_there) return number;
  }
  return std::nullopt;
}

// XML of a process that may not use the memory of some nodes lacks these; only their CPUs name
// them.
void AddHiddenNodes(hwloc_topology_t topology, Machine& machine) {
  CpuSet rest = machine.cpus;
  for (const NumaNode& node : machine.nodes) rest = rest.Difference(node.cpus);
  std::map<uint32_t, CpuSet> hidden;
  ForEach(topology, HWLOC_OBJ_PU, [&](hwloc_obj_t object) {
    if (!rest.Contains(object->os_index)) return;
    const auto id = FirstOther(object->complete_nodeset, machine.nodes);
    if (id) hidden[*id].Add(object->os_index);
  });
  if (hidden.empty()) return;
  CpuSet ids;
  for (const auto& [id, cpus] : hidden) {
    ids.Add(id);
    machine.nodes.push_back({.id = id, .cpus = cpus});
  }
  machine.missing.push_back(absl::StrCat("the memory of NUMA nodes ", ids.ToString(),
                                         " is hidden from the process that described the machine: "
                                         "they are shown without memory"));
}

void ReadDistances(hwloc_topology_t topology, Machine& machine) {
  unsigned count = 1;
  hwloc_distances_s* distances = nullptr;
  if (hwloc_distances_get_by_name(topology, "NUMALatency", &count, &distances, 0) != 0 ||
      count == 0) {
    return;
  }
  for (NumaNode& node : machine.nodes) {
    for (unsigned row = 0; row < distances->nbobjs; ++row) {
      if (distances->objs[row]->os_index != node.id) continue;
      for (unsigned column = 0; column < distances->nbobjs; ++column) {
        node.distances[distances->objs[column]->os_index] =
            static_cast<uint32_t>(distances->values[row * distances->nbobjs + column]);
      }
    }
  }
  hwloc_distances_release(topology, distances);
}

void ReadNodes(hwloc_topology_t topology, Machine& machine) {
  ForEach(topology, HWLOC_OBJ_NUMANODE,
          [&](hwloc_obj_t object) { machine.nodes.push_back(ReadNode(object)); });
  AddHiddenNodes(topology, machine);
  TakeBorrowedCpus(machine.nodes);
  ReadDistances(topology, machine);
}

void ReadCoreKinds(hwloc_topology_t topology, Machine& machine) {
  const int count = hwloc_cpukinds_get_nr(topology, 0);
  for (int i = 0; i < count; ++i) {
    const std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)> cpus(hwloc_bitmap_alloc(),
                                                                         hwloc_bitmap_free);
    unsigned info_count = 0;
    hwloc_info_s* infos = nullptr;
    int efficiency = -1;
    if (hwloc_cpukinds_get_info(topology, static_cast<unsigned>(i), cpus.get(), &efficiency,
                                &info_count, &infos, 0) != 0) {
      continue;
    }
    CoreKind kind = {.cpus = CpusOf(cpus.get())};
    for (unsigned info = 0; info < info_count; ++info) {
      const absl::string_view name = infos[info].name;
      uint64_t number = 0;
      const bool is_number = absl::SimpleAtoi(infos[info].value, &number);
      if (name == "CoreType") kind.core_type = infos[info].value;
      if (name == "LinuxCapacity" && is_number) kind.capacity = static_cast<uint32_t>(number);
      uint32_t part = 0;
      if (name == "CPUPart" && absl::SimpleHexAtoi(infos[info].value, &part)) kind.part = part;
      if (name == "FrequencyBaseMHz" && is_number) kind.base_freq_mhz = number;
      if (name == "FrequencyMaxMHz" && is_number) kind.max_freq_mhz = number;
    }
    machine.core_kinds.push_back(std::move(kind));
  }
}

Machine Read(hwloc_topology_t topology) {
  Machine machine;
  machine.cpus = CpusOf(hwloc_topology_get_topology_cpuset(topology));
  ReadPackages(topology, machine);
  ReadCores(topology, machine);
  ReadCaches(topology, machine);
  ReadNodes(topology, machine);
  ReadCoreKinds(topology, machine);
  const char* architecture =
      hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "Architecture");
  if (architecture != nullptr) machine.attributes["architecture"] = architecture;
  return machine;
}

}  // namespace

absl::StatusOr<Machine> ReadWithHwloc() {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handle topology, Init());
  PLIMSOLL_RETURN_IF_ERROR(Load(topology.get()));
  return Read(topology.get());
}

absl::StatusOr<Machine> ReadHwlocXml(absl::string_view xml) {
  const uint32_t format = HwlocXmlFormat(xml);
  if (format > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("XML of hwloc's format ", format, ": formats up to 3 are known"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(
      const std::string text,
      format == 3 ? HwlocXmlAsFormat2(xml) : absl::StatusOr<std::string>(std::string(xml)));
  PLIMSOLL_ASSIGN_OR_RETURN(const Handle topology, Init());
  // hwloc's length includes the final NUL.
  if (hwloc_topology_set_xmlbuffer(topology.get(), text.c_str(),
                                   static_cast<int>(text.size() + 1)) != 0 ||
      hwloc_topology_load(topology.get()) != 0) {
    return absl::InvalidArgumentError("not an XML topology of hwloc 2 or 3");
  }
  Machine machine = Read(topology.get());
  if (format == 3) {
    machine.missing.emplace_back("XML of hwloc's format 3 has no counts of huge pages");
  }
  return machine;
}

absl::StatusOr<Machine> ReadHwlocSynthetic(const std::string& description) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handle topology, Init());
  if (hwloc_topology_set_synthetic(topology.get(), description.c_str()) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", description, "\" is not in hwloc's synthetic notation"));
  }
  PLIMSOLL_RETURN_IF_ERROR(Load(topology.get()));
  return Read(topology.get());
}

absl::StatusOr<std::string> ExportHwlocXml() {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handle topology, Init());
  PLIMSOLL_RETURN_IF_ERROR(Load(topology.get()));
  char* buffer = nullptr;
  int length = 0;
  if (hwloc_topology_export_xmlbuffer(topology.get(), &buffer, &length, 0) != 0) {
    return ErrnoStatus(errno, "hwloc: export the topology");
  }
  std::string xml(buffer, static_cast<size_t>(length));
  hwloc_free_xmlbuffer(topology.get(), buffer);
  while (!xml.empty() && xml.back() == '\0') xml.pop_back();
  return xml;
}

}  // namespace plimsoll::topology
