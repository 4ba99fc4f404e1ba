#include "agent/managers/kubelet_state.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/quoted.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostNameBytes = 253;

absl::Status Fault(absl::string_view place, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", why));
}

// Checks names of pods, containers and resources.
absl::Status CheckName(absl::string_view name, absl::string_view place) {
  const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ||
           c == '/' || c == ':';
  });
  if (!name.empty() && name.size() <= kMostNameBytes && is_plain) return absl::OkStatus();
  return Fault(place, absl::StrCat(Quoted(name), " is no name"));
}

absl::Status CheckObject(const Json& json, absl::string_view place) {
  if (!json.is_object()) return Fault(place, "must be an object");
  for (const auto& [key, value] : json.items()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckName(key, place));
  }
  return absl::OkStatus();
}

absl::Status CheckMembers(const Json& json, const std::set<std::string>& known,
                          absl::string_view place) {
  if (!json.is_object()) return Fault(place, "must be an object");
  for (const auto& [key, value] : json.items()) {
    if (known.contains(key)) continue;
    return Fault(place, absl::StrCat("has member ", Quoted(key), ", and kubelet's have only ",
                                     absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TextAt(const Json& json, const char* member, absl::string_view place) {
  const auto it = json.find(member);
  if (it == json.end() || !it->is_string()) {
    return Fault(place, absl::StrCat(member, " must be a text"));
  }
  return it->get<std::string>();
}

absl::StatusOr<resources::CpuSet> CpusOf(const Json& json, absl::string_view place) {
  if (!json.is_string()) return Fault(place, "must be a list of CPUs in quotes");
  const std::string text = json.get<std::string>();
  const absl::StatusOr<resources::CpuSet> cpus = resources::CpuSet::Parse(text);
  if (!cpus.ok()) return Fault(place, absl::StrCat(Quoted(text), " is no list of CPUs"));
  return *cpus;
}

// The parser takes seconds for millions of open brackets, of which kubelet's files have seven.
bool IsTooDeep(absl::string_view text) {
  constexpr int kMostDepth = 32;
  int depth = 0;
  for (const char each : text) {
    if (each == '[' || each == '{') ++depth;
    if (each == ']' || each == '}') --depth;
    if (depth > kMostDepth) return true;
  }
  return false;
}

// The whole text. `member` stands beside policyName, entries, podEntries and checksum.
absl::StatusOr<Json> Parse(absl::string_view text, const char* file, const char* member) {
  if (text.size() > kMostKubeletState) {
    return Fault(file, absl::StrCat("has ", text.size(), " bytes, more than ", kMostKubeletState));
  }
  if (IsTooDeep(text)) return Fault(file, "has too many brackets in each other");
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Fault(file, "is no JSON");
  PLIMSOLL_RETURN_IF_ERROR(
      CheckMembers(json, {"policyName", member, "entries", "podEntries", "checksum"}, file));
  if (!json.contains("checksum") || !json["checksum"].is_number_unsigned()) {
    return Fault(file, "checksum must be a number from 0 on");
  }
  for (const char* map : {"entries", "podEntries"}) {
    if (!json.contains(map)) json[map] = Json::object();
    if (json[map].is_null()) json[map] = Json::object();
    PLIMSOLL_RETURN_IF_ERROR(CheckObject(json[map], absl::StrCat(file, ": ", map)));
  }
  return json;
}

// False: the policy gave nothing.
absl::StatusOr<bool> IsPolicy(const Json& json, const char* file, const char* gives,
                              const char* gives_not) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string policy, TextAt(json, "policyName", file));
  if (policy == gives) return true;
  if (policy == gives_not) return false;
  return Fault(
      file, absl::StrCat("policyName ", Quoted(policy), " is neither ", gives, " nor ", gives_not));
}

void SetCpus(resources::CpuSet cpus, ContainerGrant& grant) {
  grant.cpu_count = static_cast<int64_t>(cpus.Size());
  grant.cpus = std::move(cpus);
}

absl::Status ReadCpuEntries(const Json& entries, const std::string& place, KubeletState& state) {
  for (const auto& [key, entry] : entries.items()) {
    const std::string here = absl::StrCat(place, ".", key);
    if (entry.is_string()) {
      PLIMSOLL_ASSIGN_OR_RETURN(state.cpus_by_id[key], CpusOf(entry, here));
      continue;
    }
    PLIMSOLL_RETURN_IF_ERROR(CheckObject(entry, here));
    for (const auto& [container, cpus] : entry.items()) {
      PLIMSOLL_ASSIGN_OR_RETURN(resources::CpuSet set,
                                CpusOf(cpus, absl::StrCat(here, ".", container)));
      SetCpus(std::move(set), state.pods[key].containers[container]);
    }
  }
  if (state.cpus_by_id.empty() || state.pods.empty()) return absl::OkStatus();
  return Fault(place, "has entries of two forms: by container id, and by pod");
}

absl::Status ReadCpuState(absl::string_view text, KubeletState& state) {
  constexpr char kFile[] = "cpu_manager_state";
  PLIMSOLL_ASSIGN_OR_RETURN(const Json json, Parse(text, kFile, "defaultCpuSet"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string shared, TextAt(json, "defaultCpuSet", kFile));
  PLIMSOLL_RETURN_IF_ERROR(CpusOf(shared, absl::StrCat(kFile, ": defaultCpuSet")).status());
  PLIMSOLL_ASSIGN_OR_RETURN(const bool gives, IsPolicy(json, kFile, "static", "none"));
  if (!gives) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(
      ReadCpuEntries(json["entries"], absl::StrCat(kFile, ": entries"), state));
  for (const auto& [uid, entry] : json["podEntries"].items()) {
    const std::string place = absl::StrCat(kFile, ": podEntries.", uid);
    PLIMSOLL_RETURN_IF_ERROR(CheckMembers(entry, {"cpuSet"}, place));
    PLIMSOLL_ASSIGN_OR_RETURN(resources::CpuSet cpus,
                              CpusOf(entry.value("cpuSet", Json("")), place));
    SetCpus(std::move(cpus), state.pods[uid].pod);
  }
  return absl::OkStatus();
}

absl::StatusOr<MemoryBlock> BlockOf(const Json& json, const Json& machine,
                                    const std::string& place) {
  PLIMSOLL_RETURN_IF_ERROR(CheckMembers(json, {"numaAffinity", "type", "size"}, place));
  MemoryBlock block;
  PLIMSOLL_ASSIGN_OR_RETURN(block.resource, TextAt(json, "type", place));
  PLIMSOLL_RETURN_IF_ERROR(CheckName(block.resource, absl::StrCat(place, ": type")));
  const Json size = json.value("size", Json());
  if (!size.is_number_unsigned() || size.get<uint64_t>() > uint64_t{INT64_MAX}) {
    return Fault(place, "size must be a number of bytes");
  }
  block.bytes = size.get<int64_t>();
  const Json nodes = json.value("numaAffinity", Json());
  if (!nodes.is_array() || nodes.empty()) {
    return Fault(place, "numaAffinity must be a list of NUMA nodes");
  }
  for (const Json& node : nodes) {
    if (!node.is_number_unsigned() || node.get<uint64_t>() >= NodeMask::kMost) {
      return Fault(place,
                   absl::StrCat("numaAffinity must have numbers from 0 to ", NodeMask::kMost - 1));
    }
    if (!machine.contains(absl::StrCat(node.get<uint64_t>()))) {
      return Fault(place, absl::StrCat("machineState has no NUMA node ", node.get<uint64_t>()));
    }
    block.nodes.Add(node.get<uint32_t>());
  }
  if (block.bytes > 0) block.shares[block.nodes.ToVector().front()] = block.bytes;
  return block;
}

absl::Status ReadBlocks(const Json& list, const Json& machine, const std::string& place,
                        ContainerGrant& grant) {
  if (list.is_null()) return absl::OkStatus();
  if (!list.is_array()) return Fault(place, "must be a list");
  for (const Json& each : list) {
    PLIMSOLL_ASSIGN_OR_RETURN(MemoryBlock block, BlockOf(each, machine, place));
    grant.memory.push_back(std::move(block));
  }
  return absl::OkStatus();
}

absl::Status ReadMemoryState(absl::string_view text, KubeletState& state) {
  constexpr char kFile[] = "memory_manager_state";
  PLIMSOLL_ASSIGN_OR_RETURN(Json json, Parse(text, kFile, "machineState"));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool gives, IsPolicy(json, kFile, "Static", "None"));
  if (!gives) return absl::OkStatus();
  const Json machine = json.value("machineState", Json());
  PLIMSOLL_RETURN_IF_ERROR(CheckObject(machine, absl::StrCat(kFile, ": machineState")));
  for (const auto& [uid, entry] : json["entries"].items()) {
    const std::string place = absl::StrCat(kFile, ": entries.", uid);
    PLIMSOLL_RETURN_IF_ERROR(CheckObject(entry, place));
    for (const auto& [container, blocks] : entry.items()) {
      PLIMSOLL_RETURN_IF_ERROR(ReadBlocks(blocks, machine, absl::StrCat(place, ".", container),
                                          state.pods[uid].containers[container]));
    }
  }
  for (const auto& [uid, entry] : json["podEntries"].items()) {
    const std::string place = absl::StrCat(kFile, ": podEntries.", uid);
    PLIMSOLL_RETURN_IF_ERROR(CheckMembers(entry, {"memoryBlocks"}, place));
    PLIMSOLL_RETURN_IF_ERROR(
        ReadBlocks(entry.value("memoryBlocks", Json()), machine, place, state.pods[uid].pod));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KubeletState> ReadKubeletState(absl::string_view cpu_state,
                                              absl::string_view memory_state) {
  KubeletState state;
  if (!cpu_state.empty()) PLIMSOLL_RETURN_IF_ERROR(ReadCpuState(cpu_state, state));
  if (!memory_state.empty()) PLIMSOLL_RETURN_IF_ERROR(ReadMemoryState(memory_state, state));
  return state;
}

}  // namespace plimsoll::agent
