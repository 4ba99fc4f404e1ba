// A plan for plimsoll-exec, with values chosen by images and clients; and the same bytes as a
// container process might write them to its supervisor's pipe.
#include <sys/mman.h>

#include "check.h"
#include "container_entry/plan.h"
#include "container_entry/report.h"

namespace {

namespace entry = plimsoll::entry;

void CheckReport(const uint8_t* data, size_t size) {
  entry::Failure failure;
  const bool known = entry::Decode(data, size, &failure);
  FUZZ_CHECK(known == (failure.step != entry::Step::kNone), "step");
  FUZZ_CHECK(failure.step < entry::Step::kCount, "step");
}

// plimsoll-exec itself ends, or becomes the command.
void Free(char** list) {
  size_t count = 1;
  for (char** each = list; each != nullptr && *each != nullptr; ++each) ++count;
  if (list != nullptr) munmap(list, count * sizeof(char*));
}

void CheckPlan(const entry::Plan& plan) {
  constexpr uint32_t kKeep = UINT32_MAX;  // for setresuid(2): unchanged
  FUZZ_CHECK(plan.uid != kKeep && plan.gid != kKeep, "id");
  FUZZ_CHECK(plan.pid > 0 && plan.log >= 0 && plan.init >= 0, "number");
  FUZZ_CHECK(plan.text.Has("filter") == (plan.filter >= 0), "a filter that is passed over");
  FUZZ_CHECK(plan.arguments[0] != nullptr, "no command");
  static gid_t groups[entry::kMaxGroups];
  size_t count = 0;
  if (entry::ParseGroups(plan.text.Get("groups"), groups, &count)) {
    for (size_t i = 0; i < count; ++i) FUZZ_CHECK(groups[i] != kKeep, "group");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  CheckReport(data, size);
  entry::Plan plan;
  if (entry::ParsePlan(reinterpret_cast<const char*>(data), size, &plan)) CheckPlan(plan);
  Free(plan.arguments);
  Free(plan.environment);
  return 0;
}
