#include "harness/cpus.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace plimsoll::testing {

std::vector<int> UsableCpus() {
  cpu_set_t allowed;
  EXPECT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace plimsoll::testing
