#include "topology/machine/contradictions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/machine/kernel_files.h"
#include "topology/machine/machine_file.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;

// The kernel's claims about a CPU's package.
struct Claim {
  CpuSet mask;
  std::optional<uint32_t> id;
};

absl::StatusOr<std::optional<Claim>> ReadClaim(const FsRoot& root, uint32_t cpu,
                                               const CpuSet& online) {
  const std::string directory = absl::StrCat(kCpuFiles, "/cpu", cpu, "/topology/");
  Claim claim;
  PLIMSOLL_ASSIGN_OR_RETURN(std::optional<CpuSet> mask, ReadMask(root, directory + "package_cpus"));
  if (!mask) {  // its name before Linux 5.2
    PLIMSOLL_ASSIGN_OR_RETURN(mask, ReadMask(root, directory + "core_siblings"));
  }
  if (mask) claim.mask = mask->Intersection(online);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<uint64_t> id,
                            ReadNumber(root, directory + "physical_package_id"));
  if (id) claim.id = static_cast<uint32_t>(*id);
  if (!mask && !id) return std::nullopt;
  return claim;
}

using Claims = std::map<uint32_t, Claim>;

// True when each CPU is in its own mask, and all CPUs of a mask have the same.
bool MasksAgree(const Claims& claims) {
  for (const auto& [cpu, claim] : claims) {
    if (!claim.mask.Contains(cpu)) return false;
    for (const uint32_t other : claim.mask.ToVector()) {
      const auto found = claims.find(other);
      if (found == claims.end() || found->second.mask != claim.mask) return false;
    }
  }
  return true;
}

std::vector<Package> ByMask(const Claims& claims) {
  std::vector<Package> packages;
  for (const auto& [cpu, claim] : claims) {
    if (claim.mask.ToVector().front() != cpu) continue;
    packages.push_back({.id = claim.id, .cpus = claim.mask});
  }
  return packages;
}

// Empty if any CPU has no number.
std::vector<Package> ByNumber(const Claims& claims) {
  std::map<uint32_t, Package> packages;
  for (const auto& [cpu, claim] : claims) {
    if (!claim.id) return {};
    packages[*claim.id].id = claim.id;
    packages[*claim.id].cpus.Add(cpu);
  }
  std::vector<Package> all;
  for (auto& [id, package] : packages) all.push_back(std::move(package));
  return all;
}

bool Overlap(const CpuSet& a, const CpuSet& b) {
  return !a.Intersection(b).Empty() && !a.IsSubsetOf(b) && !b.IsSubsetOf(a);
}

// Parses "8192K".
absl::StatusOr<uint64_t> ReadSize(const FsRoot& root, const std::string& file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const MachineFile read, ReadMachineFile(root, file));
  uint64_t kib = 0;
  const absl::string_view text = absl::StripAsciiWhitespace(read.text);
  return absl::SimpleAtoi(absl::StripSuffix(text, "K"), &kib) ? kib * 1024 : 0;
}

// Data and unified caches above the first level, as in a Machine.
absl::StatusOr<std::vector<Cache>> ReadCaches(const FsRoot& root, uint32_t cpu,
                                              const CpuSet& online) {
  const std::string caches = absl::StrCat(kCpuFiles, "/cpu", cpu, "/cache");
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<uint32_t> indexes,
                            ListNumbered(root, caches, "index"));
  std::vector<Cache> found;
  for (const uint32_t index : indexes) {
    const std::string directory = absl::StrCat(caches, "/index", index, "/");
    PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<uint64_t> level,
                              ReadNumber(root, directory + "level"));
    if (!level || *level < 2) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const MachineFile type, ReadMachineFile(root, directory + "type"));
    if (absl::StartsWith(type.text, "Instruction")) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<CpuSet> cpus,
                              ReadMask(root, directory + "shared_cpu_map"));
    if (!cpus) continue;
    Cache cache = {.level = static_cast<uint32_t>(*level), .cpus = cpus->Intersection(online)};
    PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<uint64_t> id, ReadNumber(root, directory + "id"));
    if (id) cache.id = static_cast<uint32_t>(*id);
    PLIMSOLL_ASSIGN_OR_RETURN(cache.size_bytes, ReadSize(root, directory + "size"));
    found.push_back(std::move(cache));
  }
  return found;
}

bool IsSame(const Cache& a, const Cache& b) {
  return a.level == b.level && a.cpus == b.cpus;
}

bool IsAmong(const Cache& cache, const std::vector<Cache>& caches) {
  return std::any_of(caches.begin(), caches.end(),
                     [&](const Cache& other) { return IsSame(cache, other); });
}

// True when all CPUs of a cache describe it alike.
absl::StatusOr<bool> IsAgreed(const FsRoot& root, const CpuSet& online, const Cache& cache) {
  for (const uint32_t cpu : cache.cpus.ToVector()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Cache> caches, ReadCaches(root, cpu, online));
    if (!IsAmong(cache, caches)) return false;
  }
  return true;
}

// Adds a cache that its CPUs agree on, and removes overlapping ones whose CPUs disagree. False: it
// contradicts a package, or a cache that its CPUs agree on too.
absl::StatusOr<bool> AddCache(const FsRoot& root, const Cache& cache, Machine& machine,
                              std::vector<Cache>* taken_out) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool agreed, IsAgreed(root, machine.cpus, cache));
  if (!agreed) return false;
  for (const Package& package : machine.packages) {
    if (Overlap(package.cpus, cache.cpus)) return false;
  }
  std::vector<Cache> kept, in_its_way;
  for (const Cache& other : machine.caches) {
    (Overlap(other.cpus, cache.cpus) ? in_its_way : kept).push_back(other);
  }
  for (const Cache& other : in_its_way) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool as_good, IsAgreed(root, machine.cpus, other));
    if (as_good) return false;
  }
  machine.caches = std::move(kept);
  machine.caches.push_back(cache);
  taken_out->insert(taken_out->end(), in_its_way.begin(), in_its_way.end());
  return true;
}

// The caches that hwloc left out. Reads only files of cores that have fewer caches than others:
// files are many.
absl::StatusOr<std::vector<Cache>> LostCaches(const FsRoot& root, const Machine& machine) {
  std::map<uint32_t, int> caches_of;  // by CPU
  for (const Cache& cache : machine.caches) {
    for (const uint32_t cpu : cache.cpus.ToVector()) ++caches_of[cpu];
  }
  int most = 0;
  for (const auto& [cpu, count] : caches_of) most = std::max(most, count);
  std::vector<Cache> lost;
  for (const Core& core : machine.cores) {
    if (caches_of[core.cpus.ToVector().front()] == most) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Cache> caches,
                              ReadCaches(root, core.cpus.ToVector().front(), machine.cpus));
    for (const Cache& cache : caches) {
      if (!IsAmong(cache, machine.caches) && !IsAmong(cache, lost)) lost.push_back(cache);
    }
  }
  return lost;
}

// The CPUs that are in none of the parts.
template <typename Part>
CpuSet Without(CpuSet cpus, const std::vector<Part>& parts) {
  for (const Part& part : parts) cpus = cpus.Difference(part.cpus);
  return cpus;
}

// The first node with CPUs of the package; else the first.
NumaNode& NodeFor(const Package& package, std::vector<NumaNode>& nodes) {
  const auto found = absl::c_find_if(
      nodes, [&](const NumaNode& node) { return !node.cpus.Intersection(package.cpus).Empty(); });
  return found == nodes.end() ? nodes.front() : *found;
}

}  // namespace

absl::Status RestorePackages(const FsRoot& root, Machine& machine) {
  const auto told = absl::c_find(machine.missing, kNoPackages);
  const bool are_named = told == machine.missing.end();
  CpuSet without = machine.cpus;
  for (const Package& package : machine.packages) {
    if (are_named) without = without.Difference(package.cpus);
  }
  if (without.Empty()) return absl::OkStatus();
  Claims claims;
  for (const uint32_t cpu : machine.cpus.ToVector()) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::optional<Claim> claim, ReadClaim(root, cpu, machine.cpus));
    if (!claim) return absl::OkStatus();  // files of another kind: hwloc knows better
    claims[cpu] = *std::move(claim);
  }
  const bool by_mask = MasksAgree(claims);
  std::vector<Package> packages = by_mask ? ByMask(claims) : ByNumber(claims);
  if (!are_named) {
    if (packages.empty()) return absl::OkStatus();  // which has been told
    machine.missing.erase(told);
    machine.packages = std::move(packages);
    return absl::OkStatus();
  }
  if (packages.empty()) {
    machine.missing.push_back(absl::StrCat("the machine's files contradict each other on the ",
                                           "package of CPUs ", without.ToString()));
    return absl::OkStatus();
  }
  for (Package& package : packages) {
    for (const Package& known : machine.packages) {
      if (package.cpus.Intersection(known.cpus).Empty()) continue;
      package.attributes = known.attributes;
    }
    // Packages are nearly always all alike.
    if (package.attributes.empty() && !machine.packages.empty()) {
      package.attributes = machine.packages[0].attributes;
    }
  }
  machine.packages = std::move(packages);
  machine.missing.push_back(
      absl::StrCat("the machine's files contradict each other on the packages of CPUs ",
                   without.ToString(), ": packages are shown by the ",
                   by_mask ? "masks (package_cpus)" : "numbers (physical_package_id)"));
  return absl::OkStatus();
}

absl::Status RestoreCaches(const FsRoot& root, Machine& machine) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Cache> lost, LostCaches(root, machine));
  std::vector<Cache> left_out;
  for (const Cache& cache : lost) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool added, AddCache(root, cache, machine, &left_out));
    if (!added) left_out.push_back(cache);
  }
  if (left_out.empty()) return absl::OkStatus();
  std::vector<std::string> names;
  for (const Cache& cache : left_out) {
    names.push_back(absl::StrCat("L", cache.level, " of CPUs ", cache.cpus.ToString()));
  }
  machine.missing.push_back(absl::StrCat("caches that contradict others in the machine's files ",
                                         "are left out: ", absl::StrJoin(names, "; ")));
  return absl::OkStatus();
}

void PlaceRest(Machine& machine) {
  const CpuSet in_no_package = Without(machine.cpus, machine.packages);
  if (!in_no_package.Empty()) {
    machine.packages.push_back({.id = std::nullopt, .cpus = in_no_package});
    machine.missing.push_back(absl::StrCat("CPUs ", in_no_package.ToString(),
                                           " are in no package: they are shown as one"));
  }
  if (machine.nodes.size() < 2) return;
  CpuSet in_no_node = Without(machine.cpus, machine.nodes);
  for (const Package& package : machine.packages) {
    const CpuSet rest = package.cpus.Intersection(in_no_node);
    if (rest.Empty()) continue;
    in_no_node = in_no_node.Difference(rest);
    NumaNode& node = NodeFor(package, machine.nodes);
    node.cpus = node.cpus.Union(rest);
    machine.missing.push_back(absl::StrCat(
        "CPUs ", rest.ToString(), " are in no NUMA node: they are shown in node ", node.id));
  }
}

void TellOverlaps(Machine& machine) {
  std::vector<std::string> found;
  for (const Package& package : machine.packages) {
    for (const NumaNode& node : machine.nodes) {
      if (!Overlap(package.cpus, node.cpus)) continue;
      found.push_back(absl::StrCat("the package of CPUs ", package.cpus.ToString(),
                                   " and NUMA node ", node.id, " of CPUs ", node.cpus.ToString()));
    }
  }
  if (found.empty()) return;
  machine.missing.push_back(absl::StrCat(absl::StrJoin(found, "; "),
                                         " overlap, and neither is within the other: cores of both "
                                         "are shown in the smaller of the two"));
}

}  // namespace plimsoll::topology
