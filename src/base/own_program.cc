#include "base/own_program.h"

#include <limits.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace plimsoll {

absl::StatusOr<std::string> FindOwnProgram(absl::string_view name) {
  char self[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof(self));
  const absl::string_view path(self, n > 0 ? static_cast<size_t>(n) : 0);
  std::vector<std::string> places;
  for (const absl::string_view directory :
       {path.substr(0, path.rfind('/')), absl::string_view("/usr/libexec/plimsoll"),
        absl::string_view("/usr/local/libexec/plimsoll")}) {
    places.push_back(absl::StrCat(directory, "/", name));
    if (access(places.back().c_str(), X_OK) == 0) return places.back();
  }
  return absl::NotFoundError(absl::StrCat("the program ", name, ", which is a part of Plimsoll, ",
                                          "is missing; looked for ", absl::StrJoin(places, ", ")));
}

}  // namespace plimsoll
