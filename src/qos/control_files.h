// Control files of one group that a class sets together: compared, written, and restored.
#ifndef PLIMSOLL_QOS_CONTROL_FILES_H_
#define PLIMSOLL_QOS_CONTROL_FILES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::qos {

// A file has either one value, or a line "<key> <value>" for each of several keys: devices ("8:0")
// and, in the files of weights, "default". Such lines are written one by one.
struct ControlFile {
  std::string controller;  // picks the hierarchy on cgroup v1: "blkio"
  std::string name;        // "io.max"
  bool keyed = false;
  // The kernel's default: the value, or the text that removes a device's line.
  std::string reset;
  // For files with a line "default": the kernel's value there. Empty: no such line, or it belongs
  // to another file.
  std::string default_value;
  // Skipped where the group has no such file. Otherwise that is an error.
  bool optional = false;
};

// Values by key; a file of one value has the key "". A missing key has the kernel's default.
using FileLines = std::map<std::string, std::string>;

struct FileContent {
  ControlFile file;
  FileLines lines;
};

// The values of a file that differ from the kernel's defaults.
FileLines ParseLines(const ControlFile& file, absl::string_view text);

// Makes each file hold exactly what is given, in the order given; values that it holds already
// aren't written. When the kernel refuses one, those before it are restored; the error also names
// those that could not be. NOT_FOUND: the group is gone. FAILED_PRECONDITION: the group has no such
// file. A line for a device that is going (ENODEV) is skipped.
absl::Status ApplyFiles(linux::CgroupManager& cgroups, absl::string_view group,
                        const std::vector<FileContent>& wanted);

// The group's differences: "io.max of 8:0 is rbps=max ... instead of rbps=1048576 ..."; empty:
// none.
absl::StatusOr<std::string> CompareFiles(const linux::CgroupManager& cgroups,
                                         absl::string_view group,
                                         const std::vector<FileContent>& wanted);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CONTROL_FILES_H_
