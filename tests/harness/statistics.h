// A node's statistics of its containers, and the kernel's counters for them.
//
//   Statistics told(node_);
//   EXPECT_GE(told.Of(id).swap().swap_usage_bytes().value(), KernelNumber(group, "memory", file));
#ifndef PLIMSOLL_TESTS_HARNESS_STATISTICS_H_
#define PLIMSOLL_TESTS_HARNESS_STATISTICS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/node.h"

namespace plimsoll::testing {

// The CRI's calls for statistics. Each fails the test on an error.
class Statistics {
 public:
  explicit Statistics(Node& node) : node_(node) {}

  cri::ContainerStats Of(const std::string& container);  // ContainerStats
  cri::PodSandboxStats OfPod(const std::string& pod);    // PodSandboxStats
  // Statistics of a container in the answer to each of the List and Stream calls; empty if missing.
  cri::ContainerStats Listed(const std::string& container);
  cri::ContainerStats Streamed(const std::string& container);
  cri::ContainerStats ListedWithPods(const std::string& container);
  cri::ContainerStats StreamedWithPods(const std::string& container);
  // Statistics of a pod in ListPodSandboxStats.
  cri::PodSandboxStats ListedPod(const std::string& pod);
  // A container's values in ListPodSandboxMetrics, by name; values that differ only in labels are
  // summed.
  std::map<std::string, uint64_t> Metrics(const std::string& container);
  // Values of one name, by the value of the last label.
  std::map<std::string, uint64_t> Metric(const std::string& container, const std::string& name);

 private:
  std::vector<cri::Metric> MetricsOf(const std::string& container);

  Node& node_;
};

// The number in a file of a group. A failure of the test, and 0, where there is none. `controller`:
// the hierarchy on cgroup v1.
uint64_t KernelNumber(const std::string& group, const std::string& controller,
                      const std::string& file);
// The number after `key` in a file of "key value" lines.
uint64_t KernelNumber(const std::string& group, const std::string& controller,
                      const std::string& file, const std::string& key);
// The total of a line ("some", "full") of <resource>.pressure, in microseconds; cgroup v2.
uint64_t KernelPressure(const std::string& group, const std::string& resource,
                        const std::string& line);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_STATISTICS_H_
