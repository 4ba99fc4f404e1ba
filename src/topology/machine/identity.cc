#include "topology/machine/identity.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "topology/machine/lxcfs.h"
#include "topology/machine/machine_file.h"
#include "topology/zones/zone.h"

namespace plimsoll::topology {
namespace {

using Features = std::set<std::string>;

// The first of the files with content. A device tree's text ends with a NUL.
absl::StatusOr<MachineFile> FirstOf(const FsRoot& root, const std::vector<const char*>& files) {
  MachineFile none;
  for (const char* file : files) {
    PLIMSOLL_ASSIGN_OR_RETURN(MachineFile read, ReadMachineFile(root, file, 4096));
    absl::string_view value = read.text;
    value = absl::StripAsciiWhitespace(value.substr(0, value.find('\0')));
    if (!value.empty()) return MachineFile{.text = std::string(value), .why_not = ""};
    if (none.why_not.empty()) none.why_not = std::move(read.why_not);
  }
  return none;
}

Features Common(const Features& a, const Features& b) {
  Features both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

// Features by CPU; of_all where the file names them once, as on s390x.
struct CpuFeatures {
  std::map<uint32_t, Features> by_cpu;
  Features of_all;
};

CpuFeatures ParseCpuInfo(absl::string_view text) {
  CpuFeatures found;
  std::optional<uint32_t> cpu;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    const absl::string_view name = absl::StripAsciiWhitespace(field.first);
    uint32_t number = 0;
    if (name == "processor" && absl::SimpleAtoi(field.second, &number)) cpu = number;
    if (name != "flags" && name != "Features" && name != "features") continue;
    Features& features = cpu ? found.by_cpu[*cpu] : found.of_all;
    for (const absl::string_view feature :
         absl::StrSplit(field.second, ' ', absl::SkipWhitespace())) {
      features.emplace(feature);
    }
  }
  return found;
}

// Reduces to the features common to all CPUs: it is unknown which CPU each entry describes.
void X86Level(CpuFeatures& found) {
  bool is_first = found.of_all.empty();
  for (const auto& [cpu, features] : found.by_cpu) {
    found.of_all = is_first ? features : Common(found.of_all, features);
    is_first = false;
  }
  found.by_cpu.clear();
}

}  // namespace

absl::Status ReadIdentity(const FsRoot& root, Machine& machine) {
  const std::pair<const char*, std::vector<const char*>> sources[] = {
      {kMachineId, {"etc/machine-id", "var/lib/dbus/machine-id"}},
      {kBootId, {"proc/sys/kernel/random/boot_id"}},
      {kSystemUuid,
       {"sys/class/dmi/id/product_uuid", "sys/hypervisor/uuid",
        "sys/firmware/devicetree/base/system-id", "sys/firmware/devicetree/base/vm,uuid"}}};
  for (const auto& [attribute, files] : sources) {
    PLIMSOLL_ASSIGN_OR_RETURN(MachineFile value, FirstOf(root, files));
    if (!value.text.empty()) {
      machine.attributes[attribute] = std::move(value.text);
      continue;
    }
    machine.missing.push_back(absl::StrCat(
        "there is no ", attribute, ": ",
        value.why_not.empty() ? absl::StrCat("nothing to be read in ", absl::StrJoin(files, ", "))
                              : value.why_not));
  }
  return absl::OkStatus();
}

absl::Status ReadCpuFeatures(const FsRoot& root, Machine& machine) {
  PLIMSOLL_ASSIGN_OR_RETURN(const MachineFile info,
                            ReadMachineFile(root, "proc/cpuinfo", 64 * 1024 * 1024));
  CpuFeatures found = ParseCpuInfo(info.text);
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_by_lxcfs, IsByLxcfs(root, "/proc/cpuinfo"));
  if (is_by_lxcfs) {
    X86Level(found);
    machine.missing.emplace_back(
        "LXCFS renumbers the CPUs of /proc/cpuinfo: of each package those features are shown "
        "that all CPUs there have");
  }
  for (Package& package : machine.packages) {
    std::optional<Features> common;
    for (const uint32_t cpu : package.cpus.ToVector()) {
      const auto own = found.by_cpu.find(cpu);
      const Features& features = own == found.by_cpu.end() ? found.of_all : own->second;
      common = common ? Common(*common, features) : features;
    }
    if (common && !common->empty()) {
      package.attributes["cpu-features"] = absl::StrJoin(*common, ",");
    }
  }
  return absl::OkStatus();
}

absl::Status ReadSwap(const FsRoot& root, Machine& machine) {
  PLIMSOLL_ASSIGN_OR_RETURN(const MachineFile info, ReadMachineFile(root, "proc/meminfo"));
  for (absl::string_view line : absl::StrSplit(info.text, '\n')) {
    if (!absl::ConsumePrefix(&line, "SwapTotal:")) continue;
    uint64_t kib = 0;
    if (absl::SimpleAtoi(absl::StripSuffix(line, "kB"), &kib)) machine.swap_bytes = kib * 1024;
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::topology
