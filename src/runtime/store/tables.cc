#include "runtime/store/tables.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace plimsoll::runtime {

absl::Status Damaged(const absl::Status& status, absl::string_view row, absl::string_view column) {
  if (status.ok()) return status;
  return absl::DataLossError(
      absl::StrCat("database row ", row, ", column ", column, ": ", status.message()));
}

linux::ProcessId ReadProcess(const sqlite::Statement& row, int column) {
  return {.pid = static_cast<pid_t>(row.Integer(column)),
          .start_time_ticks = static_cast<uint64_t>(row.Integer(column + 1))};
}

std::string UpsertSql(absl::string_view table, const std::vector<const char*>& columns) {
  std::vector<std::string> assignments;
  for (size_t i = 1; i < columns.size(); ++i) {
    assignments.push_back(absl::StrCat(columns[i], " = excluded.", columns[i]));
  }
  const std::vector<const char*> marks(columns.size(), "?");
  return absl::StrCat("INSERT INTO ", table, " (", absl::StrJoin(columns, ", "), ") VALUES (",
                      absl::StrJoin(marks, ", "), ") ON CONFLICT (", columns[0], ") DO UPDATE SET ",
                      absl::StrJoin(assignments, ", "));
}

std::string LoadSql(absl::string_view table, const std::vector<const char*>& columns) {
  return absl::StrCat("SELECT ", absl::StrJoin(columns, ", "), " FROM ", table,
                      " ORDER BY created_unix_nanos, id");
}

}  // namespace plimsoll::runtime
