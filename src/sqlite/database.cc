#include "sqlite/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/fault_injection.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "sqlite/log_header.h"

namespace plimsoll::sqlite {
namespace {

constexpr int kBusyTimeoutMs = 5000;

// The errno of a full disk, or 0. SQLite keeps none of a write that gave ENOSPC, which is
// SQLITE_FULL; what else it writes, as the index of its log, gives SQLITE_IOERR.
int FullDiskErrno(int code, int err) {
  if (code == SQLITE_FULL) return ENOSPC;
  return code == SQLITE_IOERR && (err == ENOSPC || err == EDQUOT) ? err : 0;
}

// Whether the file system has become read-only under an open database. Its writes fail one by one,
// and SQLite keeps no errno of those to the log. So an unnamed file is tried: opening and closing
// the database itself would drop SQLite's locks.
bool IsReadOnly(int code, const char* path) {
  if (code != SQLITE_READONLY && code != SQLITE_IOERR && code != SQLITE_CANTOPEN) return false;
  const absl::string_view file = path == nullptr ? "" : path;
  const std::string directory(file.substr(0, file.rfind('/')));
  if (directory.empty()) return false;
  const UniqueFd probe(open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  return !probe.valid() && errno == EROFS;
}

// "" for a regular file and for none. A link to one is as good, one to nothing would be followed.
std::string FaultOfFile(const std::string& path) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) return "";
  if (S_ISLNK(info.st_mode) && stat(path.c_str(), &info) != 0) {
    return "is a symbolic link that leads nowhere";
  }
  if (S_ISREG(info.st_mode)) return "";
  return absl::StrCat("is ", KindOfFile(info.st_mode), ", not a regular file");
}

absl::StatusCode CodeOf(int code) {
  switch (code) {
    case SQLITE_NOMEM:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_CONSTRAINT:
      return absl::StatusCode::kFailedPrecondition;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* handle) const {
  sqlite3_finalize(handle);
}

void Statement::Bind(int index, int64_t value) {
  bind_error_ |= sqlite3_bind_int64(handle_.get(), index, value);
}

// A null pointer would bind NULL.
void Statement::Bind(int index, absl::string_view value) {
  bind_error_ |= sqlite3_bind_text64(handle_.get(), index, value.empty() ? "" : value.data(),
                                     value.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::Bind(int index, Blob value) {
  bind_error_ |=
      sqlite3_bind_blob64(handle_.get(), index, value.bytes.empty() ? "" : value.bytes.data(),
                          value.bytes.size(), SQLITE_STATIC);
}

absl::Status Statement::StepAll(const std::function<absl::Status()>& row) {
  absl::Status status;
  if (sqlite3_stmt_readonly(handle_.get()) == 0) {
    status = InjectedFault("commit", sqlite3_sql(handle_.get()));
    if (!status.ok()) return status;
  }
  int result = std::exchange(bind_error_, 0);
  if (result == SQLITE_OK) {
    while ((result = sqlite3_step(handle_.get())) == SQLITE_ROW) {
      status = row();
      if (!status.ok()) break;
    }
  }
  if (status.ok() && result != SQLITE_DONE) status = database_->ErrorOf(result);
  sqlite3_reset(handle_.get());  // returns the step's result again
  sqlite3_clear_bindings(handle_.get());
  return status;
}

int64_t Statement::Integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

std::string Statement::Bytes(int column) const {
  const void* data = sqlite3_column_blob(handle_.get(), column);
  const int size = sqlite3_column_bytes(handle_.get(), column);
  return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
}

void Database::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

absl::Status Database::ErrorOf(int result) const {
  sqlite3* const database = handle_.get();
  const char* path = sqlite3_db_filename(database, "main");
  const std::string name = absl::StrCat("database ", path != nullptr ? path : "");
  const int code = result & 0xff;  // without the extended code
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
    return absl::DataLossError(
        absl::StrCat(name, ": is damaged: ", sqlite3_errmsg(database), damage_advice_));
  }
  if (IsReadOnly(code, path)) return ErrnoStatus(EROFS, name);
  if (const int full = FullDiskErrno(code, sqlite3_system_errno(database)); full != 0) {
    return ErrnoStatus(full, name);
  }
  return absl::Status(CodeOf(code), absl::StrCat(name, ": ", sqlite3_errmsg(database)));
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path,
                                                         Durability durability,
                                                         std::string damage_advice) {
  const std::string fault = FaultOfFile(path);
  if (!fault.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("database ", path, ": ", fault, damage_advice));
  }
  const std::string lost = FaultOfLog(path, durability == Durability::kFull);
  if (!lost.empty()) {
    return absl::DataLossError(
        absl::StrCat("database ", path, ": is damaged: ", lost, damage_advice));
  }
  // SQLite gives a new file the umask's mode, and its log the file's. A failure is SQLite's to
  // report. Closed before SQLite opens the file: a later close would drop its locks (fcntl(2)).
  UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)).Reset();
  sqlite3* handle = nullptr;
  const int result =
      sqlite3_open_v2(path.c_str(), &handle,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  auto database = std::unique_ptr<Database>(new Database(handle, std::move(damage_advice)));
  if (handle == nullptr) return absl::ResourceExhaustedError("open database: out of memory");
  if (result != SQLITE_OK) return database->ErrorOf(result);
  if (sqlite3_db_readonly(handle, "main") != 0) {
    return absl::FailedPreconditionError(absl::StrCat("database ", path, ": is read-only"));
  }
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  // Memory costs more than reading a page again: at most 512 KiB of pages are kept.
  PLIMSOLL_RETURN_IF_ERROR(database->Execute(
      absl::StrCat("PRAGMA cache_size = -512; PRAGMA trusted_schema = OFF; PRAGMA synchronous = ",
                   durability == Durability::kFull ? "FULL" : "NORMAL")));
  return database;
}

absl::Status Database::Execute(const std::string& sql) {
  const int result = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? absl::OkStatus() : ErrorOf(result);
}

absl::StatusOr<Statement> Database::Prepare(absl::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result != SQLITE_OK) return ErrorOf(result);
  return Statement(this, statement);
}

absl::StatusOr<int64_t> Database::QueryInteger(absl::string_view sql) {
  PLIMSOLL_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  std::optional<int64_t> first;
  PLIMSOLL_RETURN_IF_ERROR(statement.Query([&] {
    if (!first.has_value()) first = statement.Integer(0);
    return absl::OkStatus();
  }));
  return first.value_or(0);
}

absl::StatusOr<std::string> Database::QueryText(absl::string_view sql) {
  PLIMSOLL_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  std::optional<std::string> first;
  PLIMSOLL_RETURN_IF_ERROR(statement.Query([&] {
    if (!first.has_value()) first = statement.Bytes(0);
    return absl::OkStatus();
  }));
  return first.value_or("");
}

void Database::SetTidyOnClose(bool on) {
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 0 : 1, nullptr);
}

absl::StatusOr<Transaction> Transaction::Begin(Database& database) {
  PLIMSOLL_RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  return Transaction(&database);
}

// After some errors (no space, say) SQLite has rolled back already; then this does nothing.
Transaction::~Transaction() {
  if (database_ != nullptr) database_->Execute("ROLLBACK").IgnoreError();
}

absl::Status Transaction::Commit() {
  PLIMSOLL_RETURN_IF_ERROR(database_->Execute("COMMIT"));
  database_ = nullptr;
  return absl::OkStatus();
}

}  // namespace plimsoll::sqlite
