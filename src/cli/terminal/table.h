// Tables for people.
#ifndef PLIMSOLL_CLI_TERMINAL_TABLE_H_
#define PLIMSOLL_CLI_TERMINAL_TABLE_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::cli {

//   Table table({"NAME", "STATE"});
//   table.AddRow({"web", "Running"});
//   Print(table.ToString());
class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}

  // Missing cells are empty, surplus cells are dropped. Control characters are made visible.
  void AddRow(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Columns are as wide as their widest cell, with two spaces between them and no trailing space.
  // Every line ends with a newline. The header is printed without rows too.
  std::string ToString() const;
  // The same where no line is wider than `width`, or `width` is 0. Else each row as lines of title
  // and cell, wrapped to the width as far as words permit, with an empty line between rows.
  std::string ToString(size_t width) const;

 private:
  std::string ToParagraphs(size_t width) const;

  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

// Names and values, a line each, without a header: indented by two, with the values in one column.
// Control characters are made visible.
std::string AlignedPairs(const std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_TERMINAL_TABLE_H_
