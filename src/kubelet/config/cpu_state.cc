#include "kubelet/config/cpu_state.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::kubelet {
namespace {

using nlohmann::json;
using resources::CpuSet;

absl::Status NoState(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("no state of kubelet's CPU manager: ", why));
}

absl::StatusOr<std::string> TextIn(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::string();
  if (!found->is_string()) return NoState(absl::StrCat(key, " is no text"));
  return found->get<std::string>();
}

absl::StatusOr<CpuSet> CpusIn(const json& value, absl::string_view holder) {
  if (!value.is_string()) return NoState(absl::StrCat("the CPUs of ", holder, " are no text"));
  auto cpus = CpuSet::Parse(value.get<std::string>());
  if (!cpus.ok()) return Annotate(cpus.status(), absl::StrCat("the CPUs of ", holder));
  return cpus;
}

absl::Status ReadEntries(const json& entries, CpuState* state) {
  if (!entries.is_object()) return NoState("entries is no object");
  for (const auto& [pod, containers] : entries.items()) {
    if (!containers.is_object()) return NoState(absl::StrCat("pod ", pod, " is no object"));
    for (const auto& [name, value] : containers.items()) {
      std::string holder = absl::StrCat("container ", name, " of pod ", pod);
      PLIMSOLL_ASSIGN_OR_RETURN(CpuSet cpus, CpusIn(value, holder));
      state->exclusive.push_back({std::move(holder), std::move(cpus)});
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CpuState> ReadCpuState(const std::string& text) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return NoState("no JSON object");
  CpuState state;
  PLIMSOLL_ASSIGN_OR_RETURN(state.policy, TextIn(document, "policyName"));
  if (state.policy.empty()) return NoState("policyName is missing");
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string shared, TextIn(document, "defaultCpuSet"));
  PLIMSOLL_ASSIGN_OR_RETURN(state.shared, CpusIn(shared, "defaultCpuSet"));
  const auto entries = document.find("entries");
  if (entries == document.end() || entries->is_null()) return state;
  PLIMSOLL_RETURN_IF_ERROR(ReadEntries(*entries, &state));
  return state;
}

}  // namespace plimsoll::kubelet
