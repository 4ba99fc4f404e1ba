// Parsers for the kernel's notations of CPUs, nodes and memory.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_KERNEL_FILES_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_KERNEL_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "resources/cpu_set.h"

namespace plimsoll::topology {

inline constexpr char kCpuFiles[] = "sys/devices/system/cpu";
inline constexpr char kNodeFiles[] = "sys/devices/system/node";

// Errors are passing ones (machine_file.h); a missing or senseless value is nullopt.

// Parses a mask as in "cpumap": 32-bit words in hexadecimal, highest first, separated by commas.
// INVALID_ARGUMENT for other text.
absl::StatusOr<resources::CpuSet> ParseCpuMask(absl::string_view text);

// Reads a file that holds CPUs as a mask.
absl::StatusOr<std::optional<resources::CpuSet>> ReadMask(const FsRoot& root,
                                                          const std::string& file);
// Reads a file that lists CPUs or nodes: "0-3,8".
absl::StatusOr<std::optional<resources::CpuSet>> ReadList(const FsRoot& root,
                                                          const std::string& file);
// Reads a number in decimal, or in hexadecimal with 0x.
absl::StatusOr<std::optional<uint64_t>> ReadNumber(const FsRoot& root, const std::string& file);
// Reads a line of a meminfo file ("MemTotal:"), in bytes.
absl::StatusOr<std::optional<uint64_t>> ReadMemInfo(const FsRoot& root, const std::string& file,
                                                    absl::string_view field);
// The numbers of a directory's entries "node0", "node3", ascending.
absl::StatusOr<std::vector<uint32_t>> ListNumbered(const FsRoot& root, const std::string& directory,
                                                   absl::string_view word);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_KERNEL_FILES_H_
