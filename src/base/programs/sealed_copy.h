// Sealed copies of programs: nobody can change them while they run.
#ifndef PLIMSOLL_BASE_PROGRAMS_SEALED_COPY_H_
#define PLIMSOLL_BASE_PROGRAMS_SEALED_COPY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll {

// A copy of the file in a memfd of that name, sealed against every change. For a program that a
// container may see through /proc/<pid>/exe (CVE-2019-5736), which shows its name as "/memfd:<name>
// (deleted)". Thread-safe.
absl::StatusOr<UniqueFd> SealedCopy(const std::string& path, const std::string& name);

// Replaces a copy whose mode or owner was changed. Seals protect the content alone: the root of a
// container that sees the copy through /proc/<pid>/exe may chmod(2) it, and nobody could execute it
// any more. The new copy takes over the descriptor number `copy` at once, so that
// /proc/<pid>/fd/<copy> leads to it; that container can't touch it before it sees it run. Call it
// before each use. Thread-safe.
absl::Status RenewIfTouched(int copy, const std::string& name);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PROGRAMS_SEALED_COPY_H_
