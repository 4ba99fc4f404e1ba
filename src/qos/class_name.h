// Names of class types and of classes.
#ifndef PLIMSOLL_QOS_CLASS_NAME_H_
#define PLIMSOLL_QOS_CLASS_NAME_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll::qos {

// As Kubernetes has qualified names, which KEP-3008 takes over: 1 to 63 letters, digits, '-', '_'
// and '.', the first and the last a letter or digit; before it, if one likes, a DNS name of up to
// 253 characters and a slash ("example.com/gold"). INVALID_ARGUMENT says what is wrong with it.
// `what` begins the message: "class", "class type".
absl::Status ValidateName(absl::string_view what, absl::string_view name);

// What to tell of a class in a file whose name no client may be able to send; empty: nothing.
std::string WhyOddClassName(absl::string_view name);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CLASS_NAME_H_
