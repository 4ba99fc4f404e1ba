#include "kube/commands.h"

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "base/socket_probe.h"
#include "base/status.h"
#include "base/text/problems.h"
#include "kube/driver/claim_store.h"
#include "kube/driver/slice_publisher.h"
#include "kube/publish/remove_published.h"
#include "service/directory_lock.h"

namespace plimsoll::kube {
namespace {

// FAILED_PRECONDITION where pods would miss the driver at their end.
absl::Status CheckUnused(const FsRoot& state, bool force) {
  if (!state.Exists(ClaimStore::kFileName)) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<ClaimStore> store, ClaimStore::Open(state));
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t count, store->Count());
  if (count == 0 || force) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(count, count == 1 ? " claim is" : " claims are",
                   " prepared: kubelet can't end their pods without the driver. Drain the node "
                   "first (kubectl drain), or repeat with --force"));
}

}  // namespace

absl::StatusOr<std::string> Remove(const KubeProgramConfig& config, ApiClient& api,
                                   RuntimeLink& link, bool force) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot state, FsRoot::OpenOrCreate(config.state_directory));
  const absl::StatusOr<DirectoryLock> lock = DirectoryLock::Take(state, "state directory");
  if (!lock.ok()) return AlsoSay(lock.status(), "stop plimsoll-kube first, as it publishes again");
  PLIMSOLL_RETURN_IF_ERROR(CheckUnused(state, force));
  std::string done;
  absl::Status problems;
  const absl::StatusOr<int> slices = RemoveSlices(api, config.node_name);
  if (slices.ok()) {
    absl::StrAppend(&done, "ResourceSlices deleted: ", *slices, "\n");
  } else {
    problems = AlsoTell(problems, Annotate(slices.status(), "ResourceSlices"));
  }
  const absl::Status published = RemovePublished(api, config.node_name);
  if (published.ok()) {
    absl::StrAppend(&done, "labels, annotations, conditions and topology of the node: removed\n");
  } else {
    problems = AlsoTell(problems, Annotate(published, "what the node publishes"));
  }
  const absl::Status told = link.SetScheduled(false);
  if (told.ok()) {
    absl::StrAppend(&done,
                    "plimsolld reads class annotations again, if its configuration says "
                    "\"classes: {from: auto}\"\n");
  } else {
    problems = AlsoTell(problems, Annotate(told, "tell plimsolld"));
  }
  if (!problems.ok()) return problems;
  return done;
}

absl::Status WriteAndClose(absl::string_view text, std::FILE* stream) {
  int fault = 0;
  // A write of more than the stream's buffer may fail before the flush, which then knows of
  // nothing.
  if (std::fwrite(text.data(), 1, text.size(), stream) != text.size()) fault = errno;
  if (std::fflush(stream) != 0 && fault == 0) fault = errno;
  if (std::fclose(stream) != 0 && fault == 0) fault = errno;
  if (fault == 0) return absl::OkStatus();
  return ErrnoStatus(fault, "the output is not whole: write to standard output");
}

absl::StatusOr<std::vector<qos::ClassId>> ClassesOfNode(const std::string& socket,
                                                        absl::Duration patience) {
  absl::Mutex mutex;
  std::shared_ptr<const NodeReport> report;
  const auto link = RuntimeLink::Open(socket, [&](std::shared_ptr<const NodeReport> told) {
    const absl::MutexLock lock(&mutex);
    if (told != nullptr) report = std::move(told);
  });
  const absl::MutexLock lock(&mutex);
  const auto has_report = [&] { return report != nullptr; };
  if (!mutex.AwaitWithTimeout(absl::Condition(&has_report), patience)) {
    const absl::Status probed = ProbeSocket(socket);
    return absl::UnavailableError(absl::StrCat(
        "no plimsolld answers at ", socket, ": ",
        probed.ok() ? absl::StrCat("a program listens there and doesn't tell its "
                                   "classes within ",
                                   absl::FormatDuration(patience))
                    : std::string(probed.message()),
        "; start plimsolld, or name the classes (--class TYPE=CLASS, --pod-class TYPE=CLASS)"));
  }
  std::vector<qos::ClassId> classes;
  for (const PoolDevice& each : PoolDevicesOf(*report)) classes.push_back(each.id);
  return classes;
}

}  // namespace plimsoll::kube
