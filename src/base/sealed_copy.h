// Programs that nobody can change while they run.
#ifndef PLIMSOLL_BASE_SEALED_COPY_H_
#define PLIMSOLL_BASE_SEALED_COPY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll {

// A copy of the file in a memfd of that name, sealed against every change: for a program that a
// container may get to see through /proc/<pid>/exe (CVE-2019-5736). /proc/<pid>/exe shows the name
// as "/memfd:<name> (deleted)". Thread-safe.
absl::StatusOr<UniqueFd> SealedCopy(const std::string& path, const std::string& name);

// Seals hold the content, not mode and owner: the root of a container that sees the copy by
// /proc/<pid>/exe may chmod(2) it, and nobody could execute it any more. If mode or owner of the
// SealedCopy `copy` were changed, a new one takes the place of this descriptor, at once, so that
// /proc/<pid>/fd/<copy> leads to it; that container has no hold of the new one until it sees one
// run. To be called before each use. Thread-safe.
absl::Status RenewIfTouched(int copy, const std::string& name);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_SEALED_COPY_H_
