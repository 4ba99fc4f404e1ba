#include "runtime/store/store.h"

#include <fcntl.h>

#include <cerrno>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "runtime/store/damage.h"
#include "runtime/store/log_check.h"
#include "runtime/store/schema.h"
#include "runtime/store/tables.h"
#include "sqlite/database.h"
#include "sqlite/disk_reserve.h"
#include "sqlite/reserve_keeper.h"

namespace plimsoll::runtime {
namespace {

constexpr char kFileName[] = "plimsoll.db";
// Enough for some hundred removals. SQLite starts its log over at 4 MiB.
constexpr int64_t kReserveBytes = 2 << 20;

// Whether the record's write leads to a removal, which makes room: it may use the reserve.
bool Ends(const SandboxRecord& record) {
  return record.state == SandboxState::kNotReady || record.state == SandboxState::kRemoving;
}
bool Ends(const ContainerRecord& record) {
  return record.state == ContainerState::kExited || record.state == ContainerState::kRemoving;
}

// Two connections to one file, since the durability of a commit is a setting of the connection. One
// lock for both: SQLite lets one writer in at a time anyhow, and a waiter would poll.
class SqliteStore : public Store {
 public:
  SqliteStore(sqlite::DiskReserve reserve, std::unique_ptr<sqlite::Database> pods,
              std::unique_ptr<sqlite::Database> images_database, SandboxTable sandboxes,
              ContainerTable containers, ImageTable images, OwnedTable owned)
      : reserve_(std::move(reserve)),
        pods_(std::move(pods)),
        images_database_(std::move(images_database)),
        sandboxes_(std::move(sandboxes)),
        containers_(std::move(containers)),
        images_(std::move(images)),
        owned_(std::move(owned)) {}

  absl::StatusOr<std::vector<SandboxRecord>> LoadSandboxes() override {
    absl::MutexLock lock(&mutex_);
    return sandboxes_.Load();
  }
  absl::Status PutSandbox(const SandboxRecord& sandbox) override {
    absl::MutexLock lock(&mutex_);
    return Annotate(Write(Ends(sandbox), [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                                             mutex_) { return sandboxes_.Put(sandbox); }),
                    "store sandbox " + sandbox.id);
  }
  absl::Status RemoveSandbox(const std::string& id) override {
    absl::MutexLock lock(&mutex_);
    const absl::Status status = Write(/*ends=*/true, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return sandboxes_.Remove(id);
    });
    if (absl::IsFailedPrecondition(status)) {
      return Annotate(status,
                      absl::StrCat("remove sandbox ", id,
                                   " from the store (its containers must be removed first)"));
    }
    return Annotate(status, absl::StrCat("remove sandbox ", id, " from the store"));
  }

  absl::StatusOr<std::vector<ContainerRecord>> LoadContainers() override {
    absl::MutexLock lock(&mutex_);
    return containers_.Load();
  }
  absl::Status PutContainer(const ContainerRecord& container) override {
    absl::MutexLock lock(&mutex_);
    return Annotate(
        Write(Ends(container),
              [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return containers_.Put(container); }),
        absl::StrCat("store container ", container.id, " of sandbox ", container.sandbox_id));
  }
  absl::Status RemoveContainer(const std::string& id) override {
    absl::MutexLock lock(&mutex_);
    return Annotate(Write(/*ends=*/true, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                                             mutex_) { return containers_.Remove(id); }),
                    absl::StrCat("remove container ", id, " from the store"));
  }

  std::vector<DamagedRow> Damaged() const override {
    absl::MutexLock lock(&mutex_);
    std::vector<DamagedRow> all = sandboxes_.damaged();
    const std::vector<DamagedRow>& containers = containers_.damaged();
    all.insert(all.end(), containers.begin(), containers.end());
    return all;
  }

  absl::StatusOr<std::vector<image::ImageRecord>> LoadImages() override {
    absl::MutexLock lock(&mutex_);
    absl::StatusOr<std::vector<image::ImageRecord>> images = images_.Load();
    if (!images.ok()) return images;
    for (const image::ImageRecord& image : *images) image_ids_.insert(image.id);
    return images;
  }
  std::vector<image::DamagedImage> DamagedImages() const override {
    absl::MutexLock lock(&mutex_);
    return images_.damaged();
  }
  absl::Status PutImage(const image::ImageRecord& image) override {
    absl::MutexLock lock(&mutex_);
    // An existing image loses or gets a name, which takes no room.
    const bool is_there = image_ids_.contains(image.id);
    const absl::Status status =
        Write(is_there, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return images_.Put(image); });
    if (status.ok()) image_ids_.insert(image.id);
    return Annotate(status, "store image " + image.id);
  }
  absl::Status RemoveImage(const std::string& id) override {
    absl::MutexLock lock(&mutex_);
    const absl::Status status = Write(
        /*ends=*/true, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return images_.Remove(id); });
    if (status.ok()) image_ids_.erase(id);
    return Annotate(status, absl::StrCat("remove image ", id, " from the store"));
  }

  absl::StatusOr<std::set<std::string>> ListOwned(const std::string& kind) const override {
    absl::MutexLock lock(&mutex_);
    return owned_.List(kind);
  }
  absl::Status AddOwned(const std::string& kind, const std::string& name) override {
    absl::MutexLock lock(&mutex_);
    return Annotate(owned_.Add(kind, name), absl::StrCat("store ", kind, " ", name));
  }
  absl::Status RemoveOwned(const std::string& kind, const std::string& name) override {
    absl::MutexLock lock(&mutex_);
    return Annotate(Write(/*ends=*/true, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                                             mutex_) { return owned_.Remove(kind, name); }),
                    absl::StrCat("remove ", kind, " ", name, " from the store"));
  }

 private:
  absl::Status Write(bool ends, absl::FunctionRef<absl::Status()> write)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return reserve_.Write(ends, write);
  }

  sqlite::ReserveKeeper reserve_;
  mutable absl::Mutex mutex_;
  std::set<std::string> image_ids_ ABSL_GUARDED_BY(mutex_);  // of stored images
  // Statements must be finalised before their connections are closed: order matters.
  std::unique_ptr<sqlite::Database> pods_;
  std::unique_ptr<sqlite::Database> images_database_;
  SandboxTable sandboxes_ ABSL_GUARDED_BY(mutex_);
  ContainerTable containers_ ABSL_GUARDED_BY(mutex_);
  ImageTable images_ ABSL_GUARDED_BY(mutex_);
  mutable OwnedTable owned_ ABSL_GUARDED_BY(mutex_);
};

// Makes the file if there is none, so that it has our mode: specs may hold secrets in their
// environment. SQLite gives its log the mode of the database.
absl::Status EnsureFile(const FsRoot& directory) {
  const absl::Status status = directory.OpenFile(kFileName, O_RDWR | O_CREAT, 0600).status();
  if (ErrnoOf(status) == EROFS || absl::IsPermissionDenied(status)) {
    return absl::FailedPreconditionError(absl::StrCat("database ", directory.PathOf(kFileName),
                                                      ": is read-only: ", status.message()));
  }
  return status;
}

absl::Status CheckIntegrity(sqlite::Database& database, const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::string finding, database.QueryText("PRAGMA quick_check(1)"));
  if (finding == "ok") return absl::OkStatus();
  return DamagedError(path, finding);
}

absl::Status NothingRecordedError(const std::string& path, size_t sandboxes) {
  return DamagedError(path, absl::StrCat("nothing is recorded in it, and the run directory has ",
                                         sandboxes, sandboxes == 1 ? " sandbox" : " sandboxes"));
}

// Errors that SQLite would ignore: it takes an empty file for a new database, with whatever log,
// and a damaged log for a short one.
absl::Status CheckFilesOfPods(const FsRoot& directory, size_t sandboxes) {
  PLIMSOLL_ASSIGN_OR_RETURN(const struct stat file, directory.Stat(kFileName));
  if (file.st_size == 0) return NothingRecordedError(directory.PathOf(kFileName), sandboxes);
  return CheckLog(directory, kFileName);
}

// A connection to a database that is ours, whole and of this schema. `sandboxes` is 0 if the
// database may be empty.
absl::StatusOr<std::unique_ptr<sqlite::Database>> OpenDatabase(const FsRoot& directory,
                                                               size_t sandboxes) {
  const absl::Span<const Migration> migrations = Migrations();
  PLIMSOLL_RETURN_IF_ERROR(CheckFile(directory, kFileName, migrations.size()));
  PLIMSOLL_RETURN_IF_ERROR(EnsureFile(directory));
  const std::string path = directory.PathOf(kFileName);
  PLIMSOLL_ASSIGN_OR_RETURN(
      std::unique_ptr<sqlite::Database> database,
      sqlite::Database::Open(path, sqlite::Durability::kNormal, DamageAdvice(path)));
  // The log may hold a newer version than the file's header: nothing is folded until that is known.
  database->SetTidyOnClose(false);
  PLIMSOLL_RETURN_IF_ERROR(CheckVersion(*database, path, migrations.size()));
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t version, database->QueryInteger("PRAGMA user_version"));
  if (version == 0 && sandboxes > 0) return NothingRecordedError(path, sandboxes);
  database->SetTidyOnClose(true);
  PLIMSOLL_RETURN_IF_ERROR(CheckIntegrity(*database, path));
  PLIMSOLL_ASSIGN_OR_RETURN(std::string mode, database->QueryText("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return absl::FailedPreconditionError(absl::StrCat(
        "database ", path, ": its file system has no shared memory files, and the ",
        "write-ahead log needs them (journal mode stays ", mode, "); use a local file system"));
  }
  PLIMSOLL_RETURN_IF_ERROR(Migrate(*database, directory, kFileName, migrations));
  PLIMSOLL_RETURN_IF_ERROR(
      database->Execute("PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 4194304"));
  return database;
}

absl::StatusOr<std::unique_ptr<sqlite::Database>> OpenFirst(const FsRoot& directory,
                                                            size_t sandboxes) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_there, directory.Has(kFileName));
  if (is_there) {
    if (sandboxes > 0) PLIMSOLL_RETURN_IF_ERROR(CheckFilesOfPods(directory, sandboxes));
    return OpenDatabase(directory, sandboxes);
  }
  absl::StatusOr<std::unique_ptr<sqlite::Database>> made = OpenDatabase(directory, /*sandboxes=*/0);
  if (made.ok()) return made;
  // The next start must not take a half-made database for a loss.
  for (const char* suffix : {"", "-wal", "-shm"}) {
    directory.RemoveFile(absl::StrCat(kFileName, suffix)).IgnoreError();
  }
  return made;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const FsRoot& directory,
                                                   size_t sandboxes_there) {
  sqlite::DiskReserve reserve(directory, kReserveBytes);
  absl::StatusOr<std::unique_ptr<sqlite::Database>> first = OpenFirst(directory, sandboxes_there);
  // A daemon that couldn't start on a full disk couldn't make room on it either.
  if (absl::IsResourceExhausted(first.status()) && reserve.Release()) {
    first = OpenFirst(directory, sandboxes_there);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<sqlite::Database> pods, std::move(first));
  PLIMSOLL_ASSIGN_OR_RETURN(
      std::unique_ptr<sqlite::Database> images_database,
      sqlite::Database::Open(directory.PathOf(kFileName), sqlite::Durability::kFull,
                             DamageAdvice(directory.PathOf(kFileName))));
  PLIMSOLL_ASSIGN_OR_RETURN(SandboxTable sandboxes, SandboxTable::Open(*pods));
  PLIMSOLL_ASSIGN_OR_RETURN(ContainerTable containers, ContainerTable::Open(*pods));
  PLIMSOLL_ASSIGN_OR_RETURN(ImageTable images, ImageTable::Open(*images_database));
  PLIMSOLL_ASSIGN_OR_RETURN(OwnedTable owned, OwnedTable::Open(*pods));
  return std::make_unique<SqliteStore>(std::move(reserve), std::move(pods),
                                       std::move(images_database), std::move(sandboxes),
                                       std::move(containers), std::move(images), std::move(owned));
}

}  // namespace plimsoll::runtime
