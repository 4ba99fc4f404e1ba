#include "cli/command/as_before.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/text.h"

namespace plimsoll::cli {
namespace {

// "container a (0123456789ab): ", a prefix of errors about QoS classes.
void ConsumeSubject(absl::string_view& why, const Updated& updated) {
  if (!absl::StartsWith(why, updated.kind + " ")) return;
  const std::string end = absl::StrCat(" (", ShortId(updated.id), "): ");
  const size_t colon = why.find(": ");
  if (colon == absl::string_view::npos || !absl::EndsWith(why.substr(0, colon + 2), end)) return;
  why.remove_prefix(colon + 2);
}

}  // namespace

absl::Status AsBefore(const absl::Status& status, const Updated& updated) {
  if (status.ok() || absl::IsUnavailable(status) || absl::IsCancelled(status)) return status;
  absl::string_view why = status.message();
  absl::ConsumePrefix(&why, absl::StrCat("update container ", updated.id, ": "));
  absl::ConsumePrefix(&why, absl::StrCat("update sandbox ", updated.id, ": "));
  absl::ConsumePrefix(&why, absl::StrCat(updated.kind, " ", updated.id, ": "));
  ConsumeSubject(why, updated);
  const std::string hint = HintOf(status);
  return WithHint(
      absl::Status(status.code(),
                   absl::StrCat(updated.kind, " ", updated.name, " is as before: ",
                                absl::StrReplaceAll(why, {{updated.id, updated.name}}))),
      hint.empty() ? "Its present values: plimsoll inspect " + ShellQuote(updated.name) : hint);
}

}  // namespace plimsoll::cli
