// Text as the kernel reads it from a control file.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_KERNEL_TEXT_H_
#define PLIMSOLL_TESTS_RESCTRLFS_KERNEL_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::resctrlfs {

// Parses a number by the kernel's rules: an optional '+', digits of `base`, at most one newline
// after them, no blanks. Base 16 allows "0x"; base 0 goes by "0x" and "0". nullopt: no such
// number, or more than `max`.
std::optional<uint64_t> ParseUnsigned(absl::string_view text, int base, uint64_t max = UINT64_MAX);
// The same for an int, which may have a '-'.
std::optional<int> ParseInt(absl::string_view text, int base);

// The text before the next `separator`, which is removed too; `text` becomes nullopt with the last
// piece. As the C library's strsep. `text` must have a value.
absl::string_view NextPiece(std::optional<absl::string_view>* text, char separator);

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_KERNEL_TEXT_H_
