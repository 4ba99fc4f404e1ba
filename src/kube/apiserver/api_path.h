// Paths of the API server's objects and collections, and the query behind them.
//
//   ApiPathWith("/apis/resource.k8s.io/v1/resourceslices", {{"fieldSelector", "spec.nodeName=n1"}})
#ifndef PLIMSOLL_KUBE_APISERVER_API_PATH_H_
#define PLIMSOLL_KUBE_APISERVER_API_PATH_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace plimsoll::kube {

// The text with every byte escaped that is not a letter, a digit, or one of "-._~": a value of a
// query, or a component of a path that somebody else named.
std::string EscapedForUrl(absl::string_view text);

// `path` with the parameters behind it, their values escaped. Parameters with an empty value are
// left out. `path` may have a query already.
std::string ApiPathWith(absl::string_view path,
                        const std::vector<std::pair<std::string, std::string>>& parameters);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_API_PATH_H_
