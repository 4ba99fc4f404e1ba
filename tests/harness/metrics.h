// The HTTP pages of a node under test.
#ifndef PLIMSOLL_TESTS_HARNESS_METRICS_H_
#define PLIMSOLL_TESTS_HARNESS_METRICS_H_

#include <string>

#include "base/unique_fd.h"

namespace plimsoll::testing {

// Part of plimsolld's configuration: an address of this process's own on the loopback network.
std::string MetricsConfig();

// The answer of the daemon at that address, headers included; a failure of the test when there is
// none. `path`: "/metrics", "/readyz".
std::string ReadPage(const std::string& path);
inline std::string ReadMetrics() {
  return ReadPage("/metrics");
}

// The value of a line of /metrics; -1 when it isn't there.
double MetricValue(const std::string& line);

// A connection of the test's own to the server of the pages; invalid, and a failure of the test,
// when nobody listens.
UniqueFd ConnectToPages();

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_METRICS_H_
