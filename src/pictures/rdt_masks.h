// Pictures of an rdt file's effect on a machine: for each cache, the ways of each class.
//
//   L3 of caches 0-1, 20 ways
//                  19                 0
//     exclusive    ........############  0xfff  12 ways
//       silver     ..............######  0x3f   6 ways
#ifndef PLIMSOLL_PICTURES_RDT_MASKS_H_
#define PLIMSOLL_PICTURES_RDT_MASKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "linux/resctrl_info.h"
#include "qos/rdt/compile.h"

namespace plimsoll::pictures {

// One line of a picture.
struct RdtPictureRow {
  enum class Kind { kDevices, kPartition, kClass, kNoClass, kFree };
  Kind kind = Kind::kPartition;
  std::string label;
  uint64_t value = 0;    // a mask or a bandwidth
  size_t partition = 0;  // the partition's index; of partitions and classes
  bool operator==(const RdtPictureRow&) const = default;
};

// A resource of caches that are divided alike.
struct RdtPicturePanel {
  std::string resource;  // "L3", "L3CODE", "MB"
  std::vector<uint64_t> ids;
  int ways = 0;       // 0: memory bandwidth
  bool mbps = false;  // the bandwidth's unit
  std::vector<RdtPictureRow> rows;

  // "L3 of caches 0-1, 20 ways"
  std::string Title() const;
  // "0xfff", "50%", "1000 MBps", "no limit"
  std::string ValueText(uint64_t value) const;
};

// Panels in the order of the resources' names, then of ids.
std::vector<RdtPicturePanel> PictureRdt(const qos::RdtCompiled& compiled,
                                        const linux::ResctrlInfo& machine);

// The whole picture as text: the panels, then roundings and warnings.
std::string RdtText(const qos::RdtCompiled& compiled, const linux::ResctrlInfo& machine);
// The panels as an SVG document with its XML header.
std::string RdtSvg(const qos::RdtCompiled& compiled, const linux::ResctrlInfo& machine);

}  // namespace plimsoll::pictures

#endif  // PLIMSOLL_PICTURES_RDT_MASKS_H_
