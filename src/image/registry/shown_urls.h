// Addresses as they may be shown. A registry's store answers with signed ones: whoever reads the
// signature can read the image.
#ifndef PLIMSOLL_IMAGE_REGISTRY_SHOWN_URLS_H_
#define PLIMSOLL_IMAGE_REGISTRY_SHOWN_URLS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::image {

// The text without the user information, query and fragment of each URL in it (RFC 3986, section
// 3), whoever wrote the text. Query and fragment of a relative address are left out too: of a word
// that begins with "/" (/v2/a?sig=b) or a quote. A query ends with the double quotes around its
// URL, or else before a space.
std::string WithoutUrlSecrets(absl::string_view text);

// The text with "[redacted]" in place of `secret`, where it stands as a whole word: a short
// password is part of many words.
std::string WithoutWord(absl::string_view text, absl::string_view secret);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_REGISTRY_SHOWN_URLS_H_
