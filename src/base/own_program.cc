#include "base/own_program.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace plimsoll {

std::vector<std::string> OwnProgramPlaces(absl::string_view path) {
  const absl::string_view directory = path.substr(0, path.rfind('/'));
  const absl::string_view prefix = directory.substr(0, directory.rfind('/'));
  std::vector<std::string> places;
  for (std::string place :
       {std::string(directory), absl::StrCat(prefix, "/libexec/plimsoll"),
        std::string("/usr/libexec/plimsoll"), std::string("/usr/local/libexec/plimsoll")}) {
    if (std::find(places.begin(), places.end(), place) == places.end()) {
      places.push_back(std::move(place));
    }
  }
  return places;
}

absl::StatusOr<std::string> FindOwnPrograms(const std::vector<std::string>& names,
                                            std::vector<std::string> places) {
  if (places.empty()) {
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof(self));
    places = OwnProgramPlaces(absl::string_view(self, n > 0 ? static_cast<size_t>(n) : 0));
  }
  for (const std::string& place : places) {
    const bool has_all = std::all_of(names.begin(), names.end(), [&place](const std::string& name) {
      return access(absl::StrCat(place, "/", name).c_str(), X_OK) == 0;
    });
    if (has_all) return place;
  }
  return absl::NotFoundError(absl::StrCat(
      names.size() == 1 ? "the program " : "the programs ", absl::StrJoin(names, " and "),
      names.size() == 1 ? ", which is a part of Plimsoll, is missing; looked in "
                        : ", which are parts of Plimsoll, are missing; looked in ",
      absl::StrJoin(places, ", ")));
}

absl::StatusOr<std::string> FindOwnProgram(absl::string_view name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string place, FindOwnPrograms({std::string(name)}));
  return absl::StrCat(place, "/", name);
}

}  // namespace plimsoll
