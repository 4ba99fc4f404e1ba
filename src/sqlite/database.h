// SQLite with owned handles and absl::Status. Knows nothing of the stored data.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(auto database, Database::Open(path, Durability::kFull));
//   PLIMSOLL_ASSIGN_OR_RETURN(Statement put, database->Prepare("INSERT INTO t VALUES (?, ?)"));
//   PLIMSOLL_RETURN_IF_ERROR(put.Run("a", 7));
//
// Errors: RESOURCE_EXHAUSTED no space (with ErrnoOf ENOSPC or EDQUOT) or no memory, DATA_LOSS not a
// database or damaged, FAILED_PRECONDITION read-only, cannot be opened, or refused by a constraint
// of the schema, UNAVAILABLE locked by another process for more than 5 seconds, else INTERNAL. The
// message names the file and ends with SQLite's text, or with errno's where ErrnoOf gives one. Not
// thread-safe: one connection is used by one thread at a time.
#ifndef PLIMSOLL_SQLITE_DATABASE_H_
#define PLIMSOLL_SQLITE_DATABASE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace plimsoll::sqlite {

// The guarantee of a commit (PRAGMA synchronous, in WAL mode).
enum class Durability {
  kNormal,  // survives the process; a power cut may take the last commits, never consistency
  kFull,    // survives a power cut
};

// A value of bytes, not text.
struct Blob {
  absl::string_view bytes;
};

class Database;

// A prepared statement, to be run any number of times. Its Database must outlive it.
class Statement {
 public:
  // Runs to the end. `values` are bound to the statement's parameters in order: integers, bool,
  // text, Blob. They are not copied.
  template <typename... Values>
  absl::Status Run(const Values&... values) {
    return Query([] { return absl::OkStatus(); }, values...);
  }

  // Runs like Run, and calls `row` for each row of the result, in which Integer and Bytes may be
  // used. An error from `row` ends the query and is returned.
  template <typename... Values>
  absl::Status Query(const std::function<absl::Status()>& row, const Values&... values) {
    int index = 0;
    (Bind(++index, values), ...);
    return StepAll(row);
  }

  // Columns of the current row, from 0. NULL is 0 and "".
  int64_t Integer(int column) const;
  std::string Bytes(int column) const;  // of a TEXT or BLOB

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const;
  };
  Statement(const Database* database, sqlite3_stmt* handle)
      : database_(database), handle_(handle) {}

  void Bind(int index, int64_t value);
  void Bind(int index, absl::string_view value);
  void Bind(int index, Blob value);
  absl::Status StepAll(const std::function<absl::Status()>& row);

  const Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  int bind_error_ = 0;
};

// One connection to a database file.
class Database {
 public:
  // Opens the file, or makes it for its owner alone. FAILED_PRECONDITION where it can be read but
  // not written, or is no regular file. DATA_LOSS also where its log has lost its header, and so
  // all commits in it. The errors of a damaged database, and of anything else in its place, end
  // with `damage_advice`.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path,
                                                        Durability durability,
                                                        std::string damage_advice = "");

  // Runs statements separated by ";".
  absl::Status Execute(const std::string& sql);
  absl::StatusOr<Statement> Prepare(absl::string_view sql);
  // The first column of the first row; 0 when there is none.
  absl::StatusOr<int64_t> QueryInteger(absl::string_view sql);
  absl::StatusOr<std::string> QueryText(absl::string_view sql);

  // Whether closing the last connection folds the log into the file and removes it (SQLite's
  // default). Off while it is unknown whether the file may be touched.
  void SetTidyOnClose(bool on);

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  friend class Statement;
  Database(sqlite3* handle, std::string damage_advice)
      : handle_(handle), damage_advice_(std::move(damage_advice)) {}
  // The one place where an SQLite result becomes an error.
  absl::Status ErrorOf(int result) const;

  std::unique_ptr<sqlite3, Close> handle_;
  const std::string damage_advice_;
};

// Rolls back at the end of the scope unless committed.
class Transaction {
 public:
  // Takes the write lock at once.
  static absl::StatusOr<Transaction> Begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  absl::Status Commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}
  Database* database_;
};

}  // namespace plimsoll::sqlite

#endif  // PLIMSOLL_SQLITE_DATABASE_H_
