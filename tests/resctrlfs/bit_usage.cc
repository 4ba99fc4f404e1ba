#include "resctrlfs/bit_usage.h"

#include <optional>

#include "absl/strings/str_cat.h"

namespace plimsoll::resctrlfs {
namespace {

std::string Letters(const State& state, const Schema& schema, size_t instance) {
  uint32_t shared = 0;
  uint32_t exclusive = 0;
  const ClosidModes modes = state.Modes();
  for (size_t closid = 0; closid < modes.size(); ++closid) {
    const uint32_t mask = schema.values[instance][closid];
    if (modes[closid] == Mode::kShareable) shared |= mask;
    if (modes[closid] == Mode::kExclusive) exclusive |= mask;
  }
  std::string letters;
  for (int bit = schema.cache->mask_bits - 1; bit >= 0; --bit) {
    const bool hardware = (schema.cache->shareable_bits >> bit & 1) != 0;
    const bool software = (shared >> bit & 1) != 0;
    if (hardware) {
      letters += software ? 'X' : 'H';
    } else if (software) {
      letters += 'S';
    } else {
      letters += (exclusive >> bit & 1) != 0 ? 'E' : '0';
    }
  }
  return letters;
}

}  // namespace

std::string ShowBitUsage(const State& state, size_t schema) {
  const Schema& shown = state.controls.schemas()[schema];
  std::string text;
  for (size_t i = 0; i < shown.ids.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ";", shown.ids[i], "=", Letters(state, shown, i));
  }
  return text + "\n";
}

}  // namespace plimsoll::resctrlfs
