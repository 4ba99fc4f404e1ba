#include "cri/kubelet_facts.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plimsoll::cri {
namespace {

// Pods asked for at once. A node has fewer; the bound is for clients that make pods without end.
constexpr size_t kMostQuestions = 1024;

bool IsLowerHex(char c) {
  return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
}

// "6c7ca2b0-…" of an API object, or the 32 digits of a static pod's hash.
bool IsUid(absl::string_view uid) {
  if (uid.size() == 32) return absl::c_all_of(uid, IsLowerHex);
  if (uid.size() != 36) return false;
  for (size_t i = 0; i < uid.size(); ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash ? uid[i] != '-' : !IsLowerHex(uid[i])) return false;
  }
  return true;
}

// RFC 1123, in lower case, but for the length.
bool IsLabel(absl::string_view label) {
  const auto is_inner = [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
  };
  return !label.empty() && label.front() != '-' && label.back() != '-' &&
         absl::c_all_of(label, is_inner);
}

// A pod's name may be one label of that length.
bool IsSubdomain(absl::string_view name) {
  constexpr size_t kMostBytes = 253;
  return name.size() <= kMostBytes && absl::c_all_of(absl::StrSplit(name, '.'), IsLabel);
}

bool IsNamespace(absl::string_view name) {
  constexpr size_t kMostBytes = 63;
  return name.size() <= kMostBytes && IsLabel(name);
}

runtime::PodIdentity IdentityOf(const runtime::SandboxSpec& pod) {
  return {.uid = pod.uid, .name = pod.name, .pod_namespace = pod.pod_namespace};
}

// A spec that contradicts itself is no spec.
runtime::PodFacts Checked(runtime::PodFacts facts) {
  const absl::Status valid = runtime::Validate(facts.resources, "kubelet's spec of the pod");
  if (valid.ok()) return facts;
  facts.resources = runtime::PodResources();
  facts.ephemeral.clear();
  facts.has_spec = false;
  facts.missing.push_back(absl::StrCat("requests and limits: ", valid.message()));
  return facts;
}

}  // namespace

bool MayBeKubelets(const runtime::PodIdentity& pod) {
  return IsUid(pod.uid) && IsNamespace(pod.pod_namespace) && IsSubdomain(pod.name);
}

KubeletFacts::KubeletFacts(runtime::Engine* engine, FactsSource source)
    : engine_(engine), source_(std::move(source)), pool_(/*max_threads=*/1, kMostQuestions) {
  absl::MutexLock lock(&link_->mutex);
  link_->owner = this;
}

KubeletFacts::~KubeletFacts() {
  absl::MutexLock lock(&link_->mutex);
  link_->owner = nullptr;
}

std::optional<runtime::PodFacts> KubeletFacts::AskFor(const runtime::SandboxSpec& pod) {
  const runtime::PodIdentity identity = IdentityOf(pod);
  if (!source_.ask || !pod.pod_resources.empty() || !MayBeKubelets(identity)) return std::nullopt;
  FactsSource::Answer answer = source_.ask(identity);
  if (!answer.ok()) return std::nullopt;
  return Checked(*std::move(answer));
}

void KubeletFacts::AskAgain(const runtime::SandboxRecord& pod) {
  const runtime::PodIdentity identity = IdentityOf(pod.spec);
  if (!source_.ask_later || !pod.spec.pod_resources.empty() || !MayBeKubelets(identity)) return;
  {
    absl::MutexLock lock(&mutex_);
    const auto known = questions_.find(pod.id);
    if (known != questions_.end()) {
      known->second.again = true;
      return;
    }
    if (questions_.size() >= kMostQuestions) return;
    questions_[pod.id] = {identity};
  }
  Ask(pod.id, identity);
}

size_t KubeletFacts::UnderWay() const {
  absl::MutexLock lock(&mutex_);
  return questions_.size();
}

void KubeletFacts::Ask(const std::string& sandbox_id, const runtime::PodIdentity& pod) {
  source_.ask_later(pod, [link = link_, sandbox_id](FactsSource::Answer answer) {
    absl::MutexLock lock(&link->mutex);
    if (link->owner != nullptr) link->owner->OnAnswer(sandbox_id, std::move(answer));
  });
}

void KubeletFacts::OnAnswer(const std::string& sandbox_id, FactsSource::Answer answer) {
  const auto shared = std::make_shared<FactsSource::Answer>(std::move(answer));
  const bool is_taken =
      pool_.TrySchedule([this, sandbox_id, shared] { Finish(sandbox_id, std::move(*shared)); });
  if (is_taken) return;
  absl::MutexLock lock(&mutex_);
  questions_.erase(sandbox_id);
}

void KubeletFacts::Finish(const std::string& sandbox_id, FactsSource::Answer answer) {
  // The pod may be gone by now; whatever else goes wrong, the engine reports in its events.
  if (answer.ok()) engine_->TakeFacts(sandbox_id, Checked(*std::move(answer))).IgnoreError();
  const std::optional<runtime::PodIdentity> pod = End(sandbox_id);
  if (pod.has_value()) Ask(sandbox_id, *pod);
}

std::optional<runtime::PodIdentity> KubeletFacts::End(const std::string& sandbox_id) {
  absl::MutexLock lock(&mutex_);
  const auto found = questions_.find(sandbox_id);
  if (found == questions_.end()) return std::nullopt;
  if (std::exchange(found->second.again, false)) return found->second.pod;
  questions_.erase(found);
  return std::nullopt;
}

}  // namespace plimsoll::cri
