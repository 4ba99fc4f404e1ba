#include <map>
#include <string>

#include "cri/usage/metric_groups.h"

namespace plimsoll::cri {
namespace {

void AddFaults(const runtime::ContainerCounters& counters, MetricWriter* out) {
  const linux::CgroupStats& stats = counters.stats;
  out->Add(kMemoryFailures, counters.more.own_page_faults, {"pgfault", "container"});
  out->Add(kMemoryFailures, stats.page_faults, {"pgfault", "hierarchy"});
  out->Add(kMemoryFailures, counters.more.own_major_page_faults, {"pgmajfault", "container"});
  out->Add(kMemoryFailures, stats.major_page_faults, {"pgmajfault", "hierarchy"});
}

// cAdvisor names page sizes as the kernel does; none where there are no huge pages.
void AddHugetlb(const runtime::ContainerCounters& counters, MetricWriter* out) {
  std::map<std::string, linux::HugetlbUse> by_size = counters.more.hugetlb;
  if (by_size.empty()) by_size[""] = {};
  for (const auto& [size, use] : by_size) {
    out->Add(kHugetlbUsage, use.bytes, {size});
    out->Add(kHugetlbMaxUsage, use.max_bytes.value_or(0), {size});
  }
}

}  // namespace

void AddMemoryMetrics(const runtime::ContainerCounters& counters, MetricWriter* out) {
  const linux::CgroupStats& stats = counters.stats;
  const linux::CgroupCounters& more = counters.more;
  AddHugetlb(counters, out);
  out->Add(kOomEvents, counters.oom_kills);
  if (!more.cache_bytes.has_value()) return;  // no memory controller: the statistics are empty
  out->Add(kMemoryUsage, stats.memory_usage_bytes);
  out->Add(kMemoryWorkingSet, stats.memory_working_set_bytes);
  out->Add(kMemoryRss, stats.memory_rss_bytes);
  out->Add(kMemoryCache, more.cache_bytes);
  out->Add(kMemoryMappedFile, more.mapped_file_bytes);
  out->Add(kMemorySwap, stats.swap_usage_bytes.value_or(0));
  out->Add(kMemoryKernel, more.kernel_bytes.value_or(0));
  out->Add(kMemoryActiveFile, more.active_file_bytes);
  out->Add(kMemoryInactiveFile, more.inactive_file_bytes);
  out->Add(kMemoryMaxUsage, more.max_usage_bytes.value_or(0));
  out->Add(kMemoryLimitHits, more.limit_hits.value_or(0));
  AddFaults(counters, out);
}

}  // namespace plimsoll::cri
