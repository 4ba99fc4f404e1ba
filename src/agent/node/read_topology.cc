#include "agent/node/read_topology.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "resources/cpu_set.h"
#include "resources/quantity.h"
#include "topology/make_zones.h"
#include "topology/validate.h"

namespace plimsoll::agent {
namespace {

using resources::CpuSet;
using topology::MachineMaps;

std::string BytesText(int64_t bytes) {
  return resources::Quantity::FromInt(bytes, resources::Quantity::Format::kBinarySi).Canonical();
}

CpuSet CpusOf(const MachineMaps& maps) {
  CpuSet cpus;
  for (const auto& [cpu, place] : maps.cpus) cpus.Add(cpu);
  return cpus;
}

std::string CpuDifference(const MachineMaps& before, const MachineMaps& after) {
  const CpuSet old = CpusOf(before);
  const CpuSet now = CpusOf(after);
  if (old == now && before.cpu_count == after.cpu_count) return "";
  std::string text = absl::StrCat("cpu ", before.cpu_count, " -> ", after.cpu_count);
  std::vector<std::string> moves;
  const CpuSet came = now.Difference(old);
  const CpuSet went = old.Difference(now);
  if (!came.Empty()) moves.push_back(absl::StrCat("CPUs ", came.ToString(), " came"));
  if (!went.Empty()) moves.push_back(absl::StrCat("CPUs ", went.ToString(), " went"));
  if (!moves.empty()) absl::StrAppend(&text, " (", absl::StrJoin(moves, ", "), ")");
  return text;
}

int64_t PageCount(const MachineMaps& maps, int64_t page_bytes) {
  const auto found = maps.hugepages.find(page_bytes);
  return found == maps.hugepages.end() ? 0 : found->second;
}

void AddHugePageDifferences(const MachineMaps& before, const MachineMaps& after,
                            std::vector<std::string>& all) {
  std::set<int64_t> sizes;
  for (const MachineMaps* maps : {&before, &after}) {
    for (const auto& [page_bytes, count] : maps->hugepages) sizes.insert(page_bytes);
  }
  for (const int64_t size : sizes) {
    const int64_t old = PageCount(before, size);
    const int64_t now = PageCount(after, size);
    if (old == now) continue;
    all.push_back(absl::StrCat(topology::HugepagesName(static_cast<uint64_t>(size)), " ", old,
                               " pages -> ", now));
  }
}

}  // namespace

absl::StatusOr<MachineMaps> ReadTopology(const topology::Topology& topology,
                                         bool cpu_ids_required) {
  PLIMSOLL_ASSIGN_OR_RETURN(MachineMaps maps, topology::ReadMaps(topology));
  PLIMSOLL_RETURN_IF_ERROR(topology::CheckAmounts(maps));
  if (cpu_ids_required) PLIMSOLL_RETURN_IF_ERROR(topology::CheckCpuIds(maps));
  return maps;
}

std::string DifferenceOf(const MachineMaps& before, const MachineMaps& after) {
  std::vector<std::string> all;
  if (std::string cpus = CpuDifference(before, after); !cpus.empty()) {
    all.push_back(std::move(cpus));
  }
  if (before.memory_bytes != after.memory_bytes) {
    all.push_back(absl::StrCat("memory ", BytesText(before.memory_bytes), " -> ",
                               BytesText(after.memory_bytes)));
  }
  AddHugePageDifferences(before, after, all);
  if (before.swap_bytes != after.swap_bytes) {
    all.push_back(absl::StrCat("swap ", BytesText(before.swap_bytes.value_or(0)), " -> ",
                               BytesText(after.swap_bytes.value_or(0))));
  }
  if (before.nodes.size() != after.nodes.size()) {
    all.push_back(absl::StrCat("NUMA nodes ", before.nodes.size(), " -> ", after.nodes.size()));
  }
  if (!all.empty()) return absl::StrJoin(all, ", ");
  return "the same amounts, in other places or with other attributes";
}

}  // namespace plimsoll::agent
