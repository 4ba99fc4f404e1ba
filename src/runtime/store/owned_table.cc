#include "base/status.h"
#include "runtime/store/tables.h"

namespace plimsoll::runtime {

absl::StatusOr<OwnedTable> OwnedTable::Open(sqlite::Database& database) {
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement list,
                            database.Prepare("SELECT name FROM owned_objects WHERE kind = ?"));
  PLIMSOLL_ASSIGN_OR_RETURN(sqlite::Statement add,
                            database.Prepare("INSERT OR IGNORE INTO owned_objects VALUES (?, ?)"));
  PLIMSOLL_ASSIGN_OR_RETURN(
      sqlite::Statement remove,
      database.Prepare("DELETE FROM owned_objects WHERE kind = ? AND name = ?"));
  return OwnedTable(std::move(list), std::move(add), std::move(remove));
}

absl::StatusOr<std::set<std::string>> OwnedTable::List(const std::string& kind) {
  std::set<std::string> names;
  PLIMSOLL_RETURN_IF_ERROR(list_.Query(
      [&] {
        names.insert(list_.Bytes(0));
        return absl::OkStatus();
      },
      kind));
  return names;
}

absl::Status OwnedTable::Add(const std::string& kind, const std::string& name) {
  return add_.Run(kind, name);
}

absl::Status OwnedTable::Remove(const std::string& kind, const std::string& name) {
  return remove_.Run(kind, name);
}

}  // namespace plimsoll::runtime
