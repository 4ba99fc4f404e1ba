// Tables for people.
#ifndef PLIMSOLL_CLI_TABLE_H_
#define PLIMSOLL_CLI_TABLE_H_

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

  // Missing cells are empty, surplus ones dropped. Control characters are made visible.
  void AddRow(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Columns as wide as their widest cell, two spaces between, no trailing space; every line ends
  // with a newline. The header is printed also when there are no rows.
  std::string ToString() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

// Names and their values, a line each, without a header: indented by two, the values below each
// other. Control characters are made visible.
std::string AlignedPairs(const std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_TABLE_H_
