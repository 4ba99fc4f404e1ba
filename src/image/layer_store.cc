#include "image/layer_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/disk_usage.h"
#include "base/fault_injection.h"
#include "base/random_id.h"
#include "base/status.h"
#include "image/names/digest.h"

namespace plimsoll::image {
namespace {

// Interval at which a caller that waits for somebody else's unpacking checks whether it is
// cancelled.
constexpr absl::Duration kLockAskInterval = absl::Milliseconds(100);

std::string LayerPath(const std::string& chain_id) {
  return absl::StrCat("layers/", DigestHex(chain_id));
}

// "<bytes of content> <inodes> <bytes on the disk>\n"; earlier versions wrote the first two.
std::string UsageText(const LayerUsage& usage) {
  return absl::StrCat(usage.content_bytes, " ", usage.disk.inodes, " ", usage.disk.bytes, "\n");
}

absl::StatusOr<LayerUsage> ReadUsage(const FsRoot& directory, const std::string& layer) {
  const std::string path = absl::StrCat(layer, "/usage");
  const absl::StatusOr<std::string> text = directory.Read(path, 256);
  if (absl::IsResourceExhausted(text.status()) && ErrnoOf(text.status()) == 0) {  // too long
    return absl::DataLossError(absl::StrCat(directory.PathOf(path), " is damaged"));
  }
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  const std::vector<absl::string_view> parts = absl::StrSplit(*text, absl::ByAnyChar(" \n"));
  LayerUsage usage;
  if ((parts.size() != 3 && parts.size() != 4) ||
      !absl::SimpleAtoi(parts[0], &usage.content_bytes) ||
      !absl::SimpleAtoi(parts[1], &usage.disk.inodes) ||
      (parts.size() == 4 && !absl::SimpleAtoi(parts[2], &usage.disk.bytes))) {
    return absl::DataLossError(absl::StrCat(directory.PathOf(path), " is damaged"));
  }
  if (parts.size() == 3) usage.disk.bytes = usage.content_bytes;
  return usage;
}

absl::Status SyncDirectory(const FsRoot& directory, const std::string& path, bool file_system) {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("sync", path));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, directory.OpenFile(path, O_RDONLY | O_DIRECTORY));
  if ((file_system ? syncfs(fd.get()) : fsync(fd.get())) != 0) {
    return ErrnoStatus(errno, absl::StrCat("sync ", directory.PathOf(path)));
  }
  return absl::OkStatus();
}

absl::Status Rename(const FsRoot& directory, const std::string& from, const std::string& to) {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("rename", from));
  if (renameat(directory.fd(), from.c_str(), directory.fd(), to.c_str()) != 0) {
    return ErrnoStatus(
        errno, absl::StrCat("rename ", directory.PathOf(from), " to ", directory.PathOf(to)));
  }
  return absl::OkStatus();
}

absl::Status NoSuchLayer(const std::string& chain_id) {
  return absl::NotFoundError(absl::StrCat("layer ", chain_id, " is not in the image store"));
}

}  // namespace

void LayerStore::Hold::Release() {
  if (store_ != nullptr) std::exchange(store_, nullptr)->Release(chain_id_);
}

absl::StatusOr<std::shared_ptr<LayerStore>> LayerStore::Open(const FsRoot& directory) {
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs("layers"));
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs("work"));
  std::shared_ptr<LayerStore> store(new LayerStore(directory));
  PLIMSOLL_RETURN_IF_ERROR(store->Load());
  return store;
}

absl::Status LayerStore::Load() {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory_.List("layers"));
  absl::MutexLock lock(&mutex_);
  for (const std::string& name : names) {
    const std::string chain_id = absl::StrCat("sha256:", name);
    if (!IsDigest(chain_id)) continue;  // not ours
    const absl::StatusOr<LayerUsage> usage = ReadUsage(directory_, LayerPath(chain_id));
    // A layer is complete when it is renamed, so somebody has changed it. A container may still run
    // on it.
    const bool damaged = absl::IsNotFound(usage.status()) || absl::IsDataLoss(usage.status());
    if (!damaged) PLIMSOLL_RETURN_IF_ERROR(usage.status());
    layers_[chain_id] = Layer{usage.value_or(LayerUsage()), 0,
                              damaged ? State::kDamaged : State::kReady, /*is_found=*/true};
  }
  return absl::OkStatus();
}

absl::StatusOr<LayerStore::Hold> LayerStore::Acquire(const std::string& chain_id) {
  absl::MutexLock lock(&mutex_);
  const auto it = layers_.find(chain_id);
  if (it == layers_.end() || it->second.state != State::kReady) return NoSuchLayer(chain_id);
  if (!HasFiles(chain_id)) {
    return absl::NotFoundError(absl::StrCat("layer ", chain_id, ": ", DiffPath(chain_id),
                                            " is gone; pull or import the image again"));
  }
  ++it->second.holds;
  return Hold(shared_from_this(), chain_id);
}

absl::StatusOr<LayerStore::Hold> LayerStore::AcquireInUse(const std::string& chain_id) {
  absl::MutexLock lock(&mutex_);
  const auto it = layers_.find(chain_id);
  if (it == layers_.end() || it->second.state == State::kUnpacking) return NoSuchLayer(chain_id);
  ++it->second.holds;
  return Hold(shared_from_this(), chain_id);
}

absl::StatusOr<std::optional<LayerStore::Hold>> LayerStore::AcquireOrClaim(
    const std::string& chain_id) {
  absl::MutexLock lock(&mutex_);
  const auto settled = [this, &chain_id]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto it = layers_.find(chain_id);
    return it == layers_.end() || it->second.state != State::kUnpacking;
  };
  if (!mutex_.AwaitWithTimeout(absl::Condition(&settled), kLockAskInterval)) {
    return absl::UnavailableError(absl::StrCat("layer ", chain_id, " is being unpacked"));
  }
  const auto it = layers_.find(chain_id);
  if (it != layers_.end() && it->second.state == State::kReady) {
    if (!HasFiles(chain_id)) {  // somebody removed them: present users keep their claim
      it->second.state = State::kUnpacking;
      return std::nullopt;
    }
    ++it->second.holds;
    return Hold(shared_from_this(), chain_id);
  }
  if (it != layers_.end() && (it->second.holds > 0 || !has_collected_)) {
    return absl::FailedPreconditionError(
        absl::StrCat("layer ", chain_id, " is damaged, and a container may use it; remove the ",
                     "containers of this image, then try again"));
  }
  layers_[chain_id] = Layer();
  return std::nullopt;
}

absl::StatusOr<LayerStore::Hold> LayerStore::Ensure(const std::string& chain_id,
                                                    const UnpackFn& unpack,
                                                    const std::function<bool()>& cancelled) {
  PLIMSOLL_RETURN_IF_ERROR(CheckDigest(chain_id, "a layer's chain"));
  absl::StatusOr<std::optional<Hold>> there = AcquireOrClaim(chain_id);
  while (absl::IsUnavailable(there.status())) {
    if (cancelled && cancelled()) return absl::CancelledError("cancelled");
    there = AcquireOrClaim(chain_id);
  }
  PLIMSOLL_RETURN_IF_ERROR(there.status());
  if (there->has_value()) return **std::move(there);
  const absl::StatusOr<LayerUsage> usage = UnpackAndPublish(chain_id, unpack);
  absl::MutexLock lock(&mutex_);
  Layer& layer = layers_[chain_id];
  if (!usage.ok()) {
    layer.state = State::kReady;  // without its files, for its present users
    if (layer.holds == 0) layers_.erase(chain_id);
    return usage.status();
  }
  layer.usage = *usage;
  layer.state = State::kReady;
  ++layer.holds;
  return Hold(shared_from_this(), chain_id);
}

absl::StatusOr<LayerUsage> LayerStore::UnpackAndPublish(const std::string& chain_id,
                                                        const UnpackFn& unpack) {
  const std::string work = absl::StrCat("work/", RandomId());
  absl::Cleanup remove_work = [&] { directory_.RemoveTree(work).IgnoreError(); };
  // The root of a container's file system: everybody in it must be able to enter, as usual for "/"
  // if the archive has no entry. The store's own directory keeps others out.
  PLIMSOLL_RETURN_IF_ERROR(directory_.MakeDirs(work));
  PLIMSOLL_RETURN_IF_ERROR(directory_.MakeDirs(absl::StrCat(work, "/diff"), 0755));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot diff, directory_.Sub(absl::StrCat(work, "/diff")));
  if (fchmod(diff.fd(), 0755) != 0) return ErrnoStatus(errno, "set the mode of a layer's root");
  PLIMSOLL_ASSIGN_OR_RETURN(const ImageUsage content, unpack(diff));
  PLIMSOLL_ASSIGN_OR_RETURN(const DiskUsage disk, MeasureTree(diff));
  const LayerUsage usage = {content.bytes, {disk.bytes, content.inodes}};
  PLIMSOLL_RETURN_IF_ERROR(directory_.ReplaceFile(absl::StrCat(work, "/usage"), UsageText(usage)));
  PLIMSOLL_RETURN_IF_ERROR(SyncDirectory(directory_, work, /*file_system=*/true));
  // Only a failure below leaves one; the layer is not in layers_, so nobody uses it.
  PLIMSOLL_RETURN_IF_ERROR(directory_.RemoveTree(LayerPath(chain_id)));
  PLIMSOLL_RETURN_IF_ERROR(Rename(directory_, work, LayerPath(chain_id)));
  const absl::Status synced = SyncDirectory(directory_, "layers", /*file_system=*/false);
  if (synced.ok()) {
    std::move(remove_work).Cancel();
    return usage;
  }
  // Out of sight again, whole. If even that fails, it stays, complete, for Ensure or Open.
  Rename(directory_, LayerPath(chain_id), work).IgnoreError();
  return synced;
}

std::string LayerStore::DiffPath(const std::string& chain_id) const {
  return directory_.PathOf(absl::StrCat(LayerPath(chain_id), "/diff"));
}

absl::StatusOr<FsRoot> LayerStore::Diff(const std::string& chain_id) const {
  return directory_.Sub(absl::StrCat(LayerPath(chain_id), "/diff"));
}

uint64_t LayerStore::SizeOf(const std::string& chain_id) const {
  absl::MutexLock lock(&mutex_);
  const auto it = layers_.find(chain_id);
  return it == layers_.end() ? 0 : it->second.usage.content_bytes;
}

bool LayerStore::HasOneHold(const std::string& chain_id) const {
  absl::MutexLock lock(&mutex_);
  const auto it = layers_.find(chain_id);
  return it != layers_.end() && it->second.holds == 1 && !(it->second.is_found && !has_collected_);
}

ImageUsage LayerStore::TotalUsage() const {
  absl::MutexLock lock(&mutex_);
  ImageUsage total;
  for (const auto& [chain_id, layer] : layers_) {
    total.bytes += layer.usage.disk.bytes;
    total.inodes += layer.usage.disk.inodes;
  }
  return total;
}

// Files that can't be checked count as present.
bool LayerStore::HasFiles(const std::string& chain_id) const {
  return directory_.Has(absl::StrCat(LayerPath(chain_id), "/diff")).value_or(true);
}

absl::StatusOr<std::string> LayerStore::MoveToWork(const std::string& chain_id) {
  if (!directory_.Has(LayerPath(chain_id)).value_or(true)) {
    layers_.erase(chain_id);
    return "";
  }
  const std::string work = absl::StrCat("work/", RandomId());
  PLIMSOLL_RETURN_IF_ERROR(Rename(directory_, LayerPath(chain_id), work));
  layers_.erase(chain_id);
  return work;
}

void LayerStore::Release(const std::string& chain_id) {
  absl::StatusOr<std::string> work = "";
  {
    absl::MutexLock lock(&mutex_);
    Layer& layer = layers_[chain_id];
    if (--layer.holds > 0 || closed_ || (layer.is_found && !has_collected_)) return;
    if (layer.state == State::kUnpacking) return;  // the unpacking caller has it next
    work = MoveToWork(chain_id);
  }
  // A destructor can't report errors. The next Open removes leftovers in work/, the next
  // CollectGarbage a layer that could not be renamed.
  if (work.ok() && !work->empty()) directory_.RemoveTree(*work).IgnoreError();
}

void LayerStore::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

absl::Status LayerStore::CollectGarbage() {
  absl::Status first;
  std::vector<std::string> unused;
  std::vector<std::string> moved;
  {
    absl::MutexLock lock(&mutex_);
    has_collected_ = true;
    for (const auto& [chain_id, layer] : layers_) {
      if (layer.state != State::kUnpacking && layer.holds == 0) unused.push_back(chain_id);
    }
    for (const std::string& chain_id : unused) {
      absl::StatusOr<std::string> work = MoveToWork(chain_id);
      first = FirstError(std::move(first), work.status());
      if (work.ok() && !work->empty()) moved.push_back(*std::move(work));
    }
  }
  for (const std::string& work : moved) {
    first = FirstError(std::move(first), directory_.RemoveTree(work));
  }
  return first;
}

}  // namespace plimsoll::image
