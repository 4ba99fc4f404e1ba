// Finds the programs that are parts of Plimsoll and are not for users to call.
#ifndef PLIMSOLL_BASE_PROGRAMS_OWN_PROGRAM_H_
#define PLIMSOLL_BASE_PROGRAMS_OWN_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll {

// The directories in which the program at `path` looks for them: its own (a build tree), that of
// its installation's prefix (/opt/p/libexec/plimsoll for /opt/p/bin/plimsolld), and the usual ones.
std::vector<std::string> OwnProgramPlaces(absl::string_view path);

// The first directory of `places` that has all of these programs. Empty `places` means those of the
// running program. NOT_FOUND names the programs and the directories searched.
absl::StatusOr<std::string> FindOwnPrograms(const std::vector<std::string>& names,
                                            std::vector<std::string> places = {});

// The path of one such program, e.g. "plimsoll-pause".
absl::StatusOr<std::string> FindOwnProgram(absl::string_view name);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PROGRAMS_OWN_PROGRAM_H_
