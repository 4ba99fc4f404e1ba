#include "image/names/toml.h"

#include <string>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::image {

absl::StatusOr<toml::table> ParseToml(absl::string_view text, absl::string_view file) {
  std::string ascii(text);
  absl::c_replace_if(
      ascii, [](unsigned char c) { return !absl::ascii_isascii(c); }, '?');
  try {
    return toml::parse(ascii);
  } catch (const toml::parse_error& error) {
    const std::string_view why = error.description();
    return absl::InvalidArgumentError(absl::StrCat(file, ":", error.source().begin.line, ": ",
                                                   absl::string_view(why.data(), why.size())));
  }
}

}  // namespace plimsoll::image
