// The resctrl features of a machine: the info/ directory, as values. Tests and `plimsoll classes
// explain` build imaginary machines from them.
#ifndef PLIMSOLL_LINUX_RESCTRL_INFO_H_
#define PLIMSOLL_LINUX_RESCTRL_INFO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::linux {

// info/L2 or info/L3; with CDP info/L3CODE and info/L3DATA, which are alike.
struct ResctrlCacheInfo {
  bool cdp = false;             // code and data have masks of their own
  std::vector<uint64_t> ids;    // ascending, need not be dense; from the root's schemata
  uint64_t cbm_mask = 0;        // all the ways of one cache, contiguous
  uint64_t min_cbm_bits = 1;    // the least bits in a mask
  uint64_t num_closids = 1;     // the most groups, the root's included
  uint64_t shareable_bits = 0;  // ways that devices (e.g. graphics) use too
  bool sparse_masks = false;    // masks may have gaps
};

// info/MB.
struct ResctrlBandwidthInfo {
  std::vector<uint64_t> ids;
  uint64_t min_bandwidth = 1;   // percent
  uint64_t bandwidth_gran = 1;  // percent: the kernel rounds up to multiples of it
  uint64_t num_closids = 1;
  bool mbps = false;  // mounted with mba_MBps: values are MiB/s
  // AMD: values are steps of 1/8 GB/s, neither percent nor MiB/s. Detected by values over 100.
  bool vendor_steps = false;
};

// info/L3_MON.
struct ResctrlMonitoringInfo {
  std::vector<std::string> features;  // "llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"
  uint64_t num_rmids = 0;             // the most monitored groups, control groups included
};

struct ResctrlInfo {
  std::optional<ResctrlCacheInfo> l2;
  std::optional<ResctrlCacheInfo> l3;
  std::optional<ResctrlBandwidthInfo> mb;
  std::optional<ResctrlMonitoringInfo> monitoring;

  // The most control groups besides the root's; 0 where nothing can be allocated.
  uint64_t MaxGroups() const {
    uint64_t least = 0;
    const auto take = [&](uint64_t closids) {
      if (least == 0 || closids < least) least = closids;
    };
    if (l2) take(l2->num_closids);
    if (l3) take(l3->num_closids);
    if (mb) take(mb->num_closids);
    return least == 0 ? 0 : least - 1;
  }
};

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_RESCTRL_INFO_H_
