#include "cli/table.h"

#include <algorithm>

#include "base/printable.h"

namespace plimsoll::cli {
namespace {

// Counts characters: UTF-8 continuation bytes take no column.
size_t Width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(header_.size());
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::ToString() const {
  std::vector<size_t> widths;
  for (const std::string& title : header_) widths.push_back(Width(title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      line += cells[i];
      if (i + 1 < cells.size()) line.append(widths[i] - Width(cells[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  add_line(header_);
  for (const auto& row : rows_) add_line(row);
  return text;
}

std::string AlignedPairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Table table({"", ""});
  for (const auto& [name, value] : pairs) table.AddRow({"  " + name, value});
  return table.ToString().substr(1);  // without the line of the header
}

}  // namespace plimsoll::cli
