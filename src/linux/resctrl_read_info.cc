// Reads info/ into values.
#include <algorithm>
#include <bit>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "linux/resctrl.h"

namespace plimsoll::linux {
namespace {

// One directory of info/.
class InfoDirectory {
 public:
  InfoDirectory(const FsRoot& fs, const std::string& name)
      : fs_(fs), path_(absl::StrCat("info/", name, "/")) {}

  // A missing file leaves `value` as it is: kernels differ.
  absl::Status Number(absl::string_view file, uint64_t& value) const {
    return Parse(file, value,
                 [](absl::string_view text, uint64_t* out) { return absl::SimpleAtoi(text, out); });
  }
  absl::Status Mask(absl::string_view file, uint64_t& value) const {
    return Parse(file, value, [](absl::string_view text, uint64_t* out) {
      return absl::SimpleHexAtoi(text, out);
    });
  }

 private:
  template <typename From>
  absl::Status Parse(absl::string_view file, uint64_t& value, From from) const {
    const std::string path = absl::StrCat(path_, file);
    const auto text = fs_.Read(path);
    if (absl::IsNotFound(text.status())) return absl::OkStatus();
    if (!text.ok()) return text.status();
    if (from(absl::StripAsciiWhitespace(*text), &value)) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(fs_.PathOf(path), ": \"", *text, "\" is not a number"));
  }

  const FsRoot& fs_;
  const std::string path_;
};

std::vector<uint64_t> IdsOf(const Schemata& root, const std::string& resource) {
  std::vector<uint64_t> ids;
  const auto line = root.find(resource);
  if (line == root.end()) return ids;
  for (const auto& [id, value] : line->second) ids.push_back(id);
  return ids;
}

absl::StatusOr<std::optional<ResctrlCacheInfo>> ReadCache(const FsRoot& fs, const Schemata& root,
                                                          const std::string& level) {
  ResctrlCacheInfo cache;
  cache.cdp = fs.Exists(absl::StrCat("info/", level, "CODE"));
  const std::string resource = cache.cdp ? level + "CODE" : level;
  // A cache level with monitoring alone has no line.
  cache.ids = IdsOf(root, resource);
  if (cache.ids.empty()) return std::optional<ResctrlCacheInfo>();
  const InfoDirectory info(fs, resource);
  uint64_t sparse = 0;
  PLIMSOLL_RETURN_IF_ERROR(info.Mask("cbm_mask", cache.cbm_mask));
  PLIMSOLL_RETURN_IF_ERROR(info.Number("min_cbm_bits", cache.min_cbm_bits));
  PLIMSOLL_RETURN_IF_ERROR(info.Number("num_closids", cache.num_closids));
  PLIMSOLL_RETURN_IF_ERROR(info.Mask("shareable_bits", cache.shareable_bits));
  PLIMSOLL_RETURN_IF_ERROR(info.Number("sparse_masks", sparse));
  cache.sparse_masks = sparse != 0;
  cache.min_cbm_bits = std::max<uint64_t>(cache.min_cbm_bits, 1);
  const uint64_t mask = cache.cbm_mask;
  const uint64_t ones = mask == 0 ? 0 : mask >> std::countr_zero(mask);
  if (ones == 0 || (ones & (ones + 1)) != 0) {
    return absl::InternalError(absl::StrCat(fs.PathOf("info/"), resource, "/cbm_mask: 0x",
                                            absl::Hex(mask), " is not one block of ones"));
  }
  return cache;
}

absl::StatusOr<std::optional<ResctrlBandwidthInfo>> ReadBandwidth(const FsRoot& fs,
                                                                  const Schemata& root, bool mbps) {
  ResctrlBandwidthInfo mb;
  mb.ids = IdsOf(root, "MB");
  if (mb.ids.empty()) return std::optional<ResctrlBandwidthInfo>();
  const InfoDirectory info(fs, "MB");
  PLIMSOLL_RETURN_IF_ERROR(info.Number("min_bandwidth", mb.min_bandwidth));
  PLIMSOLL_RETURN_IF_ERROR(info.Number("bandwidth_gran", mb.bandwidth_gran));
  PLIMSOLL_RETURN_IF_ERROR(info.Number("num_closids", mb.num_closids));
  mb.mbps = mbps;
  // AMD shows "no limit" as 2048.
  mb.vendor_steps =
      !mbps && absl::c_any_of(root.at("MB"), [](const auto& item) { return item.second > 100; });
  return mb;
}

absl::StatusOr<std::optional<ResctrlMonitoringInfo>> ReadMonitoring(const FsRoot& fs) {
  const auto features = fs.Read("info/L3_MON/mon_features");
  if (absl::IsNotFound(features.status())) return std::optional<ResctrlMonitoringInfo>();
  if (!features.ok()) return features.status();
  ResctrlMonitoringInfo monitoring;
  monitoring.features = absl::StrSplit(*features, '\n', absl::SkipEmpty());
  PLIMSOLL_RETURN_IF_ERROR(InfoDirectory(fs, "L3_MON").Number("num_rmids", monitoring.num_rmids));
  return monitoring;
}

}  // namespace

absl::StatusOr<ResctrlInfo> Resctrl::ReadInfo() const {
  Schemata root;
  if (fs_.Exists("schemata")) {  // absent where there is nothing but monitoring
    PLIMSOLL_ASSIGN_OR_RETURN(root, ReadSchemata(""));
  }
  ResctrlInfo info;
  PLIMSOLL_ASSIGN_OR_RETURN(info.l2, ReadCache(fs_, root, "L2"));
  PLIMSOLL_ASSIGN_OR_RETURN(info.l3, ReadCache(fs_, root, "L3"));
  const bool mbps = absl::c_linear_search(mount_options_, "mba_MBps");
  PLIMSOLL_ASSIGN_OR_RETURN(info.mb, ReadBandwidth(fs_, root, mbps));
  PLIMSOLL_ASSIGN_OR_RETURN(info.monitoring, ReadMonitoring(fs_));
  return info;
}

}  // namespace plimsoll::linux
