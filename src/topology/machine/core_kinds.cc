#include "topology/machine/core_kinds.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status.h"
#include "topology/machine/kernel_files.h"
#include "topology/machine/lxcfs.h"
#include "topology/machine/machine_file.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;

constexpr double kGap = 1.15;
// Units of the kernel's files: cpufreq's, and CPPC's.
constexpr uint64_t kKhz = 1000;
constexpr uint64_t kMhz = 1;

// The core's implementer and part number: bits 31-24 and 15-4 of MIDR_EL1 (Arm ARM D19.2.122).
// Variant and revision don't make another kind.
uint32_t PartOf(uint64_t midr) {
  return static_cast<uint32_t>((midr >> 24 & 0xff) << 12 | (midr >> 4 & 0xfff));
}

// Part numbers by CPU from /proc/cpuinfo, for kernels that don't show the register. None where
// LXCFS has renumbered the CPUs.
absl::StatusOr<std::map<uint32_t, uint32_t>> ReadParts(const FsRoot& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_by_lxcfs, IsByLxcfs(root, "/proc/cpuinfo"));
  if (is_by_lxcfs) return std::map<uint32_t, uint32_t>();
  PLIMSOLL_ASSIGN_OR_RETURN(const MachineFile info,
                            ReadMachineFile(root, "proc/cpuinfo", 64 * 1024 * 1024));
  std::map<uint32_t, uint32_t> parts;
  uint32_t cpu = 0, maker = 0;
  for (const absl::string_view line : absl::StrSplit(info.text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    const absl::string_view name = absl::StripAsciiWhitespace(field.first);
    const absl::string_view value = absl::StripAsciiWhitespace(field.second);
    uint32_t number = 0;
    if (name == "processor" && absl::SimpleAtoi(value, &number)) cpu = number;
    if (name == "CPU implementer" && absl::SimpleHexAtoi(value, &number)) maker = number;
    if (name == "CPU part" && absl::SimpleHexAtoi(value, &number)) {
      parts[cpu] = maker << 12 | number;
    }
  }
  return parts;
}

// A core type of Intel's and its CPUs, from the kernel's lists.
struct Named {
  const char* core_type;
  CpuSet cpus;
};
absl::StatusOr<std::vector<Named>> ReadNames(const FsRoot& root) {
  std::vector<Named> names;
  for (const auto& [file, core_type] : {std::pair("sys/devices/cpu_core/cpus", "IntelCore"),
                                        std::pair("sys/devices/cpu_atom/cpus", "IntelAtom"),
                                        std::pair("sys/devices/cpu_lowpower/cpus", "IntelAtom")}) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::optional<CpuSet> cpus, ReadList(root, file));
    if (cpus) names.push_back({core_type, *std::move(cpus)});
  }
  return names;
}

class KindReader {
 public:
  KindReader(const FsRoot& root, const Machine& machine) : root_(root), machine_(machine) {}

  absl::StatusOr<CoreKind> Read(const Core& core) {
    const uint32_t cpu = core.cpus.ToVector().front();
    const std::string directory = absl::StrCat(kCpuFiles, "/cpu", cpu, "/");
    CoreKind kind = Known(cpu);
    kind.cpus = core.cpus;
    PLIMSOLL_RETURN_IF_ERROR(ReadFrequencies(core, kind));
    PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<uint64_t> capacity,
                              ReadNumber(root_, directory + "cpu_capacity"));
    if (capacity) kind.capacity = static_cast<uint32_t>(*capacity);
    PLIMSOLL_ASSIGN_OR_RETURN(kind.part, ReadPart(cpu, directory));
    if (!names_) {
      PLIMSOLL_ASSIGN_OR_RETURN(names_, ReadNames(root_));
    }
    for (const Named& named : *names_) {
      if (named.cpus.Contains(cpu)) kind.core_type = named.core_type;
    }
    return kind;
  }

 private:
  // hwloc's kind of a core; it may have levelled the frequencies.
  CoreKind Known(uint32_t cpu) const {
    for (const CoreKind& kind : machine_.core_kinds) {
      if (kind.cpus.Contains(cpu)) return kind;
    }
    return {};
  }
  absl::Status ReadFrequencies(const Core& core, CoreKind& kind) const {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<uint64_t> most,
                              FirstMhz(core, "cpufreq/cpuinfo_max_freq", kKhz));
    if (most) kind.max_freq_mhz = most;
    PLIMSOLL_ASSIGN_OR_RETURN(std::optional<uint64_t> base,
                              FirstMhz(core, "cpufreq/base_frequency", kKhz));
    if (!base && !kind.base_freq_mhz) {
      PLIMSOLL_ASSIGN_OR_RETURN(base, FirstMhz(core, "acpi_cppc/nominal_freq", kMhz));
    }
    if (base) kind.base_freq_mhz = base;
    return absl::OkStatus();
  }
  // The value of the first CPU that has the file: drivers may leave out threads.
  absl::StatusOr<std::optional<uint64_t>> FirstMhz(const Core& core, absl::string_view file,
                                                   uint64_t per_mhz) const {
    for (const uint32_t cpu : core.cpus.ToVector()) {
      PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<uint64_t> frequency,
                                ReadNumber(root_, absl::StrCat(kCpuFiles, "/cpu", cpu, "/", file)));
      if (frequency && *frequency >= per_mhz) return *frequency / per_mhz;
    }
    return std::nullopt;
  }
  absl::StatusOr<std::optional<uint32_t>> ReadPart(uint32_t cpu, const std::string& directory) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<uint64_t> midr,
                              ReadNumber(root_, directory + "regs/identification/midr_el1"));
    if (midr) return PartOf(*midr);
    if (!parts_) {
      PLIMSOLL_ASSIGN_OR_RETURN(parts_, ReadParts(root_));
    }
    const auto part = parts_->find(cpu);
    return part == parts_->end() ? std::nullopt : std::optional(part->second);
  }

  const FsRoot& root_;
  const Machine& machine_;
  std::optional<std::vector<Named>> names_;
  std::optional<std::map<uint32_t, uint32_t>> parts_;
};

// The key of a kind.
auto KeyOf(const CoreKind& kind) {
  return std::tie(kind.capacity, kind.core_type, kind.part, kind.base_freq_mhz, kind.max_freq_mhz);
}

// A kind's computing power; 0: unknown.
double PowerOf(const CoreKind& kind) {
  if (kind.capacity) return *kind.capacity;
  return kind.part ? static_cast<double>(kind.max_freq_mhz.value_or(0)) : 0;
}

// For each kind the power of its sort: the highest of a core with its part number.
std::vector<double> PowersOfSorts(const std::vector<CoreKind>& kinds) {
  std::vector<double> powers;
  for (const CoreKind& kind : kinds) {
    double power = PowerOf(kind);
    for (const CoreKind& other : kinds) {
      if (kind.part && other.part == kind.part) power = std::max(power, PowerOf(other));
    }
    powers.push_back(power);
  }
  return powers;
}

bool HaveNames(const std::vector<CoreKind>& kinds) {
  return std::any_of(kinds.begin(), kinds.end(),
                     [](const CoreKind& kind) { return !kind.core_type.empty(); });
}

}  // namespace

absl::Status ReadCoreKinds(const FsRoot& root, Machine& machine) {
  KindReader reader(root, machine);
  std::vector<CoreKind> kinds;
  for (const Core& core : machine.cores) {
    PLIMSOLL_ASSIGN_OR_RETURN(CoreKind kind, reader.Read(core));
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const CoreKind& other) {
      return KeyOf(other) == KeyOf(kind);
    });
    if (same == kinds.end()) {
      kinds.push_back(std::move(kind));
    } else {
      same->cpus = same->cpus.Union(kind.cpus);
    }
  }
  machine.core_kinds = std::move(kinds);
  return absl::OkStatus();
}

std::vector<std::optional<bool>> WhichAreFast(const std::vector<CoreKind>& kinds) {
  std::vector<std::optional<bool>> fast(kinds.size());
  if (HaveNames(kinds)) {
    const bool hybrid = std::any_of(kinds.begin(), kinds.end(), [&](const CoreKind& kind) {
      return kind.core_type != kinds[0].core_type;
    });
    for (size_t i = 0; hybrid && i < kinds.size(); ++i) fast[i] = kinds[i].core_type != "IntelAtom";
    return fast;
  }
  const std::vector<double> powers = PowersOfSorts(kinds);
  std::vector<double> sorted = powers;
  std::sort(sorted.begin(), sorted.end());
  double gap = kGap;
  double least_fast = 0;
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i - 1] == 0 || sorted[i] / sorted[i - 1] < gap) continue;
    gap = sorted[i] / sorted[i - 1];
    least_fast = sorted[i];
  }
  for (size_t i = 0; least_fast > 0 && i < kinds.size(); ++i) {
    if (powers[i] > 0) fast[i] = powers[i] >= least_fast;
  }
  return fast;
}

}  // namespace plimsoll::topology
