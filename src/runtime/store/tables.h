// A class for each table, with its rows as records. Each keeps its statements prepared on its
// connection, which must outlive it, and is used by one thread at a time.
#ifndef PLIMSOLL_RUNTIME_STORE_TABLES_H_
#define PLIMSOLL_RUNTIME_STORE_TABLES_H_

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "image/catalog.h"
#include "runtime/store/records.h"
#include "sqlite/database.h"

namespace plimsoll::runtime {

// In all three: Load returns every row, oldest first. damaged() then lists rows with an unreadable
// column; a damaged image is not among the records, because each of its columns is needed. Put
// inserts or replaces by id. Remove is OK when there is no such row.

class SandboxTable {
 public:
  static absl::StatusOr<SandboxTable> Open(sqlite::Database& database);
  absl::StatusOr<std::vector<SandboxRecord>> Load();
  const std::vector<DamagedRow>& damaged() const { return damaged_; }
  absl::Status Put(const SandboxRecord& record);
  // FAILED_PRECONDITION while it has containers.
  absl::Status Remove(const std::string& id);

 private:
  SandboxTable(sqlite::Statement load, sqlite::Statement put, sqlite::Statement remove)
      : load_(std::move(load)), put_(std::move(put)), remove_(std::move(remove)) {}
  sqlite::Statement load_, put_, remove_;
  std::vector<DamagedRow> damaged_;
};

class ContainerTable {
 public:
  static absl::StatusOr<ContainerTable> Open(sqlite::Database& database);
  absl::StatusOr<std::vector<ContainerRecord>> Load();
  const std::vector<DamagedRow>& damaged() const { return damaged_; }
  // FAILED_PRECONDITION when there is no such sandbox.
  absl::Status Put(const ContainerRecord& record);
  absl::Status Remove(const std::string& id);

 private:
  ContainerTable(sqlite::Statement load, sqlite::Statement put, sqlite::Statement remove)
      : load_(std::move(load)), put_(std::move(put)), remove_(std::move(remove)) {}
  sqlite::Statement load_, put_, remove_;
  std::vector<DamagedRow> damaged_;
};

class ImageTable {
 public:
  static absl::StatusOr<ImageTable> Open(sqlite::Database& database);
  absl::StatusOr<std::vector<image::ImageRecord>> Load();
  const std::vector<image::DamagedImage>& damaged() const { return damaged_; }
  absl::Status Put(const image::ImageRecord& record);
  absl::Status Remove(const std::string& id);

 private:
  ImageTable(sqlite::Statement load, sqlite::Statement put, sqlite::Statement remove)
      : load_(std::move(load)), put_(std::move(put)), remove_(std::move(remove)) {}
  sqlite::Statement load_, put_, remove_;
  std::vector<image::DamagedImage> damaged_;
};

// Objects owned by class types (see qos/owned_objects.h).
class OwnedTable {
 public:
  static absl::StatusOr<OwnedTable> Open(sqlite::Database& database);
  absl::StatusOr<std::set<std::string>> List(const std::string& kind);
  absl::Status Add(const std::string& kind, const std::string& name);
  absl::Status Remove(const std::string& kind, const std::string& name);

 private:
  OwnedTable(sqlite::Statement list, sqlite::Statement add, sqlite::Statement remove)
      : list_(std::move(list)), add_(std::move(add)), remove_(std::move(remove)) {}
  sqlite::Statement list_, add_, remove_;
};

// For Load: the error of reading one column of the row called `row` ("container abc"), made
// DATA_LOSS.
absl::Status Damaged(const absl::Status& status, absl::string_view row, absl::string_view column);

// The process with its pid in `column` and its start time in the next one.
linux::ProcessId ReadProcess(const sqlite::Statement& row, int column);

// An INSERT that replaces every other column of a row with the same first column. (INSERT OR
// REPLACE would delete the old row first, which violates references to it.)
std::string UpsertSql(absl::string_view table, const std::vector<const char*>& columns);
// A SELECT of every row, with the columns in that order, oldest first.
std::string LoadSql(absl::string_view table, const std::vector<const char*>& columns);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_STORE_TABLES_H_
