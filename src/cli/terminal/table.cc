#include "cli/terminal/table.h"

#include <algorithm>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/text/printable.h"
#include "cli/terminal/wrap.h"

namespace plimsoll::cli {
namespace {

// Counts characters: UTF-8 continuation bytes take no column.
size_t Width(absl::string_view text) {
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

std::string Table::ToString(size_t width) const {
  std::string text = ToString();
  if (width == 0) return text;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (Width(line) > width) return ToParagraphs(width);
  }
  return text;
}

std::string Table::ToParagraphs(size_t width) const {
  size_t column = 0;
  for (const std::string& title : header_) column = std::max(column, Width(title) + 2);
  std::string text;
  for (const auto& row : rows_) {
    if (!text.empty()) text += '\n';
    for (size_t i = 0; i < row.size(); ++i) {
      // Wrapped with blanks in the title's place, so that its own blanks are no place for a break.
      std::string lines = Wrap(std::string(column, ' ') + row[i], width, column);
      lines.replace(0, Width(header_[i]), header_[i]);
      lines.erase(lines.find_last_not_of(' ') + 1);
      text += lines + '\n';
    }
  }
  return text;
}

std::string AlignedPairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Table table({"", ""});
  for (const auto& [name, value] : pairs) table.AddRow({"  " + name, value});
  return table.ToString().substr(1);  // without the line of the header
}

}  // namespace plimsoll::cli
