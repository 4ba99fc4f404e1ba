#include "kube/driver/claims.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace plimsoll::kube {
namespace {

// The number of pods in a message.
constexpr size_t kMostNamedPods = 4;

// Whether the error says that the API server can't be asked now, rather than what is so.
bool IsAway(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return true;
    default:
      return false;
  }
}

// Pod-level classes of the claim by type. FAILED_PRECONDITION: two classes of one type.
absl::StatusOr<qos::ClassNames> PodClassesOf(const std::vector<PreparedDevice>& devices) {
  qos::ClassNames classes;
  for (const PreparedDevice& each : devices) {
    if (each.id.level != qos::Level::kPod) continue;
    const auto [at, is_new] = classes.emplace(each.id.type, each.id.name);
    if (is_new || at->second == each.id.name) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("is allocated classes \"", at->second, "\" and \"", each.id.name,
                     "\" of pod-level type \"", each.id.type, "\"; a pod has one class of a type"));
  }
  return classes;
}

// Scheduler and quota count a claim once, so pods that share one would have more than is counted.
absl::StatusOr<std::string> OnlyPodOf(const Allocation& allocation) {
  if (allocation.pods.size() == 1 && !allocation.other_consumers) return allocation.pods.front();
  std::vector<std::string> named = allocation.pods;
  const size_t more = named.size() > kMostNamedPods ? named.size() - kMostNamedPods : 0;
  named.resize(named.size() - more);
  if (more > 0) named.push_back(absl::StrCat(more, " more"));
  if (named.empty()) named.emplace_back("no pod");
  if (allocation.other_consumers) named.emplace_back("another object");
  return absl::FailedPreconditionError(absl::StrCat(
      "has a QoS class and is reserved for ", absl::StrJoin(named, " and "),
      "; such a claim counts once and is for one pod: give each pod a claim of its own by a "
      "ResourceClaimTemplate, or ask for the extended resource in a container's limits"));
}

std::vector<PluginDevice> AnswerOf(const PreparedClaim& claim) {
  std::vector<PluginDevice> answer;
  for (const PreparedDevice& each : claim.devices) {
    PluginDevice device{each.allocated.request, each.allocated.device, each.allocated.share_id, {}};
    // The classes of a pod reach its sandbox by plimsolld, as CDI devices reach containers alone.
    if (each.id.level == qos::Level::kContainer) device.cdi_names = {qos::CdiName(each.id)};
    answer.push_back(std::move(device));
  }
  return answer;
}

}  // namespace

// Waits until no other call is about the claim.
class Claims::Turn {
 public:
  Turn(Claims& claims, const std::string& uid) : claims_(claims), uid_(uid) {
    const absl::MutexLock lock(&claims_.mutex_);
    const auto is_free = [this] {
      claims_.mutex_.AssertReaderHeld();
      return claims_.busy_.count(uid_) == 0;
    };
    claims_.mutex_.Await(absl::Condition(&is_free));
    claims_.busy_.insert(uid_);
  }
  ~Turn() {
    const absl::MutexLock lock(&claims_.mutex_);
    claims_.busy_.erase(uid_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Claims& claims_;
  const std::string uid_;
};

Claims::Claims(ApiClient& api, RuntimeLink& link, const DeviceBoard& board, ClaimStore& store,
               ClaimsOptions options)
    : api_(api), link_(link), board_(board), store_(store), options_(std::move(options)) {}

absl::StatusOr<std::vector<PluginDevice>> Claims::Prepare(const ClaimRef& claim) {
  PLIMSOLL_RETURN_IF_ERROR(CheckClaimRef(claim));
  const Turn turn(*this, claim.uid);
  absl::StatusOr<std::vector<PluginDevice>> answer = PrepareInTurn(claim);
  if (answer.ok()) return answer;
  return Annotate(answer.status(), Display(claim));
}

absl::StatusOr<std::vector<PluginDevice>> Claims::PrepareInTurn(const ClaimRef& claim) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<PreparedClaim> known, store_.Find(claim.uid));
  PLIMSOLL_ASSIGN_OR_RETURN(const PreparedClaim wanted, Wanted(claim, known));
  PLIMSOLL_RETURN_IF_ERROR(CheckClasses(wanted));
  PLIMSOLL_ASSIGN_OR_RETURN(qos::ClassNames classes, PodClassesOf(wanted.devices));
  if (classes.empty() && known && !known->pod_uid.empty()) {
    // It was allocated again, without the pod-level class.
    PLIMSOLL_RETURN_IF_ERROR(link_.DropPodClasses(claim.uid));
  }
  // Before plimsolld knows: a crash in between leaves a row that says whom to ask to drop them.
  if (known != wanted) PLIMSOLL_RETURN_IF_ERROR(store_.Put(wanted));
  if (!classes.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(link_.SetPodClasses({wanted.pod_uid, claim.uid, std::move(classes)}));
  }
  return AnswerOf(wanted);
}

absl::StatusOr<PreparedClaim> Claims::Wanted(const ClaimRef& claim,
                                             const std::optional<PreparedClaim>& known) {
  const bool is_known = known && !known->devices.empty();
  const absl::StatusOr<nlohmann::json> object =
      api_.Call({.path = PathOf(claim)}, is_known ? options_.short_patience : options_.patience);
  if (object.ok()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const Allocation allocation,
                              ReadAllocation(*object, claim, options_.node));
    return Resolve(claim, allocation);
  }
  if (is_known && IsAway(object.status())) return *known;
  return Annotate(object.status(), "can't be read from the API server");
}

absl::StatusOr<PreparedClaim> Claims::Resolve(const ClaimRef& claim,
                                              const Allocation& allocation) const {
  PreparedClaim prepared;
  prepared.claim = claim;
  bool has_pod_level = false;
  for (const AllocatedDevice& each : allocation.devices) {
    PLIMSOLL_ASSIGN_OR_RETURN(qos::ClassId id, board_.Find(each.device, options_.patience));
    has_pod_level |= id.level == qos::Level::kPod;
    prepared.devices.push_back({each, std::move(id)});
  }
  PLIMSOLL_ASSIGN_OR_RETURN(std::string pod_uid, OnlyPodOf(allocation));
  if (has_pod_level) prepared.pod_uid = std::move(pod_uid);
  return prepared;
}

absl::Status Claims::CheckClasses(const PreparedClaim& claim) const {
  for (const PreparedDevice& each : claim.devices) {
    PLIMSOLL_RETURN_IF_ERROR(board_.Find(each.allocated.device, options_.patience).status());
  }
  return absl::OkStatus();
}

absl::Status Claims::Unprepare(const ClaimRef& claim) {
  PLIMSOLL_RETURN_IF_ERROR(CheckClaimRef(claim));
  const Turn turn(*this, claim.uid);
  return Annotate(UnprepareInTurn(claim), Display(claim));
}

absl::Status Claims::TellAgain(const std::function<void(const std::string&)>& refused) {
  if (!must_tell_again_.exchange(false)) return absl::OkStatus();
  absl::Status told = TellLacking(refused);
  if (!told.ok()) must_tell_again_ = true;
  return told;
}

absl::Status Claims::TellLacking(const std::function<void(const std::string&)>& refused) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<PreparedClaim> claims, store_.ListOfPods());
  if (claims.empty()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<PodClasses> known, link_.ListPodClasses());
  std::set<std::string> told;
  for (const PodClasses& each : known) told.insert(each.claim_uid);
  int refusals = 0;
  std::string first;
  for (const PreparedClaim& each : claims) {
    if (told.contains(each.claim.uid)) continue;
    const absl::Status status = TellOneAgain(each.claim.uid);
    if (absl::IsUnavailable(status)) return status;
    if (status.ok() || ++refusals > 1) continue;
    first = absl::StrCat(Display(each.claim), ": ", status.message());
  }
  if (refusals > 0) {
    refused(absl::StrCat("plimsolld has lost the pod-level classes of ", refusals,
                         " prepared claims and refuses to take them again; the first is ", first));
  }
  return absl::OkStatus();
}

absl::Status Claims::TellOneAgain(const std::string& uid) {
  const Turn turn(*this, uid);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<PreparedClaim> claim, store_.Find(uid));
  if (!claim || claim->pod_uid.empty()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(qos::ClassNames classes, PodClassesOf(claim->devices));
  if (classes.empty()) return absl::OkStatus();
  return link_.SetPodClasses({claim->pod_uid, uid, std::move(classes)});
}

absl::Status Claims::UnprepareInTurn(const ClaimRef& claim) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<PreparedClaim> known, store_.Find(claim.uid));
  if (!known) {
    // The state directory may have been lost. plimsolld's answer changes nothing for kubelet.
    link_.DropPodClasses(claim.uid).IgnoreError();
    return absl::OkStatus();
  }
  if (!known->pod_uid.empty()) PLIMSOLL_RETURN_IF_ERROR(link_.DropPodClasses(claim.uid));
  return store_.Remove(claim.uid);
}

}  // namespace plimsoll::kube
