#include "conformance/session.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/random_id.h"
#include "base/status.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::conformance {
namespace {

constexpr absl::Duration kListenerWithin = absl::Seconds(5);

Session* current = nullptr;

void Keep(absl::Status* first, const absl::Status& status) {
  if (first->ok() && !status.ok()) *first = status;
}

}  // namespace

Session::Session(const Options& options) : options_(options), run_("c" + RandomId().substr(0, 8)) {}

Session* Session::Current() {
  return current;
}

absl::StatusOr<std::unique_ptr<Session>> Session::Open(const Options& options,
                                                       const StartRuntime& start_runtime) {
  std::unique_ptr<Session> session(new Session(options));
  const absl::Status started = session->Start(start_runtime);
  if (!started.ok()) {
    session->Close().IgnoreError();
    return started;
  }
  current = session.get();
  return session;
}

Session::~Session() {
  Close().IgnoreError();
  if (current == this) current = nullptr;
}

absl::Status Session::Start(const StartRuntime& start_runtime) {
  const char* base = std::getenv("TMPDIR");
  directory_path_ = absl::StrCat(base != nullptr ? base : "/tmp", "/plimsoll-conformance-", run_);
  // Containers of other users read its files.
  PLIMSOLL_ASSIGN_OR_RETURN(directory_, FsRoot::OpenOrCreate(directory_path_, 0755));
  for (const RegistryKind kind :
       {RegistryKind::kPlain, RegistryKind::kPassword, RegistryKind::kTls}) {
    PLIMSOLL_ASSIGN_OR_RETURN(ports_[kind], ReservedPort::Reserve());
  }
  endpoint_ = options_.endpoint;
  if (endpoint_.empty()) {
    std::vector<std::string> insecure;
    for (const auto& [kind, port] : ports_) {
      insecure.push_back(absl::StrCat("127.0.0.1:", port.number()));
    }
    PLIMSOLL_RETURN_IF_ERROR(directory_->MakeDirs("runtime"));
    PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot of_runtime, directory_->Sub("runtime"));
    PLIMSOLL_ASSIGN_OR_RETURN(own_, start_runtime(of_runtime, insecure));
    has_own_ = true;
    endpoint_ = own_->endpoint();
  }
  client_ = std::make_unique<Client>(endpoint_, options_.image_endpoint, options_.patience);
  cleaner_ = std::make_unique<Client>(endpoint_, options_.image_endpoint, options_.patience);
  return client_->AwaitListener(Patience(kListenerWithin));
}

RegistryOptions Session::OptionsOf(RegistryKind kind) const {
  RegistryOptions options;
  options.address = absl::StrCat("127.0.0.1:", ports_.at(kind).number());
  options.with_password = kind != RegistryKind::kPlain;
  if (kind != RegistryKind::kTls) return options;
  if (!has_own_) {
    options.address = options_.tls_registry;
    options.certificate = options_.tls_certificate;
    options.key = options_.tls_key;
  } else {
    options.certificate = directory_->PathOf("tls.crt");
    options.key = directory_->PathOf("tls.key");
  }
  return options;
}

absl::StatusOr<Registry*> Session::GetRegistry(RegistryKind kind) {
  absl::MutexLock lock(&mutex_);
  if (closed_) return absl::CancelledError("the run is being ended");
  std::unique_ptr<Registry>& registry = registries_[kind];
  if (registry != nullptr) return registry.get();
  const RegistryOptions options = OptionsOf(kind);
  if (options.address.empty()) {
    return absl::FailedPreconditionError(
        "no certificate is known that the runtime under test trusts: --tls-registry, "
        "--tls-certificate and --tls-key name one");
  }
  if (kind == RegistryKind::kTls && has_own_) {
    PLIMSOLL_RETURN_IF_ERROR(MakeCertificate(*directory_));
  }
  const std::string name = absl::StrCat("registry", static_cast<int>(kind));
  PLIMSOLL_RETURN_IF_ERROR(directory_->MakeDirs(name));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot own, directory_->Sub(name));
  absl::StatusOr<std::unique_ptr<Registry>> started = Registry::Start(own, options);
  if (absl::IsNotFound(started.status())) {
    return absl::FailedPreconditionError(started.status().message());
  }
  PLIMSOLL_RETURN_IF_ERROR(started.status());
  registry = *std::move(started);
  return registry.get();
}

absl::StatusOr<std::string> Session::Publish(const Recipe& recipe, const std::string& repository,
                                             RegistryKind kind) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Registry* registry, GetRegistry(kind));
  std::string layout;
  {
    absl::MutexLock lock(&mutex_);
    layout = absl::StrCat("layout", ++layouts_);
  }
  PLIMSOLL_RETURN_IF_ERROR(WriteImage(recipe, run_, *directory_, layout));
  const std::string path = absl::StrCat("conformance-", run_, "/", repository);
  PLIMSOLL_RETURN_IF_ERROR(registry->Push(directory_->PathOf(layout), path));
  PLIMSOLL_RETURN_IF_ERROR(directory_->RemoveTree(layout));
  return registry->Name(path);
}

absl::StatusOr<std::string> Session::BaseImage() {
  {
    absl::MutexLock lock(&mutex_);
    if (!base_image_.empty()) return base_image_;
  }
  std::string name = options_.image;
  bool was_there = false;
  if (name.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(name, Publish({}, "base:v1"));
  } else {
    cri::ImageStatusRequest request;
    request.mutable_image()->set_image(name);
    PLIMSOLL_ASSIGN_OR_RETURN(const auto status, client_->Ask<cri::ImageStatusResponse>(request));
    was_there = status.has_image();
  }
  if (!was_there) {
    cri::PullImageRequest request;
    request.mutable_image()->set_image(name);
    const auto pulled = client_->Ask<cri::PullImageResponse>(request);
    if (!pulled.ok()) return Annotate(pulled.status(), absl::StrCat("pulling ", name));
  }
  absl::MutexLock lock(&mutex_);
  base_image_ = name;
  base_image_was_there_ = was_there;
  return name;
}

absl::Status Session::RemovePods() {
  cri::ListPodSandboxRequest list;
  (*list.mutable_filter()->mutable_label_selector())[kRunLabel] = run_;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, cleaner_->Ask<cri::ListPodSandboxResponse>(list));
  absl::Status first;
  for (const cri::PodSandbox& pod : pods.items()) {
    cri::StopPodSandboxRequest stop;
    stop.set_pod_sandbox_id(pod.id());
    Keep(&first, cleaner_->Ask<cri::StopPodSandboxResponse>(stop).status());
    cri::RemovePodSandboxRequest remove;
    remove.set_pod_sandbox_id(pod.id());
    Keep(&first, cleaner_->Ask<cri::RemovePodSandboxResponse>(remove).status());
  }
  return first;
}

absl::Status Session::RemoveImages() {
  std::string base;
  {
    absl::MutexLock lock(&mutex_);
    if (!options_.image.empty() && !base_image_was_there_) base = base_image_;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto images,
                            cleaner_->Ask<cri::ListImagesResponse>(cri::ListImagesRequest()));
  const std::string ours = absl::StrCat("/conformance-", run_, "/");
  absl::Status first;
  const auto remove = [&](const std::string& reference) {
    cri::RemoveImageRequest request;
    request.mutable_image()->set_image(reference);
    Keep(&first, cleaner_->Ask<cri::RemoveImageResponse>(request).status());
  };
  if (!base.empty()) remove(base);
  for (const cri::Image& image : images.images()) {
    for (const std::string& tag : image.repo_tags()) {
      if (absl::StrContains(tag, ours)) remove(tag);
    }
    for (const std::string& digest : image.repo_digests()) {
      if (absl::StrContains(digest, ours)) remove(digest);
    }
  }
  return first;
}

absl::Status Session::TearDownHost() {
  if (!directory_.has_value()) return absl::OkStatus();
  const size_t slash = directory_path_.rfind('/');
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_RETURN_IF_ERROR(linux::UnmountBelow(host, directory_path_));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot parent, FsRoot::Open(directory_path_.substr(0, slash)));
  return parent.RemoveTree(directory_path_.substr(slash + 1));
}

bool Session::closed() {
  absl::MutexLock lock(&mutex_);
  return closed_;
}

absl::Status Session::Close() {
  absl::MutexLock whole(&close_mutex_);
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return absl::OkStatus();
    closed_ = true;
  }
  absl::Status first;
  if (cleaner_ != nullptr) {
    client_->Shut();
    // Work for a call that was just cancelled may appear a little later.
    Keep(&first, RemovePods());
    Keep(&first, RemoveImages());
    Keep(&first, RemovePods());
  }
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [kind, registry] : registries_) {
      if (registry != nullptr) registry->Stop();
    }
  }
  own_.reset();
  Keep(&first, TearDownHost());
  return first;
}

}  // namespace plimsoll::conformance
