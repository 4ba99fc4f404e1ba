// What a node under test shows at /metrics.
#ifndef PLIMSOLL_TESTS_HARNESS_METRICS_H_
#define PLIMSOLL_TESTS_HARNESS_METRICS_H_

#include <string>

namespace plimsoll::testing {

// An address of this process's own on the loopback network: a part of plimsolld's configuration.
std::string MetricsConfig();

// The answer of the daemon that has it, headers included; a failure of the test when there is none.
std::string ReadMetrics();

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_METRICS_H_
