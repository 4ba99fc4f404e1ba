// The target of a request to the agent's socket: its path and its query.
#include <algorithm>

#include "agent/http/target.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace agent = plimsoll::agent;
  const auto target = agent::ParseTarget(Text(data, size));
  if (!target.ok()) {
    CheckRefusal(target.status());
    return 0;
  }
  for (const std::string& component : target->path) {
    const bool clean = std::none_of(component.begin(), component.end(),
                                    [](char c) { return static_cast<unsigned char>(c) < ' '; });
    FUZZ_CHECK(clean && !component.empty() && component != "..", component);
  }
  const std::string text = agent::FormatTarget(*target);
  const auto again = agent::ParseTarget(text);
  FUZZ_CHECK(again.ok(), again.status().ToString());
  FUZZ_CHECK(*again == *target, text);
  return 0;
}
