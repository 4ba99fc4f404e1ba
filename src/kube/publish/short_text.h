// Texts of others in objects of bounded size.
#ifndef PLIMSOLL_KUBE_PUBLISH_SHORT_TEXT_H_
#define PLIMSOLL_KUBE_PUBLISH_SHORT_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace plimsoll::kube {

// The text without control characters and valid as JSON's UTF-8 (Printable), cut to `longest` bytes
// with "..." at its end.
std::string ShortText(absl::string_view text, size_t longest);

// The first `most` sentences, and how many more there are: "a; b; and 3 more".
std::string FirstFew(const std::vector<std::string>& sentences, size_t most);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_SHORT_TEXT_H_
