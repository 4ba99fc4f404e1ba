// The error for a damaged database, wherever the damage is found.
#ifndef PLIMSOLL_RUNTIME_STORE_DAMAGE_H_
#define PLIMSOLL_RUNTIME_STORE_DAMAGE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace plimsoll::runtime {

// The remedy and its cost.
inline std::string DamageAdvice(absl::string_view path) {
  return absl::StrCat(
      "; pods run on until a daemon starts with an empty database. An empty one ends every running "
      "pod and forgets all images: to start with it, move this database and its log (",
      path, "-wal) away");
}

// DATA_LOSS: names the database file, the damage, the remedy and its cost.
inline absl::Status DamagedError(absl::string_view path, absl::string_view damage) {
  return absl::DataLossError(
      absl::StrCat("database ", path, ": is damaged: ", damage, DamageAdvice(path)));
}

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_STORE_DAMAGE_H_
