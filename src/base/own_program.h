// Programs that are a part of Plimsoll and are not for users to call.
#ifndef PLIMSOLL_BASE_OWN_PROGRAM_H_
#define PLIMSOLL_BASE_OWN_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll {

// Where they are looked for by the program at `path`: beside it (a build tree), below the prefix
// that it is installed in (/opt/p/libexec/plimsoll for /opt/p/bin/plimsolld), and in the usual
// ones.
std::vector<std::string> OwnProgramPlaces(absl::string_view path);

// The directory that has all of these programs, the first of `places`, or of those of the running
// program where there are none. NOT_FOUND names the programs and where they were looked for.
absl::StatusOr<std::string> FindOwnPrograms(const std::vector<std::string>& names,
                                            std::vector<std::string> places = {});

// The path of e.g. "plimsoll-pause".
absl::StatusOr<std::string> FindOwnProgram(absl::string_view name);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_OWN_PROGRAM_H_
