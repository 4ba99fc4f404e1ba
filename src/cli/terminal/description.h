// Text in sections of names and values, for `plimsoll describe`.
#ifndef PLIMSOLL_CLI_TERMINAL_DESCRIPTION_H_
#define PLIMSOLL_CLI_TERMINAL_DESCRIPTION_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace plimsoll::cli {

//   Description text;
//   text.Add({{"Name", "web"}, {"Node", ""}});      Name:  web
//   text.Section("Containers");                     Containers:
//   text.Indent();
//   text.Add({{"Image", "busybox"}});                 Image:  busybox
class Description {
 public:
  // Pairs of one column of values. A pair without a value is left out; control characters are made
  // visible.
  void Add(const std::vector<std::pair<std::string, std::string>>& pairs);
  // A line of its own.
  void Section(absl::string_view title);
  // Lines that are finished, a table's, at the present indent.
  void AddLines(absl::string_view lines);
  void Indent() { indent_ += 2; }
  void Outdent() { indent_ -= 2; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  size_t indent_ = 0;
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_TERMINAL_DESCRIPTION_H_
