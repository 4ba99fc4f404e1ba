// The schema of the database and its migrations.
//
// A database's version (PRAGMA user_version) is the number of migrations that were run on it. A
// released migration is never changed; a new schema is a new migration at the end of the list.
#ifndef PLIMSOLL_RUNTIME_STORE_SCHEMA_H_
#define PLIMSOLL_RUNTIME_STORE_SCHEMA_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/fs_root.h"
#include "sqlite/database.h"

namespace plimsoll::runtime {

// SQL that takes the schema one version up. Foreign keys are checked as a whole at its end, not
// while it runs, so a table may be made again.
struct Migration {
  const char* sql;
};

// All migrations of this build, oldest first.
absl::Span<const Migration> Migrations();

// Checks a database file without SQLite, so that nothing is written: no log, no lock file. OK when
// it is missing or empty. DATA_LOSS when it is no database, FAILED_PRECONDITION when it belongs to
// another program or its version is newer than `newest`.
absl::Status CheckFile(const FsRoot& directory, const std::string& name, size_t newest);

// The same for the version seen by an open connection, which may be in the log only.
absl::Status CheckVersion(sqlite::Database& database, const std::string& path, size_t newest);

// Brings `database`, which is <directory>/<name>, up to the last of `migrations` in one
// transaction. Unless it was empty a copy is put beside it first, as <name>.v<its version>,
// complete and on disk. FAILED_PRECONDITION for a newer version, with nothing changed.
absl::Status Migrate(sqlite::Database& database, const FsRoot& directory, const std::string& name,
                     absl::Span<const Migration> migrations);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_STORE_SCHEMA_H_
