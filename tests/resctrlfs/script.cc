#include "resctrlfs/script.h"

#include <csignal>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::resctrlfs {

void Script::RefuseNext(const std::string& verb, const std::string& path, Errno error, int skip) {
  orders_.push_back({verb, path, error, skip});
}

Errno Script::Refusal(absl::string_view verb, absl::string_view path) {
  for (auto order = orders_.begin(); order != orders_.end(); ++order) {
    if (order->verb != verb || order->path != path) continue;
    if (order->skip-- > 0) return 0;
    const Errno error = order->error;
    orders_.erase(order);
    if (error == 0) raise(SIGSTOP);
    return error;
  }
  return 0;
}

void Script::Record(absl::string_view verb, absl::string_view path, absl::string_view text,
                    Errno error) {
  std::string line = absl::StrCat(verb, " ", path);
  text = absl::StripTrailingAsciiWhitespace(text);
  if (!text.empty()) absl::StrAppend(&line, " ", text);
  if (error != 0) absl::StrAppend(&line, ": ", strerrorname_np(error));
  journal_.push_back(std::move(line));
}

}  // namespace plimsoll::resctrlfs
