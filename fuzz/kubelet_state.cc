// kubelet's checkpoints of its CPU and memory managers, as plimsoll-agent imports them. The input
// is both texts, with a line "---" between them.
#include "agent/managers/kubelet_state.h"

#include <nlohmann/json.hpp>

#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  constexpr absl::string_view kBetween = "\n---\n";
  const absl::string_view text = Text(data, size);
  const size_t end = text.find(kBetween);
  const bool has_both = end != absl::string_view::npos;
  const auto state = plimsoll::agent::ReadKubeletState(
      text.substr(0, end), has_both ? text.substr(end + kBetween.size()) : "");
  if (!state.ok()) {
    CheckRefusal(state.status());
    FUZZ_CHECK(state.status().message().size() < 4096, std::string(state.status().message()));
    return 0;
  }
  // A state that was read can be kept.
  for (const auto& [uid, grant] : state->pods) {
    FUZZ_CHECK(!uid.empty(), "a pod without a uid");
    const nlohmann::json json = plimsoll::agent::ToJson(grant);
    const auto again = plimsoll::agent::PodGrantOf(json);
    FUZZ_CHECK(again.ok(), again.status().ToString());
    FUZZ_CHECK(plimsoll::agent::ToJson(*again) == json, json.dump());
  }
  for (const auto& [id, cpus] : state->cpus_by_id) FUZZ_CHECK(!id.empty(), cpus.ToString());
  return 0;
}
