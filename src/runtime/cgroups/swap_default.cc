#include "runtime/cgroups/swap_default.h"

namespace plimsoll::runtime {
namespace {

bool HasSwap(const linux::CgroupSettings& settings, linux::CgroupLayout layout) {
  return settings.memory_swap_limit_bytes.has_value() ||
         (layout == linux::CgroupLayout::kV2 && settings.unified.contains("memory.swap.max"));
}

}  // namespace

void LimitSwapByDefault(const linux::CgroupSettings& present, linux::CgroupLayout layout,
                        linux::CgroupSettings* change) {
  if (change->memory_limit_bytes.value_or(-1) < 0 || HasSwap(*change, layout)) return;
  const bool has_none = present.memory_limit_bytes.has_value() &&
                        present.memory_swap_limit_bytes == present.memory_limit_bytes &&
                        *present.memory_limit_bytes >= 0;
  if (HasSwap(present, layout) && !has_none) return;
  // An earlier build limited memory alone. v1 refuses a sum below what is in use, and with it the
  // whole update.
  const bool is_v1 = layout != linux::CgroupLayout::kV2;
  if (is_v1 && !has_none && present.memory_limit_bytes.value_or(-1) >= 0) return;
  change->memory_swap_limit_bytes = change->memory_limit_bytes;
}

}  // namespace plimsoll::runtime
