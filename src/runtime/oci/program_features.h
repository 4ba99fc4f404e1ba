// Versions and features of OCI runtimes, as they report them.
#ifndef PLIMSOLL_RUNTIME_OCI_PROGRAM_FEATURES_H_
#define PLIMSOLL_RUNTIME_OCI_PROGRAM_FEATURES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::runtime {

// Whether the output of `<program> features` (OCI runtime specification, features.md) has this
// mount option. False for any other text.
bool FeaturesHaveMountOption(absl::string_view json, absl::string_view option);

// The program's VersionIn; a program that calls crun is crun. Empty if it fails, or takes longer
// than three seconds. UNAVAILABLE: a signal killed it each of three times.
absl::StatusOr<std::string> VersionOf(const std::string& program);

// Whether the program knows the mount option "rro": mounts that are read-only with all below them.
// It is asked for its features; a crun older than that command (1.8 of Debian 12) is known by its
// version. False for one that doesn't report it, fails, or takes longer than three seconds. Runs
// the program. UNAVAILABLE: a signal killed it each of three times, and it is unknown.
absl::StatusOr<bool> KnowsRecursiveReadOnly(const std::string& program);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_PROGRAM_FEATURES_H_
