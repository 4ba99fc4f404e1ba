// Texts that Kubernetes takes as labels and names.
#ifndef PLIMSOLL_BASE_TEXT_LABEL_TEXT_H_
#define PLIMSOLL_BASE_TEXT_LABEL_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll {

// A DNS subdomain: at most 253 of [a-z0-9-.], each part with a letter or digit at both ends.
bool IsDnsName(absl::string_view text);
// At most 63 of [A-Za-z0-9-_.] with a letter or digit at both ends, or nothing.
bool IsLabelValue(absl::string_view text);
// "name" or "dns.prefix/name"; the name is a label value that isn't empty.
bool IsLabelKey(absl::string_view text);

// Makes a label value of any text: "_" stands for each character that a label can't have. Empty if
// nothing is left, or more than 63 characters are.
std::string LabelValueOf(absl::string_view text);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_TEXT_LABEL_TEXT_H_
