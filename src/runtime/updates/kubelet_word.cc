#include "runtime/updates/kubelet_word.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

// Whether the word is about such a pod, and now.
bool TakesWord(const SandboxRecord& record) {
  return record.state == SandboxState::kReady && record.spec.pod_resources.empty();
}

// The answer, with the word before where one of the two sockets was silent this time.
PodFacts Together(const std::optional<PodFacts>& had, PodFacts facts) {
  if (!had.has_value() || (facts.has_spec && facts.has_grants)) return facts;
  if (had->has_spec && had->has_grants) {
    facts.missing = had->missing;
  } else if (had->has_spec != facts.has_spec) {
    // Each lacks the other's half.
    std::erase_if(facts.missing, [&had](const std::string& missing) {
      return !absl::c_linear_search(had->missing, missing);
    });
  }
  if (!facts.has_spec && had->has_spec) {
    facts.resources = had->resources;
    facts.ephemeral = had->ephemeral;
    facts.has_spec = true;
  }
  if (!facts.has_grants && had->has_grants) {
    facts.grants = had->grants;
    facts.has_grants = true;
  }
  return facts;
}

void TellOnce(EventLog& events, Sandbox& sandbox, const std::string& refusal) {
  {
    absl::MutexLock lock(&sandbox.mutex);
    // No container has such a name.
    std::string& told = sandbox.contradictions["/"];
    if (std::exchange(told, refusal) == refusal) return;
  }
  events.Add(EventType::kWarning, sandbox.id, "", refusal);
}

}  // namespace

absl::Status KubeletWord::Take(absl::string_view sandbox_id, PodFacts facts) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox,
                            objects_->FindSandbox(sandbox_id));
  SandboxRecord with_facts = sandbox->Snapshot();
  if (!TakesWord(with_facts)) return absl::OkStatus();
  const SandboxSpec had = with_facts.spec;
  const bool tells_spec = facts.has_spec;
  facts = Together(had.facts, std::move(facts));
  if (had.facts != facts) {
    with_facts.spec.facts = facts;
    const absl::Status size = handlers_->CheckSize(with_facts);
    if (!size.ok()) {
      TellOnce(*options_.events, *sandbox,
               absl::StrCat("kubelet's word about the pod is not used: ", size.message()));
      return absl::FailedPreconditionError(size.message());
    }
    absl::MutexLock lock(&sandbox->mutex);
    if (!TakesWord(sandbox->record)) return absl::OkStatus();
    SandboxRecord record = sandbox->record;
    record.spec.facts = std::move(facts);
    PLIMSOLL_RETURN_IF_ERROR(options_.store->PutSandbox(record));
    sandbox->record = std::move(record);
  }
  pictures_->Show(sandbox->id);
  // A spec of before this question may be older than Linux's settings.
  if (tells_spec) pictures_->TellContradictionsWithKubelet(*sandbox, had);
  return absl::OkStatus();
}

}  // namespace plimsoll::runtime
