#include "pod_runner/sandbox_maker.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/random_id.h"
#include "base/status.h"
#include "pod_runner/cri_requests/host.h"
#include "pod_runner/cri_requests/swap.h"
#include "pod_runner/manifest/amount.h"
#include "pod_runner/user_ids.h"

namespace plimsoll::pod {
namespace {

// Longer than a call of the daemon may take.
constexpr absl::Duration kNamePatience = absl::Minutes(5);

// Distinguishes one daemon from its successor; empty: the daemon could not be asked.
std::string IdentityOf(Client& client) {
  const auto status = client.own().DaemonStatus();
  return status.ok() ? absl::StrCat(status->pid(), " ", status->started_at()) : "";
}

}  // namespace

absl::StatusOr<std::optional<cri::PodSandbox>> FindNamesake(Client& client,
                                                            const std::vector<Manifest>& pods) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto existing, client.ListPodSandboxes());
  for (const Manifest& pod : pods) {
    for (const cri::PodSandbox& other : existing) {
      if (other.metadata().name() == pod.name &&
          other.metadata().namespace_() == pod.pod_namespace) {
        return std::optional<cri::PodSandbox>(other);
      }
    }
  }
  return std::optional<cri::PodSandbox>();
}

absl::Status NameIsTaken(const cri::PodSandbox& namesake) {
  return absl::AlreadyExistsError(absl::StrCat(
      "pod ", namesake.metadata().namespace_(), "/", namesake.metadata().name(), " is ",
      namesake.state() == cri::SANDBOX_READY ? "running already" : "there already, stopped"));
}

std::string NetworkFault(const cri::StatusResponse& status) {
  for (const cri::RuntimeCondition& condition : status.status().conditions()) {
    if (condition.type() != "NetworkReady" || condition.status()) continue;
    return condition.message().empty() ? "the network is not ready" : condition.message();
  }
  return "";
}

bool HasLoopbackAlone(Client& client, const Manifest& pod, const std::string& sandbox_id) {
  if (pod.host_network) return false;
  const auto status = client.PodSandboxStatus(sandbox_id);
  return status.ok() && status->status().network().ip().empty();
}

SandboxMaker::SandboxMaker(Client& client, const FsRoot& root, const Manifest& pod, Options options)
    : client_(client), root_(root), pod_(pod), options_(std::move(options)), uid_(RandomUid()) {}

absl::Status SandboxMaker::Prepare() {
  context_.uid = uid_;
  context_.pod_class_types = options_.pod_class_types;
  context_.objects = options_.objects;
  context_.image_ids = options_.image_ids;
  context_.seccomp = options_.seccomp;
  context_.kills_whole_containers = HasUnifiedGroups(root_);  // as kubelet's default
  PLIMSOLL_RETURN_IF_ERROR(DescribeNode(root_, context_));
  PLIMSOLL_ASSIGN_OR_RETURN(dir_,
                            MakePodDir(root_, options_.state_directory, uid_, pod_, context_));
  context_.log_directory = dir_.log_directory;
  context_.volumes = dir_.volumes;
  if (!pod_.host_aliases.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(context_.hosts_file, WriteHostsFile(root_, dir_, pod_, context_));
  }
  absl::Cleanup release = [this] { ids_.reset(); };
  if (!pod_.host_users) PLIMSOLL_RETURN_IF_ERROR(ChooseIds());
  std::move(release).Cancel();
  return absl::OkStatus();
}

absl::Status SandboxMaker::AddAddresses(const std::string& sandbox_id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto status, client_.PodSandboxStatus(sandbox_id));
  const cri::PodSandboxNetworkStatus& network = status.status().network();
  if (!network.ip().empty()) context_.pod_ips.push_back(network.ip());
  for (const cri::PodIP& more : network.additional_ips()) context_.pod_ips.push_back(more.ip());
  if (context_.hosts_file.empty()) return absl::OkStatus();
  return WriteHostsFile(root_, dir_, pod_, context_).status();
}

// The search begins at a random range: the pods of another daemon aren't in this one's list, and so
// seldom share a range with it.
absl::Status SandboxMaker::ChooseIds() {
  absl::StatusOr<PodLock> lock =
      PodLock::TakeUserIds(root_, options_.state_directory, kNamePatience, options_.interrupted);
  given_up_ = absl::IsCancelled(lock.status());
  if (given_up_) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(lock.status());
  ids_.emplace(*std::move(lock));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<IdRange> taken, TakenIds(client_));
  const unsigned long chance = std::stoul(RandomId().substr(0, 8), nullptr, 16);
  PLIMSOLL_ASSIGN_OR_RETURN(context_.first_id,
                            FreeIds(taken, static_cast<uint32_t>(chance % kPodIdRanges)));
  return absl::OkStatus();
}

// Looks the name up again, under its lock: pulls of images took time since the first look.
absl::StatusOr<std::string> SandboxMaker::Make(const PodConfigs& configs) {
  const absl::Cleanup release = [this] { ids_.reset(); };
  if (given_up_) return "";
  const absl::StatusOr<PodLock> name =
      PodLock::TakeName(root_, options_.state_directory, pod_.pod_namespace, pod_.name,
                        kNamePatience, options_.interrupted);
  if (absl::IsCancelled(name.status())) return "";
  PLIMSOLL_RETURN_IF_ERROR(name.status());
  PLIMSOLL_ASSIGN_OR_RETURN(namesake_, FindNamesake(client_, {pod_}));
  if (namesake_) return NameIsTaken(*namesake_);
  const std::string daemon = IdentityOf(client_);
  may_be_made_ = true;
  absl::StatusOr<std::string> made =
      client_.RunPodSandbox(configs.sandbox, configs.runtime_handler);
  if (!made.ok()) may_be_made_ = MayHaveBeenMade(made.status(), daemon);
  return made;
}

// A daemon that answers with an error has undone everything. A daemon's successor removes half-made
// pods before it answers: a pod missing from its list doesn't exist. The same daemon, after a
// connection that broke, may still be making the pod.
bool SandboxMaker::MayHaveBeenMade(const absl::Status& failure, const std::string& daemon) {
  if (absl::IsDeadlineExceeded(failure)) return true;
  if (!absl::IsUnavailable(failure) && !absl::IsCancelled(failure)) return false;
  if (daemon.empty()) return true;
  // Asked before the list, so that the list is this daemon's or a later one's.
  const std::string now = IdentityOf(client_);
  if (now.empty() || now == daemon) return true;
  const auto there = client_.ListPodSandboxes();
  return !there.ok() ||
         std::any_of(there->begin(), there->end(),
                     [this](const cri::PodSandbox& pod) { return pod.metadata().uid() == uid_; });
}

}  // namespace plimsoll::pod
