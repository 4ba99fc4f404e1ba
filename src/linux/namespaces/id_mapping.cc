#include "linux/namespaces/id_mapping.h"

#include "absl/strings/str_cat.h"

namespace plimsoll::linux {
namespace {

constexpr size_t kMost = 340;          // user_namespaces(7)
constexpr uint64_t kEnd = 4294967295;  // the last id is one below: -1 means "no id"

bool Overlap(uint64_t a, uint64_t b, const IdMapping& first, const IdMapping& second) {
  return a < b + second.length && b < a + first.length;
}

}  // namespace

std::string IdMapText(const std::vector<IdMapping>& mappings) {
  std::string text;
  for (const IdMapping& each : mappings) {
    absl::StrAppend(&text, each.container_id, " ", each.host_id, " ", each.length, "\n");
  }
  return text;
}

absl::Status CheckIdMappings(absl::string_view field, const std::vector<IdMapping>& mappings) {
  if (mappings.empty() || mappings.size() > kMost) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " has ", mappings.size(), " mappings; there must be 1 to ", kMost));
  }
  for (size_t i = 0; i < mappings.size(); ++i) {
    const IdMapping& one = mappings[i];
    const std::string name = absl::StrCat(field, "[", i, "]");
    if (one.length == 0) {
      return absl::InvalidArgumentError(absl::StrCat(name, ".length is 0; must be 1 or more"));
    }
    if (uint64_t{one.host_id} + one.length > kEnd ||
        uint64_t{one.container_id} + one.length > kEnd) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " maps ids past the last one, ", kEnd - 1));
    }
    for (size_t j = 0; j < i; ++j) {
      const IdMapping& other = mappings[j];
      if (Overlap(one.host_id, other.host_id, one, other) ||
          Overlap(one.container_id, other.container_id, one, other)) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " maps ids that ", field, "[", j, "] maps too"));
      }
    }
  }
  return absl::OkStatus();
}

uint32_t HostIdOf(const std::vector<IdMapping>& mappings, uint32_t container_id) {
  for (const IdMapping& each : mappings) {
    if (container_id >= each.container_id && container_id - each.container_id < each.length) {
      return each.host_id + (container_id - each.container_id);
    }
  }
  return UINT32_MAX;
}

}  // namespace plimsoll::linux
