#include "qos/rdt/faults.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/printable.h"
#include "qos/rdt/compile.h"

namespace plimsoll::qos {

void RdtFaults::AddFault(Fault fault) {
  for (Fault& known : faults_) {
    if (known.before != fault.before || known.after != fault.after) continue;
    known.ids.insert(known.ids.end(), fault.ids.begin(), fault.ids.end());
    return;
  }
  faults_.push_back(std::move(fault));
}

void RdtFaults::Add(const absl::Status& status) {
  if (status.ok()) return;
  AddFault({status.code(), std::string(status.message()), {}, ""});
}

void RdtFaults::AddOfCache(absl::StatusCode code, absl::string_view where,
                           absl::string_view resource, uint64_t id, absl::string_view what) {
  AddFault({code, absl::StrCat(where, resource, " of "), {id}, std::string(what)});
}

absl::Status RdtFaults::status() const {
  if (faults_.empty()) return absl::OkStatus();
  const auto has = [this](absl::StatusCode code) {
    return absl::c_any_of(faults_, [code](const Fault& fault) { return fault.code == code; });
  };
  const absl::StatusCode code =
      has(absl::StatusCode::kInvalidArgument)     ? absl::StatusCode::kInvalidArgument
      : has(absl::StatusCode::kResourceExhausted) ? absl::StatusCode::kResourceExhausted
                                                  : faults_.front().code;
  std::vector<std::string> lines;
  for (const Fault& fault : faults_) {
    const std::string caches =
        fault.ids.empty()
            ? ""
            : absl::StrCat(fault.ids.size() == 1 ? "cache " : "caches ", CacheIdList(fault.ids));
    lines.push_back(Printable(absl::StrCat(fault.before, caches, fault.after)));
  }
  return absl::Status(code, absl::StrJoin(lines, "\n"));
}

}  // namespace plimsoll::qos
