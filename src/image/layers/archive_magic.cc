#include "image/layers/archive_magic.h"

#include "absl/strings/match.h"

namespace plimsoll::image {
namespace {

constexpr size_t kChecksum = 148;  // of 8 octal digits, spaces or NULs
constexpr size_t kChecksumBytes = 8;

bool IsTarHeader(absl::string_view block) {
  if (block.size() < kArchiveStartBytes) return false;
  unsigned said = 0;
  bool has_digit = false;
  for (const char c : block.substr(kChecksum, kChecksumBytes)) {
    if (c == ' ' && !has_digit) continue;
    if (c < '0' || c > '7') break;
    said = said * 8 + static_cast<unsigned>(c - '0');
    has_digit = true;
  }
  // The sum counts the checksum as spaces; old writers added signed characters.
  unsigned sum = kChecksumBytes * ' ';
  int signed_sum = static_cast<int>(sum);
  for (size_t i = 0; i < kArchiveStartBytes; ++i) {
    if (i >= kChecksum && i < kChecksum + kChecksumBytes) continue;
    sum += static_cast<unsigned char>(block[i]);
    signed_sum += static_cast<signed char>(block[i]);
  }
  return has_digit && (said == sum || static_cast<int>(said) == signed_sum);
}

}  // namespace

bool BeginsLikeArchive(absl::string_view start) {
  for (absl::string_view magic : {"\x1f\x8b", "\x28\xb5\x2f\xfd", "BZh",
                                  "\xfd"
                                  "7zXZ"}) {
    if (absl::StartsWith(start, magic)) return true;
  }
  // A skippable frame: zstd's own tools may write one first.
  if (start.size() >= 4 && (start[0] & 0xf0) == 0x50 && start.substr(1, 3) == "\x2a\x4d\x18") {
    return true;
  }
  return IsTarHeader(start.substr(0, kArchiveStartBytes));
}

}  // namespace plimsoll::image
