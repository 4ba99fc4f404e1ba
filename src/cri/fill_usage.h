// What the kernel has counted, in the CRI's messages. Moments are nanoseconds since the Unix epoch.
#ifndef PLIMSOLL_CRI_FILL_USAGE_H_
#define PLIMSOLL_CRI_FILL_USAGE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "cri/runtime/v1/api.pb.h"
#include "linux/cgroup/cgroup.h"
#include "linux/link_counters.h"

namespace plimsoll::cri {

void FillPressure(const linux::Pressure& pressure, ::runtime::v1::PsiStats* out);

// `rate` is nullopt as long as there is none.
void FillCpu(const linux::CgroupStats& stats, int64_t now, std::optional<uint64_t> rate,
             ::runtime::v1::CpuUsage* cpu);
void FillMemory(const linux::CgroupStats& stats, int64_t now, ::runtime::v1::MemoryUsage* memory);
// Of those without a limit nothing is said: what is left to them is the machine's affair.
void FillAvailable(const linux::CgroupSettings& limits, const linux::CgroupStats& stats,
                   ::runtime::v1::MemoryUsage* memory);
// Likewise of swap. What is left is there only where the memory's limit and the sum's are known.
void FillAvailable(const linux::CgroupSettings& limits, const linux::CgroupStats& stats,
                   ::runtime::v1::SwapUsage* swap);

// Where the kernel has no pressure of I/O there is nothing to tell of it. `Stats`: ContainerStats,
// LinuxPodSandboxStats.
template <typename Stats>
void FillIo(const linux::CgroupStats& stats, int64_t now, Stats* out) {
  if (!stats.io_pressure.has_value()) return;
  out->mutable_io()->set_timestamp(now);
  FillPressure(*stats.io_pressure, out->mutable_io()->mutable_psi());
}

// All but loopback, with the one that CNI calls eth0, or else the first, as the default. Without
// any, nothing is filled: kubelet needs a default wherever there is a message.
void FillNetwork(const std::vector<linux::LinkCounters>& links, int64_t now,
                 ::runtime::v1::LinuxPodSandboxStats* out);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_FILL_USAGE_H_
