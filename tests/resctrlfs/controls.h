// Settings of the hardware: a value for each schema, instance and CLOSID.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_CONTROLS_H_
#define PLIMSOLL_TESTS_RESCTRLFS_CONTROLS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "resctrlfs/layout.h"

namespace plimsoll::resctrlfs {

enum class Mode { kShareable, kExclusive, kPseudoLocksetup };

// The mode of the group that has a CLOSID; nullopt: no group has it. Indexed by CLOSID.
using ClosidModes = std::vector<std::optional<Mode>>;

// One line of a schemata file: a resource, or under CDP its code or data half.
struct Schema {
  std::string name;                    // "L3", "L3CODE", "MB"
  const CacheLayout* cache = nullptr;  // null: memory bandwidth
  const BandwidthLayout* bandwidth = nullptr;
  std::optional<size_t> peer;  // index of the other half under CDP
  std::vector<int> ids;
  int closids = 0;
  std::vector<std::vector<uint32_t>> values;  // [index of the id][CLOSID]

  bool IsCache() const { return cache != nullptr; }
};

class Controls {
 public:
  // The state after mounting: everything is allowed to every CLOSID. `layout` must outlive this.
  explicit Controls(const Layout& layout);
  Controls(const Controls&) = delete;
  Controls& operator=(const Controls&) = delete;

  // In the order of the kernel's files.
  const std::vector<Schema>& schemas() const { return schemas_; }
  // Length of the longest name; CDP's halves count where the cache could have them.
  int name_width() const { return name_width_; }
  // The number of CLOSIDs that all resources have: most groups, the root group included. 0: nothing
  // can be controlled.
  int closids() const { return closids_; }
  // Bandwidth is in MBps.
  bool mbps() const { return mbps_; }

  void Set(size_t schema, size_t instance, int closid, uint32_t value) {
    schemas_[schema].values[instance][static_cast<size_t>(closid)] = value;
  }

  // Whether `mask` has bits of another CLOSID, in either half under CDP. With `exclusive_only` only
  // bits of exclusive groups count, else those of any group and the hardware's shareable ones.
  bool Overlaps(const ClosidModes& modes, size_t schema, size_t instance, uint32_t mask, int closid,
                bool exclusive_only) const;

  // Gives a new CLOSID all unused and shared bits. RESOURCE_EXHAUSTED, with nothing changed, where
  // those are fewer than the smallest mask: the message is for last_cmd_status.
  absl::Status Initialise(const ClosidModes& modes, int closid);

 private:
  void AddCache(const CacheLayout& cache, bool cdp);
  void Add(Schema schema, int hardware_closids, uint32_t initial);
  bool OverlapsHalf(const ClosidModes& modes, size_t schema, size_t instance, uint32_t mask,
                    int closid, bool exclusive_only) const;
  uint32_t InitialMask(const ClosidModes& modes, const Schema& schema, size_t instance,
                       int closid) const;
  uint32_t InitialBandwidth(const BandwidthLayout& bandwidth) const;

  std::vector<Schema> schemas_;
  int name_width_ = 0;
  int closids_ = 0;
  bool mbps_ = false;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_CONTROLS_H_
