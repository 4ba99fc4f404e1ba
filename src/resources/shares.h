// CPU shares as a runtime reports them on cgroup v2, where one cpu.weight stands for many of them.
#ifndef PLIMSOLL_RESOURCES_SHARES_H_
#define PLIMSOLL_RESOURCES_SHARES_H_

#include <cstdint>

namespace plimsoll::resources {

// Whether a runtime that holds `asked` shares may report `reported`: the same number, or the one
// that it converts back from the weight. Weight and report may go by either formula
// (linux/cgroup/cpu_weight.h), and some runtimes round down on the way back.
bool MayBeReported(uint64_t reported, uint64_t asked);

}  // namespace plimsoll::resources

#endif  // PLIMSOLL_RESOURCES_SHARES_H_
