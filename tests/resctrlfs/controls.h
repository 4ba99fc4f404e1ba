// What the hardware is set to: a value for each schema, instance and CLOSID.
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
  // As after mounting: everything is allowed to every CLOSID. `layout` must outlive this.
  explicit Controls(const Layout& layout);
  Controls(const Controls&) = delete;
  Controls& operator=(const Controls&) = delete;

  // In the order in which files show them.
  const std::vector<Schema>& schemas() const { return schemas_; }
  // Of the longest name, CDP's halves counted where the cache could have them.
  int name_width() const { return name_width_; }
  // What all resources have: so many groups there can be, the root group included. 0: nothing can
  // be controlled.
  int closids() const { return closids_; }
  // Bandwidth is in MBps.
  bool mbps() const { return mbps_; }

  void Set(size_t schema, size_t instance, int closid, uint32_t value) {
    schemas_[schema].values[instance][static_cast<size_t>(closid)] = value;
  }

  // Whether `mask` has bits of another CLOSID's, in either half under CDP. With `exclusive_only`
  // those of exclusive groups only, else those of any group and of the hardware's shareable bits.
  bool Overlaps(const ClosidModes& modes, size_t schema, size_t instance, uint32_t mask, int closid,
                bool exclusive_only) const;

  // Gives a new CLOSID all that is unused or shared. RESOURCE_EXHAUSTED, with nothing changed,
  // where that leaves less than the least mask: the message is for last_cmd_status.
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
