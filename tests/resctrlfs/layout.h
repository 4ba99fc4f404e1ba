// The machine that the file system simulates: its caches, their controls, the mount options of
// resctrl. Written as JSON, so that a test can describe any machine:
//
//   {"cpus": 8,
//    "caches": [{"level": 3, "ids": [0, 2], "mask_bits": 11, "min_mask_bits": 2,
//                "shareable_bits": "600", "closids": 4}],
//    "bandwidth": {"ids": [0, 2], "min_bandwidth": 10, "granularity": 10},
//    "monitoring": {"ids": [0, 2], "events": ["llc_occupancy", "mbm_total_bytes"], "rmids": 16},
//    "options": ["cdp", "mba_MBps"]}
//
// A missing key has the default below.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_LAYOUT_H_
#define PLIMSOLL_TESTS_RESCTRLFS_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::resctrlfs {

struct CacheLayout {
  int level = 3;                // 2 or 3
  std::vector<int> ids = {0};   // ascending; may have holes
  int mask_bits = 20;           // 1 to 32
  int min_mask_bits = 1;        // 0: an empty mask is a mask, as on AMD
  uint32_t shareable_bits = 0;  // also used by devices; hexadecimal text in JSON
  bool sparse_masks = false;
  int closids = 16;  // without CDP; CDP takes two for each group
  bool cdp_capable = true;
  uint32_t size_bytes = 20 << 20;  // of each instance

  uint32_t FullMask() const { return mask_bits >= 32 ? ~0U : (1U << mask_bits) - 1; }
};

struct BandwidthLayout {
  std::vector<int> ids = {0};
  uint32_t min_bandwidth = 10;
  uint32_t max_bandwidth = 100;  // more where it isn't a percentage, as on AMD
  uint32_t granularity = 10;
  bool delay_linear = true;
  bool needs_linear = true;  // Intel: a non-linear scale can't be set at all
  int closids = 8;
  std::string throttle_mode;  // "max" or "per-thread"; empty: the kernel shows none
};

struct MonitoringLayout {
  std::vector<int> ids = {0};
  std::vector<std::string> events = {"llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"};
  int rmids = 32;
  uint32_t max_threshold_occupancy = 65536;
};

// Mount options of resctrl.
struct MountOptions {
  bool cdp = false;
  bool cdpl2 = false;
  bool mba_mbps = false;
  bool debug = false;
};

// Differences between kernels; the defaults are the newest's.
struct KernelTraits {
  bool several_ids = true;       // one write to `tasks` may name several (since 6.7)
  bool moves_mon_groups = true;  // rename between mon_groups directories (since 6.5)
  bool padded_values = false;    // masks with leading zeros, numbers with blanks (older kernels)
  bool has_sparse_masks = true;  // info/<cache>/sparse_masks (since 6.7)
};

struct Layout {
  int cpus = 8;
  std::vector<CacheLayout> caches = {CacheLayout()};
  std::optional<BandwidthLayout> bandwidth;
  std::optional<MonitoringLayout> monitoring;
  MountOptions options;
  KernelTraits traits;
};

// INVALID_ARGUMENT names the key and the valid values; an unknown key is an error too.
absl::StatusOr<Layout> ParseLayout(absl::string_view json);
std::string LayoutToJson(const Layout& layout);

// INVALID_ARGUMENT for a layout that mount(2) would refuse, or that no machine can have.
absl::Status CheckLayout(const Layout& layout);

// The options as /proc/mounts shows them: ",cdp,mba_MBps".
std::string ShowMountOptions(const MountOptions& options);

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_LAYOUT_H_
