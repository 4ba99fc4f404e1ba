// The error for a damaged database, wherever the damage is found.
#ifndef PLIMSOLL_RUNTIME_STORE_DAMAGE_H_
#define PLIMSOLL_RUNTIME_STORE_DAMAGE_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace plimsoll::runtime {

// DATA_LOSS: names the database file, the damage, the remedy and its cost.
inline absl::Status DamagedError(absl::string_view path, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(
      "database ", path, ": is damaged: ", what,
      "; pods run on until a daemon starts with an empty database. An empty one ends every "
      "running pod and forgets all images: to start with it, move this database and its log (",
      path, "-wal) away"));
}

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_STORE_DAMAGE_H_
