#include "cluster_socket/pod_classes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace plimsoll::cluster {
namespace {

constexpr size_t kMostUidBytes = 128;
constexpr size_t kMostTypes = 32;
// A type may have a prefix ("vendor.io/type").
constexpr size_t kMostNameBytes = 317;
constexpr size_t kMostShownBytes = 64;

std::string Shown(const std::string& text) {
  return absl::StrCat("\"", Printable(text.substr(0, kMostShownBytes)),
                      text.size() > kMostShownBytes ? "..." : "", "\"");
}

bool IsWord(const std::string& text, size_t most_bytes, absl::string_view others) {
  if (text.empty() || text.size() > most_bytes) return false;
  for (const char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && others.find(c) == others.npos) {
      return false;
    }
  }
  return true;
}

absl::Status CheckUid(absl::string_view field, const std::string& uid) {
  if (IsWord(uid, kMostUidBytes, "-_.")) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", Shown(uid), ": it must have 1 to ",
                                                 kMostUidBytes,
                                                 " letters, digits, \"-\", \"_\" or \".\""));
}

absl::Status CheckName(absl::string_view field, const std::string& name) {
  if (IsWord(name, kMostNameBytes, "-_./")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("classes: the name of a ", field, " is ", Shown(name), ": it must have 1 to ",
                   kMostNameBytes, " letters, digits, \"-\", \"_\", \".\" or \"/\""));
}

absl::Status CheckGivenOut(const qos::Registry& registry, const std::string& type) {
  for (const qos::TypeReport& one : registry.Describe()) {
    if (one.level != qos::Level::kPod || one.name != type || !one.is_informative) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "classes: type \"", type,
        "\" only shows what follows from the pod's requests and limits: no claim can give it"));
  }
  return absl::OkStatus();
}

size_t BytesOf(const Claim& claim) {
  size_t bytes = claim.claim_uid.size() + claim.pod_uid.size();
  for (const auto& [type, name] : claim.classes) bytes += type.size() + name.size();
  return bytes;
}

}  // namespace

PodClasses::PodClasses(PodClassesOptions options) : options_(std::move(options)) {
  absl::MutexLock writing(&writing_);
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<std::unique_ptr<ClaimTable>> table =
      ClaimTable::Open(options_.directory, &claims_);
  readable_ = Annotate(table.status(), "the classes that plimsoll-kube told");
  if (table.ok()) table_ = *std::move(table);
}

absl::Status PodClasses::readable() const {
  absl::MutexLock lock(&mutex_);
  return readable_;
}

size_t PodClasses::size() const {
  absl::MutexLock lock(&mutex_);
  return claims_.by_uid.size();
}

bool PodClasses::scheduled() const {
  absl::MutexLock lock(&mutex_);
  return claims_.scheduled || !readable_.ok();
}

absl::StatusOr<qos::ClassNames> PodClasses::OfPod(const std::string& pod_uid) const {
  absl::MutexLock lock(&mutex_);
  PLIMSOLL_RETURN_IF_ERROR(readable_);
  qos::ClassNames classes;
  for (const auto& [uid, claim] : claims_.by_uid) {
    if (claim.pod_uid == pod_uid) classes.insert(claim.classes.begin(), claim.classes.end());
  }
  return classes;
}

absl::StatusOr<std::vector<Claim>> PodClasses::List() const {
  absl::MutexLock lock(&mutex_);
  PLIMSOLL_RETURN_IF_ERROR(readable_);
  std::vector<Claim> all;
  for (const auto& [uid, claim] : claims_.by_uid) all.push_back(claim);
  return all;
}

absl::Status PodClasses::Check(const Claim& claim) const {
  PLIMSOLL_RETURN_IF_ERROR(CheckUid("pod_uid", claim.pod_uid));
  PLIMSOLL_RETURN_IF_ERROR(CheckUid("claim_uid", claim.claim_uid));
  if (claim.classes.empty() || claim.classes.size() > kMostTypes) {
    return absl::InvalidArgumentError(absl::StrCat("classes has ", claim.classes.size(),
                                                   " entries: it must have 1 to ", kMostTypes));
  }
  for (const auto& [type, name] : claim.classes) {
    PLIMSOLL_RETURN_IF_ERROR(CheckName("type", type));
    PLIMSOLL_RETURN_IF_ERROR(CheckName("class", name));
  }
  if (options_.registry == nullptr) {
    return absl::FailedPreconditionError(
        "this plimsolld gives out no classes: its feature gate ClassResources is off");
  }
  for (const auto& [type, name] : claim.classes) {
    PLIMSOLL_RETURN_IF_ERROR(options_.registry->CheckKnown(
        qos::Level::kPod, absl::StrCat("pod ", claim.pod_uid), type, name));
    PLIMSOLL_RETURN_IF_ERROR(CheckGivenOut(*options_.registry, type));
  }
  return absl::OkStatus();
}

absl::Status PodClasses::CheckFits(const Claim& claim) const {
  const std::optional<qos::HeldClasses> held = options_.held_by(claim.pod_uid);
  for (const auto& [type, name] : claim.classes) {
    if (!held) break;
    const auto at = held->find(type);
    if (at != held->end() && at->second.name == name) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "pod ", claim.pod_uid, " runs without class \"", name, "\" of type \"", type, "\"",
        at == held->end() ? "" : absl::StrCat(", with class \"", at->second.name, "\""),
        ": a claim's class is set before the pod's sandbox is made"));
  }
  absl::MutexLock lock(&mutex_);
  for (const auto& [uid, other] : claims_.by_uid) {
    if (other.pod_uid != claim.pod_uid || uid == claim.claim_uid) continue;
    for (const auto& [type, name] : claim.classes) {
      const auto at = other.classes.find(type);
      if (at == other.classes.end() || at->second == name) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("claim ", claim.claim_uid, " gives pod ", claim.pod_uid, " class \"", name,
                       "\" of type \"", type, "\", and claim ", uid, " gives it class \"",
                       at->second, "\": a pod has one class of a type"));
    }
  }
  return absl::OkStatus();
}

std::optional<std::string> PodClasses::Forgotten() const {
  const int64_t limit = absl::ToUnixSeconds(options_.clock->Now() - options_.forgotten_after);
  std::vector<Claim> old;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [uid, claim] : claims_.by_uid) {
      if (claim.told_unix_seconds <= limit) old.push_back(claim);
    }
  }
  std::sort(old.begin(), old.end(), [](const Claim& a, const Claim& b) {
    return a.told_unix_seconds < b.told_unix_seconds;
  });
  for (const Claim& claim : old) {
    if (!options_.held_by(claim.pod_uid)) return claim.claim_uid;
  }
  return std::nullopt;
}

bool PodClasses::HasRoom(const Claim& claim) const {
  absl::MutexLock lock(&mutex_);
  size_t count = 1;
  size_t bytes = BytesOf(claim);
  for (const auto& [uid, other] : claims_.by_uid) {
    if (uid == claim.claim_uid) continue;
    ++count;
    bytes += BytesOf(other);
  }
  return count <= options_.most && bytes <= options_.most_bytes;
}

absl::Status PodClasses::MakeRoom(const Claim& claim) {
  while (!HasRoom(claim)) {
    const std::optional<std::string> forgotten = Forgotten();
    if (!forgotten) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "there are ", size(), " claims already, and none is forgotten: each was told less than ",
          absl::FormatDuration(options_.forgotten_after),
          " ago or its pod has a sandbox; drop claims first"));
    }
    PLIMSOLL_RETURN_IF_ERROR(table_->Remove(*forgotten));
    absl::MutexLock lock(&mutex_);
    claims_.by_uid.erase(*forgotten);
  }
  return absl::OkStatus();
}

absl::Status PodClasses::Set(Claim claim) {
  PLIMSOLL_RETURN_IF_ERROR(Check(claim));
  absl::MutexLock writing(&writing_);
  PLIMSOLL_RETURN_IF_ERROR(readable());
  PLIMSOLL_RETURN_IF_ERROR(CheckFits(claim));
  PLIMSOLL_RETURN_IF_ERROR(MakeRoom(claim));
  claim.told_unix_seconds = absl::ToUnixSeconds(options_.clock->Now());
  PLIMSOLL_RETURN_IF_ERROR(table_->Put(claim));
  absl::MutexLock lock(&mutex_);
  claims_.by_uid[claim.claim_uid] = std::move(claim);
  return absl::OkStatus();
}

absl::Status PodClasses::Drop(const std::string& claim_uid) {
  PLIMSOLL_RETURN_IF_ERROR(CheckUid("claim_uid", claim_uid));
  absl::MutexLock writing(&writing_);
  PLIMSOLL_RETURN_IF_ERROR(readable());
  PLIMSOLL_RETURN_IF_ERROR(table_->Remove(claim_uid));
  absl::MutexLock lock(&mutex_);
  claims_.by_uid.erase(claim_uid);
  return absl::OkStatus();
}

absl::Status PodClasses::SetScheduled(bool scheduled) {
  absl::MutexLock writing(&writing_);
  PLIMSOLL_RETURN_IF_ERROR(readable());
  {
    absl::MutexLock lock(&mutex_);
    if (claims_.scheduled == scheduled) return absl::OkStatus();
  }
  PLIMSOLL_RETURN_IF_ERROR(table_->SetScheduled(scheduled));
  absl::MutexLock lock(&mutex_);
  claims_.scheduled = scheduled;
  return absl::OkStatus();
}

}  // namespace plimsoll::cluster
