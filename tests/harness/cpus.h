// The CPUs of this process, for tests that state CPUs of containers.
#ifndef PLIMSOLL_TESTS_HARNESS_CPUS_H_
#define PLIMSOLL_TESTS_HARNESS_CPUS_H_

#include <vector>

namespace plimsoll::testing {

// CPUs that this process may use, and so pods too; ascending.
std::vector<int> UsableCpus();

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_CPUS_H_
