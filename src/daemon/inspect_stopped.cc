#include "daemon/inspect_stopped.h"

#include <stdlib.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "cri/messages/findings.h"
#include "daemon/cgroup_driver.h"
#include "daemon/run_directory.h"
#include "image/catalog.h"
#include "linux/cgroup/cgroup.h"
#include "linux/process.h"
#include "network/record_store.h"
#include "runtime/objects/inspection.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/store/store.h"
#include "service/directory_lock.h"

namespace plimsoll::daemon {
namespace {

constexpr size_t kMaxDatabaseBytes = size_t{1} << 30;

// A directory that its destructor removes. Open to root only: specs may hold secrets.
class ScratchDirectory {
 public:
  static absl::StatusOr<std::unique_ptr<ScratchDirectory>> Make() {
    char name[] = "/tmp/plimsoll-inspect-XXXXXX";
    if (mkdtemp(name) == nullptr) return ErrnoStatus(errno, absl::StrCat("make ", name));
    PLIMSOLL_ASSIGN_OR_RETURN(FsRoot root, FsRoot::Open(name));
    return std::unique_ptr<ScratchDirectory>(new ScratchDirectory(std::move(root)));
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    const absl::StatusOr<FsRoot> parent = FsRoot::Open("/tmp");
    const std::string& path = root_.path();
    if (parent.ok()) parent->RemoveTree(path.substr(path.rfind('/') + 1)).IgnoreError();
  }
  absl::StatusOr<FsRoot> Sub(const std::string& name) const {
    return FsRoot::OpenOrCreate(root_.PathOf(name));
  }

 private:
  explicit ScratchDirectory(FsRoot root) : root_(std::move(root)) {}
  const FsRoot root_;
};

// Copies the database first: SQLite writes beside it even when reading, and an older one would be
// migrated. Errors name the database, not its copy.
absl::StatusOr<std::unique_ptr<runtime::Store>> OpenCopy(const FsRoot& state, const FsRoot& copy,
                                                         size_t sandboxes) {
  for (const char* name : {"plimsoll.db", "plimsoll.db-wal", "plimsoll.db-shm"}) {
    const absl::StatusOr<std::string> content = state.Read(name, kMaxDatabaseBytes);
    if (absl::IsNotFound(content.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(content.status());
    PLIMSOLL_RETURN_IF_ERROR(copy.ReplaceFile(name, *content));
  }
  absl::StatusOr<std::unique_ptr<runtime::Store>> store = runtime::Store::Open(copy, sandboxes);
  if (store.ok()) return store;
  return absl::Status(
      store.status().code(),
      absl::StrReplaceAll(store.status().message(),
                          {{copy.PathOf("plimsoll.db"), state.PathOf("plimsoll.db")}}));
}

// `directory` itself if a daemon has made `part` in it, so that opening it makes nothing; else an
// empty directory.
absl::StatusOr<FsRoot> OpenOrEmpty(const std::string& directory, const char* part,
                                   const ScratchDirectory& scratch) {
  absl::StatusOr<FsRoot> root = FsRoot::Open(directory);
  if (!absl::IsNotFound(root.status())) {
    PLIMSOLL_RETURN_IF_ERROR(root.status());
    PLIMSOLL_ASSIGN_OR_RETURN(const bool is_there, root->Has(part));
    if (is_there) return root;
  }
  return scratch.Sub(absl::StrCat("empty-", part[0] == 'o' ? "run" : "state"));
}

void AddWork(const FsRoot& state, std::vector<runtime::Finding>* findings) {
  const absl::StatusOr<std::vector<std::string>> names = state.List("images/work");
  if (!names.ok() && !absl::IsNotFound(names.status())) {
    runtime::Finding& finding = findings->emplace_back();
    finding.what = std::string(names.status().message());
    finding.action = "leaves it as it is";
  }
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    runtime::Finding& finding = findings->emplace_back();
    finding.difference = runtime::Difference::kStrayWork;
    finding.what = absl::StrCat(state.PathOf(absl::StrCat("images/work/", name)),
                                " was left by an import or pull that was cut off");
    finding.action = "removes it";
  }
}

void AddDamagedImages(const runtime::Store& store, std::vector<runtime::Finding>* findings) {
  for (const image::DamagedImage& image : store.DamagedImages()) {
    runtime::Finding& finding = findings->emplace_back();
    finding.difference = runtime::Difference::kDamagedImage;
    finding.what = image.what;
    finding.action = "takes the image off the list; pull or import it again";
  }
}

}  // namespace

absl::StatusOr<::plimsoll::v1::InspectResponse> InspectStopped(const Config& config) {
  ::plimsoll::v1::InspectResponse response;
  response.set_state_directory(config.state_dir);
  response.set_run_directory(config.run_dir);
  const absl::StatusOr<FsRoot> real_state = FsRoot::Open(config.state_dir);
  if (absl::IsNotFound(real_state.status())) {
    return absl::InvalidArgumentError(absl::StrCat("state directory ", config.state_dir,
                                                   " is not there: no daemon has run with it"));
  }
  PLIMSOLL_RETURN_IF_ERROR(real_state.status());
  PLIMSOLL_RETURN_IF_ERROR(DirectoryLock::CheckFree(*real_state, "state directory"));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto scratch, ScratchDirectory::Make());
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot copy, scratch->Sub("copy"));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const size_t sandboxes, CountSandboxes(host, config.run_dir));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<runtime::Store> store,
                            OpenCopy(*real_state, copy, sandboxes));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto cgroups, linux::CgroupManager::Detect(host));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot state,
                            OpenOrEmpty(config.state_dir, "containers", *scratch));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot run, OpenOrEmpty(config.run_dir, "oci", *scratch));
  runtime::OciOptions oci{.host = host, .state = state, .run = run, .crun = config.crun};
  oci.restrict_oom_score_adj = config.restrict_oom_score_adj;
  oci.cgroups = cgroups.get();
  PLIMSOLL_ASSIGN_OR_RETURN(const auto runtime, runtime::ContainerRuntime::Create(std::move(oci)));

  runtime::InspectionInput input{.host = host, .run = run};
  PLIMSOLL_ASSIGN_OR_RETURN(input.boot_id, linux::ReadBootId(host));
  PLIMSOLL_ASSIGN_OR_RETURN(input.sandboxes, store->LoadSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(input.containers, store->LoadContainers());
  input.damaged = store->Damaged();
  runtime::AddUnrecordedRemovals(&input);
  PLIMSOLL_ASSIGN_OR_RETURN(input.images, store->LoadImages());
  input.cgroups = cgroups.get();
  input.runtime = runtime.get();
  input.state = *real_state;
  PLIMSOLL_ASSIGN_OR_RETURN(
      input.default_cgroup_parent,
      PodParent(config, WantsSystemd(host, config, cgroups->layout(), /*standalone=*/false)));
  PLIMSOLL_ASSIGN_OR_RETURN(input.attached, network::ListRecords(*real_state));
  std::vector<runtime::Finding> findings = runtime::Inspect(input);
  AddWork(*real_state, &findings);
  AddDamagedImages(*store, &findings);
  cri::AddFindings(findings, &response);
  return response;
}

}  // namespace plimsoll::daemon
