#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "base/random_id.h"
#include "base/status.h"
#include "image/blob_store.h"
#include "image/candidates.h"
#include "image/download.h"
#include "image/image_content.h"
#include "image/image_index.h"
#include "image/image_service.h"
#include "image/importer.h"
#include "image/layer_lease.h"
#include "image/layer_store.h"
#include "image/manifest.h"
#include "image/names/reference.h"
#include "image/names/short_names.h"
#include "image/registry/registry_hosts.h"
#include "image/registry/signature_policy.h"
#include "image/shared_pulls.h"
#include "image/skopeo_errors.h"
#include "image/transport_skopeo.h"
#include "image/unpack_image.h"

namespace plimsoll::image {
namespace {

// An archive's names. An OCI layout's may be a bare tag, which names nothing.
std::vector<std::string> TagsOf(const std::vector<std::string>& names) {
  std::vector<std::string> tags;
  for (const std::string& name : names) {
    if (!absl::StrContains(name, '/') && !absl::StrContains(name, ':')) continue;
    const absl::StatusOr<Reference> reference = ParseReference(name);
    if (!reference.ok() || reference->tag.empty()) continue;
    if (std::find(tags.begin(), tags.end(), reference->Tagged()) == tags.end()) {
      tags.push_back(reference->Tagged());
    }
  }
  return tags;
}

std::string InWords(const std::string& id, const std::vector<std::string>& tags) {
  return absl::StrCat("image ", tags.empty() ? "" : absl::StrJoin(tags, ", ") + ", ", id);
}

// Explains a file named by mistake, except a bad layer.
absl::Status OfNoArchive(const absl::Status& status) {
  if (!absl::IsDataLoss(status) || !absl::EndsWith(status.message(), " is no archive")) {
    return status;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(status.message(),
                   "; an image is a tar (plain, gzip, zstd, xz) of `docker save`, "
                   "of an OCI layout or of a root filesystem, or a directory with "
                   "one of the latter two"));
}

class Service : public ImageService {
 public:
  Service(FsRoot directory, Catalog* catalog, std::shared_ptr<LayerStore> layers,
          std::unique_ptr<BlobStore> blobs, ImageServiceOptions options)
      : directory_(std::move(directory)),
        options_(std::move(options)),
        short_names_(options_.host, options_.registries_conf),
        catalog_(catalog),
        layers_(std::move(layers)),
        blobs_(std::move(blobs)) {}

  ~Service() override { layers_->Close(); }

  absl::Status Load();

  absl::StatusOr<Image> Import(const std::string& path, absl::string_view reference,
                               const ProgressFn& progress,
                               const std::function<bool()>& cancelled) override;
  absl::StatusOr<Image> Pull(absl::string_view reference, const PullOptions& options,
                             const ProgressFn& progress) override;
  absl::StatusOr<Image> Find(absl::string_view reference) const override;
  std::vector<Image> List() const override;
  absl::Status Remove(absl::string_view reference) override;
  absl::StatusOr<std::shared_ptr<LayerLease>> Lease(absl::string_view image_id) override;
  absl::StatusOr<std::shared_ptr<LayerLease>> LeaseChain(
      const std::vector<std::string>& chain_ids) override;
  absl::Status CollectGarbage() override;
  absl::StatusOr<ImageUsage> Usage() const override;
  std::string directory() const override { return directory_.path(); }
  std::vector<std::string> Damaged() const override { return damaged_; }

 private:
  void Drop(const std::string& id, const std::vector<std::string>& tags, absl::string_view why);
  absl::StatusOr<FsRoot> MakeWork(std::string* name) const;
  absl::StatusOr<Image> JoinPull(const Reference& name, const PullOptions& options,
                                 absl::Time deadline, const ProgressFn& progress);
  absl::StatusOr<Image> PullNow(const Reference& name, const TransportOptions& options,
                                const ProgressFn& progress, uint64_t* bytes);
  // PullNow with reports to the counters of pulls.
  absl::StatusOr<Image> PullAndTell(const Reference& name, const TransportOptions& options,
                                    const ProgressFn& progress);
  // Adds `names` to the stored image if it came from this repository. Nothing if there is none.
  absl::StatusOr<std::optional<Image>> CommitKnown(const Image& names, const Reference& name,
                                                   const RegistryImage& found);
  MayReuse LayersFor(const Reference& name) const;
  absl::StatusOr<ImageIndex::Match> FindMatch(const ImageIndex& index,
                                              absl::string_view reference) const;
  absl::StatusOr<Image> Commit(Image image, UnpackedImage unpacked, const ImageContent& content);
  absl::Status Write(const ImageIndex::Change& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Applies a removal to the index. The result still holds the layers.
  std::vector<Holds> Forget(const ImageIndex::Change& change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  struct Removal {
    std::vector<Holds> released;  // release without a lock: that removes directories
    std::string row_left;         // the image whose row must then be removed; empty: none
  };
  absl::Status TakeOffTheList(absl::string_view reference, Removal* removal)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  bool MakesRoom(const ImageIndex::Change& change) const;
  absl::Status RemoveFilesFirst(const ImageIndex::Change& change, Removal* removal)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Tries each again. Returns the error of the image with the id `asked` only.
  absl::Status RemoveRowsLeft(absl::string_view asked = "")
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status RemoveUnusedBlobs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);

  const FsRoot directory_;
  const ImageServiceOptions options_;
  ShortNames short_names_;
  Catalog* const catalog_;
  const std::shared_ptr<LayerStore> layers_;
  const std::unique_ptr<BlobStore> blobs_;

  std::vector<std::string> damaged_;  // set by Load

  // Held while the catalog is written, so that index and catalog change in the same order; look-ups
  // need only `mutex_`, which is never held over I/O. Lock this one first.
  absl::Mutex commit_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  // Images without files whose rows a full disk has kept so far, with their names.
  ImageIndex rows_left_ ABSL_GUARDED_BY(commit_mutex_);
  mutable absl::Mutex mutex_;
  ImageIndex index_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Holds> holds_ ABSL_GUARDED_BY(mutex_);  // by image id

  SharedPulls pulls_;
};

absl::Status Service::Load() {
  // If this fails, every pull of a short name reports it.
  short_names_.Read().IgnoreError();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<ImageRecord> records, catalog_->LoadImages());
  for (const ImageRecord& record : records) {
    const absl::StatusOr<std::string> text = blobs_->Read(record.id);
    const absl::StatusOr<ConfigFile> file =
        text.ok() ? ParseConfigFile(*text, record.id) : absl::StatusOr<ConfigFile>(text.status());
    absl::StatusOr<Holds> holds = AcquireAll(*layers_, record.chain_ids);
    const absl::Status status = FirstError(file.status(), holds.status());
    if (absl::IsNotFound(status) || absl::IsDataLoss(status) || absl::IsInvalidArgument(status)) {
      // Somebody removed files from the store, or RemoveFilesFirst was interrupted.
      Drop(record.id, record.repo_tags,
           absl::IsNotFound(text.status())
               ? absl::StrCat(status.message(),
                              " (its removal was cut off, or another program removed files)")
               : std::string(status.message()));
      continue;
    }
    PLIMSOLL_RETURN_IF_ERROR(status);
    absl::MutexLock lock(&mutex_);
    index_.Apply(index_.Put(Image{record, file->config}));
    holds_[record.id] = *std::move(holds);
  }
  for (const DamagedImage& image : catalog_->DamagedImages()) Drop(image.id, {}, image.what);
  return absl::OkStatus();
}

// The remains are no image. Listed, they would keep clients from pulling it again.
void Service::Drop(const std::string& id, const std::vector<std::string>& tags,
                   absl::string_view why) {
  damaged_.push_back(absl::StrCat(InWords(id, tags), " is damaged and no longer listed: ", why,
                                  "; pull or import it again"));
  // A remaining row is found again at the next start, or replaced when the image comes back.
  catalog_->RemoveImage(id).IgnoreError();
}

absl::StatusOr<FsRoot> Service::MakeWork(std::string* name) const {
  *name = absl::StrCat("work/", RandomId());
  PLIMSOLL_RETURN_IF_ERROR(directory_.MakeDirs(*name));
  return directory_.Sub(*name);
}

absl::StatusOr<Image> Service::Import(const std::string& path, absl::string_view reference,
                                      const ProgressFn& progress,
                                      const std::function<bool()>& cancelled) {
  std::vector<std::string> tags;
  if (!reference.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const Reference name, ParseReference(reference));
    if (!name.digest.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "import as \"", reference, "\": a digest can't be given to an image; use name:tag"));
    }
    tags.push_back(name.Tagged());
  }
  std::string work_name;
  absl::Cleanup remove_work = [&] {
    if (!work_name.empty()) directory_.RemoveTree(work_name).IgnoreError();
  };
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot work, MakeWork(&work_name));
  if (progress) progress({absl::StrCat("reading ", path), 0, 0});
  const absl::StatusOr<OpenedImage> opened = OpenImage(path, reference, work, cancelled);
  if (!opened.ok()) return Annotate(OfNoArchive(opened.status()), absl::StrCat("import ", path));
  if (tags.empty()) tags = TagsOf(opened->content.names);
  absl::StatusOr<UnpackedImage> unpacked = UnpackImage(*layers_, *opened, {}, progress);
  if (!unpacked.ok()) return Annotate(unpacked.status(), absl::StrCat("import ", path));
  Image named;
  named.record.repo_tags = std::move(tags);
  absl::StatusOr<Image> image = Commit(std::move(named), *std::move(unpacked), opened->content);
  if (!image.ok()) return Annotate(image.status(), absl::StrCat("import ", path));
  return image;
}

absl::StatusOr<Image> Service::Pull(absl::string_view reference, const PullOptions& options,
                                    const ProgressFn& progress) {
  if (IsShortName(reference)) {
    // Read each time, as skopeo does, so that both know the same.
    const absl::Status read = short_names_.Read();
    if (!read.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("pull ", absl::CEscape(reference.substr(0, 300)), ": ", read.message()));
    }
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Reference> candidates,
                            short_names_.Resolve(reference));
  const absl::Time deadline = MonotonicNow() + options.timeout;
  std::vector<absl::Status> failures;
  for (const Reference& candidate : candidates) {
    PullOptions its = options;
    if (!Belong(options.credentials, candidate, candidates.size() > 1)) its.credentials = {};
    absl::StatusOr<Image> image = JoinPull(candidate, its, deadline, progress);
    if (image.ok() || IsForAll(image.status())) return image;
    failures.push_back(image.status());
  }
  return Together(reference, failures);
}

absl::StatusOr<Image> Service::JoinPull(const Reference& name, const PullOptions& options,
                                        absl::Time deadline, const ProgressFn& progress) {
  const bool insecure =
      options.insecure_registry || (options.is_insecure && options.is_insecure(name.registry));
  const Credentials& secrets = options.credentials;
  SharedPulls::Caller caller;
  caller.what = absl::StrCat("pull ", name.Canonical());
  caller.key = {name.Canonical(), insecure ? "insecure" : "", secrets.username, secrets.password,
                secrets.identity_token};
  caller.timeout = options.timeout;
  caller.deadline = deadline;
  caller.cancelled = options.cancelled;
  caller.progress = progress;
  TransportOptions transport{.credentials = secrets,
                             .insecure = insecure,
                             .stall_timeout = options.stall_timeout,
                             .registries_conf = options_.registries_conf};
  return pulls_.Join(caller, [this, name, transport](const std::function<bool()>& cancelled,
                                                     const ProgressFn& publish) {
    TransportOptions with_end = transport;
    with_end.cancelled = cancelled;
    return PullAndTell(name, with_end, publish);
  });
}

absl::StatusOr<Image> Service::PullAndTell(const Reference& name, const TransportOptions& options,
                                           const ProgressFn& progress) {
  if (options_.on_pull_start) options_.on_pull_start();
  const absl::Time start = MonotonicNow();
  uint64_t bytes = 0;
  absl::StatusOr<Image> image = PullNow(name, options, progress, &bytes);
  // Docker does the same for registries of the machine itself. Credentials go over plain HTTP only
  // where the registry is listed as insecure.
  if (SpeaksNoTls(image.status()) && IsOnLoopback(name.registry) && options.credentials.empty()) {
    TransportOptions plain = options;
    plain.plain_on_loopback = true;
    image = PullNow(name, plain, progress, &bytes);
    if (!image.ok()) image = OnPlainLoopback(image.status(), name.Canonical());
  }
  if (options_.on_pull_end) options_.on_pull_end({image.status(), MonotonicNow() - start, bytes});
  return image;
}

absl::StatusOr<Image> Service::PullNow(const Reference& name, const TransportOptions& options,
                                       const ProgressFn& progress, uint64_t* bytes) {
  std::string work_name;
  absl::Cleanup remove_work = [&] {
    if (!work_name.empty()) directory_.RemoveTree(work_name).IgnoreError();
  };
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot work, MakeWork(&work_name));
  TransportOptions with_relays = options;
  PLIMSOLL_ASSIGN_OR_RETURN(with_relays.relays,
                            BringRegistryHosts(options_.host, name, short_names_, work));
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto transport,
      SkopeoTransport::Open(options_.host, name, std::move(with_relays), work));
  progress({absl::StrCat("resolving ", name.Canonical()), 0, 0});
  PLIMSOLL_ASSIGN_OR_RETURN(const RegistryImage found, transport->Resolve());
  Image image;
  // With a tag and a digest, the registry isn't asked for the tag, so the image doesn't get it.
  if (name.digest.empty()) image.record.repo_tags.push_back(name.Tagged());
  image.record.repo_digests = {absl::StrCat(name.Name(), "@", found.digest)};
  // Under kRestricts skopeo must decide, and it checks the policy only when it copies: for a stored
  // image, nothing but the config.
  const absl::StatusOr<MachinePolicy> policy = ReadMachinePolicy(options_.host);
  if (!policy.ok()) return Annotate(policy.status(), absl::StrCat("pull ", name.Canonical()));
  if (*policy != MachinePolicy::kRestricts) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::optional<Image> known, CommitKnown(image, name, found));
    if (known.has_value()) return *std::move(known);
  }

  absl::StatusOr<DownloadedImage> got =
      Download(*transport, found, work, *layers_, LayersFor(name),
               *policy == MachinePolicy::kRestricts, options.cancelled, progress, bytes);
  if (!got.ok()) {
    // The transport's own errors contain it already.
    if (absl::StartsWith(got.status().message(), "pull ")) return got.status();
    return Annotate(got.status(), absl::StrCat("pull ", name.Canonical()));
  }
  return Commit(std::move(image), std::move(got->unpacked), got->content);
}

// A registry that names a layer need not have it. It did have those that once came from the same
// repository and were hashed then; a client that may read the manifest there may read them.
MayReuse Service::LayersFor(const Reference& name) const {
  if (options_.share_layers) return [](const std::string&) { return true; };
  absl::MutexLock lock(&mutex_);
  return [layers = index_.LayersFrom(name.Name())](const std::string& chain_id) {
    return layers.contains(chain_id);
  };
}

absl::StatusOr<std::optional<Image>> Service::CommitKnown(const Image& names, const Reference& name,
                                                          const RegistryImage& found) {
  std::optional<Image> known;
  {
    absl::MutexLock lock(&mutex_);
    known = index_.FindManifest(found.manifest_digest);
  }
  if (!known.has_value()) return std::nullopt;
  if (!options_.share_layers && !ImageIndex::IsFrom(known->record, name.Name())) {
    return std::nullopt;
  }
  absl::StatusOr<Holds> holds = AcquireAll(*layers_, known->record.chain_ids);
  if (!holds.ok()) return std::nullopt;  // removed meanwhile: pull it
  PLIMSOLL_ASSIGN_OR_RETURN(std::string config, blobs_->Read(known->record.id));
  UnpackedImage unpacked{known->config, known->record.chain_ids, *std::move(holds),
                         known->record.size_bytes};
  return Commit(names, std::move(unpacked),
                ImageContent{found.manifest, std::move(config), {}, {}});
}

// Fills in everything but `image`'s names.
absl::StatusOr<Image> Service::Commit(Image image, UnpackedImage unpacked,
                                      const ImageContent& content) {
  image.config = std::move(unpacked.config);
  ImageRecord& record = image.record;
  record.chain_ids = std::move(unpacked.chain_ids);
  record.size_bytes = unpacked.size_bytes;
  absl::MutexLock commit(&commit_mutex_);
  absl::Cleanup remove_blobs = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    RemoveUnusedBlobs().IgnoreError();
  };
  PLIMSOLL_ASSIGN_OR_RETURN(record.id, blobs_->Put(content.config));
  record.blobs = {record.id};
  record.manifest_digest.clear();
  if (!content.manifest.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(record.manifest_digest, blobs_->Put(content.manifest));
    record.blobs.push_back(record.manifest_digest);
  }
  record.created_unix_nanos = absl::ToUnixNanos(absl::Now());
  ImageIndex::Change change;
  {
    absl::MutexLock lock(&mutex_);
    change = index_.Put(image);
  }
  PLIMSOLL_RETURN_IF_ERROR(Write(change));
  absl::MutexLock lock(&mutex_);
  index_.Apply(change);
  holds_.try_emplace(record.id, std::move(unpacked.holds));
  std::move(remove_blobs).Cancel();
  return *index_.FindId(record.id);
}

// All of a change or nothing: a failure restores the rows already written.
absl::Status Service::Write(const ImageIndex::Change& change) {
  absl::Status status;
  size_t done = 0;
  for (; done < change.size() && status.ok(); ++done) {
    const ImageIndex::Step& step = change[done];
    status = step.after.has_value() ? catalog_->PutImage(step.after->record)
                                    : catalog_->RemoveImage(step.id);
  }
  if (status.ok()) {
    for (const ImageIndex::Step& step : change) {
      rows_left_.Apply({{step.id, std::nullopt, std::nullopt}});
    }
    RemoveRowsLeft().IgnoreError();  // there may be room now
    return status;
  }
  for (size_t i = 0; i < done; ++i) {
    const ImageIndex::Step& step = change[i];
    (step.before.has_value() ? catalog_->PutImage(step.before->record)
                             : catalog_->RemoveImage(step.id))
        .IgnoreError();
  }
  return Annotate(status, "write the list of images");
}

absl::StatusOr<ImageIndex::Match> Service::FindMatch(const ImageIndex& index,
                                                     absl::string_view reference) const {
  if (IsShortName(reference)) {
    const absl::StatusOr<std::vector<Reference>> candidates = short_names_.Resolve(reference);
    for (const Reference& candidate : candidates.value_or(std::vector<Reference>())) {
      std::optional<ImageIndex::Match> match = index.FindName(candidate.Canonical());
      if (match.has_value()) return *std::move(match);
    }
  }
  return index.Find(reference);
}

absl::StatusOr<Image> Service::Find(absl::string_view reference) const {
  absl::MutexLock lock(&mutex_);
  PLIMSOLL_ASSIGN_OR_RETURN(const ImageIndex::Match match, FindMatch(index_, reference));
  return *index_.FindId(match.id);
}

std::vector<Image> Service::List() const {
  absl::MutexLock lock(&mutex_);
  return index_.All();
}

absl::Status Service::Remove(absl::string_view reference) {
  Removal removal;
  {
    absl::MutexLock commit(&commit_mutex_);
    PLIMSOLL_RETURN_IF_ERROR(TakeOffTheList(reference, &removal));
  }
  if (removal.row_left.empty()) return absl::OkStatus();
  removal.released.clear();
  absl::MutexLock commit(&commit_mutex_);
  // If the image has come back meanwhile, the row is no longer left over.
  return RemoveRowsLeft(removal.row_left);
}

absl::Status Service::TakeOffTheList(absl::string_view reference, Removal* removal) {
  absl::StatusOr<ImageIndex::Match> match;
  ImageIndex::Change change;
  {
    absl::MutexLock lock(&mutex_);
    match = FindMatch(index_, reference);
    if (match.ok()) change = index_.Remove(*match);
  }
  if (absl::IsNotFound(match.status())) {
    const absl::StatusOr<ImageIndex::Match> left = FindMatch(rows_left_, reference);
    return RemoveRowsLeft(left.ok() ? left->id : "");
  }
  PLIMSOLL_RETURN_IF_ERROR(match.status());
  const absl::Status written = Write(change);
  if (written.ok()) {
    removal->released = Forget(change);
    return RemoveUnusedBlobs();
  }
  const bool goes =
      absl::c_none_of(change, [](const ImageIndex::Step& step) { return step.after.has_value(); });
  if (!absl::IsResourceExhausted(written) || !goes) return written;
  if (MakesRoom(change)) return RemoveFilesFirst(change, removal);
  return AlsoSay(written,
                 "the image stays: containers or other images use all of its layers, so that its "
                 "removal makes no room; remove those first");
}

std::vector<Holds> Service::Forget(const ImageIndex::Change& change) {
  std::vector<Holds> held;
  absl::MutexLock lock(&mutex_);
  index_.Apply(change);
  for (const ImageIndex::Step& step : change) {
    if (step.after.has_value()) continue;
    const auto it = holds_.find(step.id);
    if (it == holds_.end()) continue;
    held.push_back(std::move(it->second));
    holds_.erase(it);
  }
  return held;
}

// True when removing these images frees a layer.
bool Service::MakesRoom(const ImageIndex::Change& change) const {
  return absl::c_any_of(change, [this](const ImageIndex::Step& step) {
    return absl::c_any_of(step.before->record.chain_ids, [this](const std::string& chain_id) {
      return layers_->HasOneHold(chain_id);
    });
  });
}

// For a full disk: removing the files makes room for removing the row. The config goes first, so
// that a daemon started in between doesn't list the image, even if layers remain.
absl::Status Service::RemoveFilesFirst(const ImageIndex::Change& change, Removal* removal) {
  removal->released = Forget(change);
  for (const ImageIndex::Step& step : change) {
    rows_left_.Apply({{step.id, std::nullopt, step.before}});
    removal->row_left = step.id;  // the only one
  }
  return RemoveUnusedBlobs();
}

absl::Status Service::RemoveRowsLeft(absl::string_view asked) {
  absl::Status status;
  for (const Image& image : rows_left_.All()) {
    const ImageRecord& record = image.record;
    const absl::Status removed = catalog_->RemoveImage(record.id);
    if (removed.ok()) rows_left_.Apply({{record.id, std::nullopt, std::nullopt}});
    if (record.id != asked) continue;
    status = Annotate(removed, absl::StrCat(InWords(record.id, record.repo_tags),
                                            ": its files are gone, its row in the list of images "
                                            "is not; the same call tries that again"));
  }
  return status;
}

absl::StatusOr<std::shared_ptr<LayerLease>> Service::Lease(absl::string_view image_id) {
  // If the image was removed between look-up and lease, the layers are not found.
  PLIMSOLL_ASSIGN_OR_RETURN(const Image image, Find(image_id));
  PLIMSOLL_ASSIGN_OR_RETURN(Holds holds, AcquireAll(*layers_, image.record.chain_ids));
  return LeaseOf(*layers_, image.record.chain_ids, std::move(holds));
}

absl::StatusOr<std::shared_ptr<LayerLease>> Service::LeaseChain(
    const std::vector<std::string>& chain_ids) {
  PLIMSOLL_ASSIGN_OR_RETURN(Holds holds, AcquireAllInUse(*layers_, chain_ids));
  return LeaseOf(*layers_, chain_ids, std::move(holds));
}

absl::Status Service::CollectGarbage() {
  absl::Status status = layers_->CollectGarbage();
  absl::MutexLock commit(&commit_mutex_);
  RemoveRowsLeft().IgnoreError();
  return FirstError(std::move(status), RemoveUnusedBlobs());
}

absl::Status Service::RemoveUnusedBlobs() {
  absl::flat_hash_set<std::string> used;
  {
    absl::MutexLock lock(&mutex_);
    used = index_.Blobs();
  }
  return blobs_->RemoveAllBut(used);
}

absl::StatusOr<ImageUsage> Service::Usage() const {
  ImageUsage usage = layers_->TotalUsage();
  usage.bytes += blobs_->TotalBytes();
  usage.inodes += blobs_->Count();
  return usage;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImageService>> ImageService::Open(
    const FsRoot& directory, Catalog* catalog, const ImageServiceOptions& options) {
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs("work"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> left, directory.List("work"));
  std::vector<std::string> works;
  for (const std::string& name : left) works.push_back(directory.PathOf("work/" + name));
  EndStraySkopeos(options.host, works);
  for (const std::string& name : left) {
    // The next start removes what remains.
    directory.RemoveTree(absl::StrCat("work/", name)).IgnoreError();
  }
  PLIMSOLL_ASSIGN_OR_RETURN(std::shared_ptr<LayerStore> layers, LayerStore::Open(directory));
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<BlobStore> blobs, BlobStore::Open(directory));
  auto service =
      std::make_unique<Service>(directory, catalog, std::move(layers), std::move(blobs), options);
  PLIMSOLL_RETURN_IF_ERROR(service->Load());
  return service;
}

}  // namespace plimsoll::image
