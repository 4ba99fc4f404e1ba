// Names of class types and of classes.
#ifndef PLIMSOLL_QOS_CLASS_NAME_H_
#define PLIMSOLL_QOS_CLASS_NAME_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll::qos {

// Kubernetes' qualified names, which KEP-3008 takes over: 1 to 63 letters, digits, '-', '_' and
// '.', the first and the last a letter or digit; optionally preceded by a DNS name of up to 253
// characters and a slash ("example.com/gold"). INVALID_ARGUMENT says what is wrong with the name.
// `what` begins the message: "class", "class type".
absl::Status ValidateName(absl::string_view what, absl::string_view name);

// A warning for a class of a file whose name clients may be unable to send; empty: none.
std::string WhyOddClassName(absl::string_view name);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CLASS_NAME_H_
