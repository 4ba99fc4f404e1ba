#include "base/random_id.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/escaping.h"

namespace plimsoll {

std::string RandomId() {
  char bytes[32];
  // Up to 256 bytes are never interrupted and never short once the pool is ready (getrandom(2)).
  if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) std::abort();
  return absl::BytesToHexString(absl::string_view(bytes, sizeof(bytes)));
}

bool IsId(absl::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace plimsoll
