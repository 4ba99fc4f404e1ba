#include "cri/usage/fill_usage.h"

#include "absl/strings/string_view.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using linux::CgroupStats;
using linux::PressureLine;

constexpr absl::string_view kLoopback = "lo";
constexpr absl::string_view kDefault = "eth0";

void FillLine(const PressureLine& line, v1::PsiData* out) {
  out->set_total(line.total_us * 1000);  // nanoseconds
  out->set_avg10(line.avg10);
  out->set_avg60(line.avg60);
  out->set_avg300(line.avg300);
}

uint64_t Left(int64_t limit, uint64_t used) {
  const uint64_t all = limit > 0 ? static_cast<uint64_t>(limit) : 0;
  return all > used ? all - used : 0;
}

void FillInterface(const linux::LinkCounters& link, v1::NetworkInterfaceUsage* out) {
  out->set_name(link.name);
  out->mutable_rx_bytes()->set_value(link.rx_bytes);
  out->mutable_rx_errors()->set_value(link.rx_errors);
  out->mutable_tx_bytes()->set_value(link.tx_bytes);
  out->mutable_tx_errors()->set_value(link.tx_errors);
}

}  // namespace

void FillPressure(const linux::Pressure& pressure, v1::PsiStats* out) {
  FillLine(pressure.some, out->mutable_some());
  FillLine(pressure.full, out->mutable_full());
}

void FillCpu(const CgroupStats& stats, int64_t now, std::optional<uint64_t> rate,
             v1::CpuUsage* cpu) {
  cpu->set_timestamp(now);
  cpu->mutable_usage_core_nano_seconds()->set_value(stats.cpu_usage_ns);
  if (rate.has_value()) cpu->mutable_usage_nano_cores()->set_value(*rate);
  if (stats.cpu_pressure.has_value()) FillPressure(*stats.cpu_pressure, cpu->mutable_psi());
}

void FillMemory(const CgroupStats& stats, int64_t now, v1::MemoryUsage* memory) {
  memory->set_timestamp(now);
  memory->mutable_working_set_bytes()->set_value(stats.memory_working_set_bytes);
  memory->mutable_usage_bytes()->set_value(stats.memory_usage_bytes);
  memory->mutable_rss_bytes()->set_value(stats.memory_rss_bytes);
  memory->mutable_page_faults()->set_value(stats.page_faults);
  memory->mutable_major_page_faults()->set_value(stats.major_page_faults);
  if (stats.memory_pressure.has_value()) {
    FillPressure(*stats.memory_pressure, memory->mutable_psi());
  }
}

void FillAvailable(const linux::CgroupSettings& limits, const CgroupStats& stats,
                   v1::MemoryUsage* memory) {
  const int64_t limit = limits.memory_limit_bytes.value_or(0);
  if (limit <= 0) return;
  memory->mutable_available_bytes()->set_value(Left(limit, stats.memory_working_set_bytes));
}

void FillAvailable(const linux::CgroupSettings& limits, const CgroupStats& stats,
                   v1::SwapUsage* swap) {
  const int64_t memory = limits.memory_limit_bytes.value_or(0);
  const int64_t sum = limits.memory_swap_limit_bytes.value_or(0);
  if (memory <= 0 || sum <= 0 || !stats.swap_usage_bytes.has_value()) return;
  swap->mutable_swap_available_bytes()->set_value(Left(sum - memory, *stats.swap_usage_bytes));
}

void FillNetwork(const std::vector<linux::LinkCounters>& links, int64_t now,
                 v1::LinuxPodSandboxStats* out) {
  const linux::LinkCounters* its_default = nullptr;
  for (const linux::LinkCounters& link : links) {
    if (link.name == kLoopback) continue;
    if (its_default == nullptr || link.name == kDefault) its_default = &link;
    FillInterface(link, out->mutable_network()->add_interfaces());
  }
  if (its_default == nullptr) return;
  out->mutable_network()->set_timestamp(now);
  FillInterface(*its_default, out->mutable_network()->mutable_default_interface());
}

}  // namespace plimsoll::cri
