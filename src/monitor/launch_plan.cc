#include "monitor/launch_plan.h"

#include <cstring>

namespace plimsoll::monitor {

const char* LaunchPlan::Next(const char* key, const char* previous, const char* end) const {
  const size_t length = strlen(key);
  const char* at = previous == nullptr ? text_ : previous + strlen(previous) + 1;
  if (end == nullptr) end = text_ + size_;
  for (; at < end; at += strlen(at) + 1) {
    if (strncmp(at, key, length) == 0 && at[length] == '=') return at + length + 1;
  }
  return nullptr;
}

}  // namespace plimsoll::monitor
