// Text of manifests: YAML documents with holes, and expressions of CEL to put into them.
#ifndef PLIMSOLL_KUBE_MANIFESTS_TEXT_H_
#define PLIMSOLL_KUBE_MANIFESTS_TEXT_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace plimsoll::kube {

// The text as a string literal of CEL, safe in a block of YAML: quotes, backslashes and everything
// that isn't printable ASCII are escapes.
std::string CelString(absl::string_view text);
// A list literal of strings.
std::string CelList(const std::vector<std::string>& items);
// A map literal of string keys, one entry a line. Values are expressions.
std::string CelMap(const std::map<std::string, std::string>& entries);

// A value of a hole in a document: "@name@", in the document's order.
using Holes = std::vector<std::pair<std::string, std::string>>;
// The document with each hole filled. The lines of a value of several lines are indented as the
// line of its hole. A value is not looked at for further holes.
std::string Fill(absl::string_view document, const Holes& holes);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_MANIFESTS_TEXT_H_
