// The rdt file, which defines the rdt classes, as containerd and CRI-O users have it on disk
// (`rdt_config_file`; the language of goresctrl's pkg/rdt). YAML, so JSON too. Only read here;
// compile.h compiles it for a machine.
//
//   options:
//     l2: {optional: true}
//   partitions:
//     exclusive:
//       l3Allocation: 60%
//       mbAllocation: [100%]
//       classes:
//         gold: {l3Allocation: {all: 100%, "0-1": {unified: 50-100%, code: 100%, data: 100%}}}
#ifndef PLIMSOLL_QOS_RDT_CONFIG_H_
#define PLIMSOLL_QOS_RDT_CONFIG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::qos {

// The class of resctrl's root group, which holds every task that nobody moved.
inline constexpr char kRdtRootClass[] = "system/default";

// A share of a cache: "60%", "50-60%", "0xf0" or the same as bits, "4-7". Nothing at all ("0%",
// "0-0%") is a partition's least possible, and an error of a class where the share counts.
struct RdtCacheShare {
  enum class Kind { kPercent, kPercentRange, kMask };
  Kind kind = Kind::kPercent;
  uint64_t low_percent = 0;  // of a range
  uint64_t high_percent = 0;
  uint64_t mask = 0;
  std::string text;   // as written
  std::string where;  // "rdt.yaml:5:9: partitions.exclusive.l3Allocation: "
};

// The shares of one cache. `code` and `data` are both there or neither. They count where the kernel
// prioritises code and data (CDP); elsewhere, and where they are absent, `unified` does.
struct RdtCacheAllocation {
  RdtCacheShare unified;
  std::optional<RdtCacheShare> code;
  std::optional<RdtCacheShare> data;
};

// Memory bandwidth. The machine decides which of the two counts (`mba_MBps`). An invalid value is
// an error only where its unit counts.
struct RdtBandwidthAllocation {
  std::optional<uint64_t> percent;  // 0 to 100
  std::optional<uint64_t> mbps;     // MiB/s, at most 2^32-1
  std::string percent_error;        // why the file's value is no `percent`
  std::string mbps_error;
  std::string where;
};

// Allocations by cache id; `all` is for ids that have none of their own.
template <typename Allocation>
struct RdtByCacheId {
  std::optional<Allocation> all;
  std::map<uint64_t, Allocation> by_id;
  std::string where;
};
using RdtCacheAllocations = RdtByCacheId<RdtCacheAllocation>;
using RdtBandwidthAllocations = RdtByCacheId<RdtBandwidthAllocation>;

// Allocations of a partition or class. Absent: not restricted.
struct RdtAllocations {
  std::optional<RdtCacheAllocations> l2;
  std::optional<RdtCacheAllocations> l3;
  std::optional<RdtBandwidthAllocations> mb;
};

struct RdtClassConfig {
  RdtAllocations allocations;
  // Whether an annotation of a pod, or of a container, may not name the class.
  bool deny_pod_annotation = false;
  bool deny_container_annotation = false;
  std::string where;
};

struct RdtPartitionConfig {
  RdtAllocations allocations;
  std::map<std::string, RdtClassConfig> classes;
  std::string where;
};

struct RdtConfig {
  // A machine that lacks the kind is no error.
  bool l2_optional = false;
  bool l3_optional = false;
  bool mb_optional = false;
  // The layout of the caches follows the order of the names. Class names are unique in the file;
  // the root's, which may be written as "", is kRdtRootClass here.
  std::map<std::string, RdtPartitionConfig> partitions;
  // Oddities of the file that didn't prevent reading it, a line each with its place.
  std::vector<std::string> warnings;
};

// `file` is for messages: "<file>:<line>:<column>: <path>: <why, and what would be right>", a line
// for each error. An empty file has no partitions. INVALID_ARGUMENT.
absl::StatusOr<RdtConfig> ParseRdtConfig(const std::string& file, const std::string& text);

// The reason why a name is invalid; empty: it is valid. Class names become directories below
// resctrl's mount point, so: 1 to 255 bytes, none of them '/' or a control character, not "." or
// "..", none of the kernel's names there. The root's name is valid. (ParseRdtConfig warns of valid
// names that clients can't send.)
std::string WhyNoRdtClassName(absl::string_view name);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_CONFIG_H_
