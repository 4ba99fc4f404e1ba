// The kernel's counters, as the CRI's messages. Moments are nanoseconds since the Unix epoch.
#ifndef PLIMSOLL_CRI_USAGE_FILL_USAGE_H_
#define PLIMSOLL_CRI_USAGE_FILL_USAGE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "cri/runtime/v1/api.pb.h"
#include "linux/cgroup/cgroup.h"
#include "linux/link_counters.h"

namespace plimsoll::cri {

void FillPressure(const linux::Pressure& pressure, ::runtime::v1::PsiStats* out);

// `rate` is nullopt until a second reading gives one.
void FillCpu(const linux::CgroupStats& stats, int64_t now, std::optional<uint64_t> rate,
             ::runtime::v1::CpuUsage* cpu);
void FillMemory(const linux::CgroupStats& stats, int64_t now, ::runtime::v1::MemoryUsage* memory);
// Fills the available memory, for groups with a limit only: otherwise the machine decides it.
void FillAvailable(const linux::CgroupSettings& limits, const linux::CgroupStats& stats,
                   ::runtime::v1::MemoryUsage* memory);
// Fills the available swap, likewise; only if the limits of memory and of the sum are both known.
void FillAvailable(const linux::CgroupSettings& limits, const linux::CgroupStats& stats,
                   ::runtime::v1::SwapUsage* swap);

// Fills nothing where the kernel has no I/O pressure. `Stats`: ContainerStats,
// LinuxPodSandboxStats.
template <typename Stats>
void FillIo(const linux::CgroupStats& stats, int64_t now, Stats* out) {
  if (!stats.io_pressure.has_value()) return;
  out->mutable_io()->set_timestamp(now);
  FillPressure(*stats.io_pressure, out->mutable_io()->mutable_psi());
}

// All interfaces but loopback; the default is CNI's eth0, or else the first. Without an interface
// the message stays unset, since kubelet expects a default in each message.
void FillNetwork(const std::vector<linux::LinkCounters>& links, int64_t now,
                 ::runtime::v1::LinuxPodSandboxStats* out);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_USAGE_FILL_USAGE_H_
