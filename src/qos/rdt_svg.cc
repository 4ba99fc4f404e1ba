// The picture as SVG.
#include <algorithm>
#include <array>
#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "qos/rdt_picture.h"

namespace plimsoll::qos {
namespace {

using Kind = RdtPictureRow::Kind;

constexpr int kMargin = 16;
constexpr int kRow = 22;
constexpr int kCell = 20;
constexpr int kLabel = 200;  // for names, at the left
constexpr int kValue = 170;  // for masks, at the right
constexpr int kBar = 400;    // the width of all of the memory bandwidth
constexpr int kMostWays = 32;

// Told apart also by those who don't see red and green.
constexpr std::array<const char*, 6> kPartitionColours = {"#0072b2", "#e69f00", "#009e73",
                                                          "#cc79a7", "#56b4e9", "#d55e00"};

const char* ColourOf(const RdtPictureRow& row) {
  switch (row.kind) {
    case Kind::kDevices:
      return "#b22222";
    case Kind::kNoClass:
      return "#777777";
    case Kind::kFree:
      return "#cccccc";
    default:
      return kPartitionColours[row.partition % kPartitionColours.size()];
  }
}

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string Rectangle(int x, int y, int width, const char* colour, double opacity) {
  return absl::StrFormat(
      "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" fill-opacity=\"%.2f\" "
      "stroke=\"#999\" stroke-width=\"0.5\"/>\n",
      x, y, width, kRow - 6, colour, opacity);
}

std::string Text(int x, int y, const std::string& text, bool bold = false) {
  return absl::StrFormat("<text x=\"%d\" y=\"%d\"%s>%s</text>\n", x, y,
                         bold ? " font-weight=\"bold\"" : "", Escaped(text));
}

// Where a row of bandwidth ends, of kBar.
int BarWidth(const RdtPicturePanel& panel, uint64_t value) {
  uint64_t most = panel.mbps ? 1 : 100;
  if (panel.mbps) {
    for (const RdtPictureRow& row : panel.rows) {
      // No limit would leave nothing of the others.
      if (row.value != UINT32_MAX) most = std::max(most, row.value);
    }
  }
  return static_cast<int>(std::min(value, most) * kBar / most);
}

std::string RowDrawing(const RdtPicturePanel& panel, const RdtPictureRow& row, int y) {
  const bool is_class = row.kind == Kind::kClass;
  const double opacity = is_class ? 0.55 : 1.0;
  std::string svg = Text(kMargin + (is_class ? 16 : 0), y + kRow - 8, row.label);
  const int left = kMargin + kLabel;
  if (panel.ways == 0) {
    svg += Rectangle(left, y, BarWidth(panel, row.value), ColourOf(row), opacity);
    svg += Text(left + kBar + 8, y + kRow - 8, panel.ValueText(row.value));
    return svg;
  }
  for (int way = panel.ways - 1; way >= 0; --way) {
    const bool on = ((row.value >> way) & 1) != 0;
    svg += Rectangle(left + (panel.ways - 1 - way) * kCell, y, kCell,
                     on ? ColourOf(row) : "#ffffff", on ? opacity : 1.0);
  }
  svg += Text(left + panel.ways * kCell + 8, y + kRow - 8,
              absl::StrFormat("0x%x (%d of %d)", row.value, std::popcount(row.value), panel.ways));
  return svg;
}

}  // namespace

std::string RdtSvg(const RdtCompiled& compiled, const linux::ResctrlInfo& machine) {
  std::string body;
  int y = kMargin;
  int width = kBar;
  for (const RdtPicturePanel& panel : PictureRdt(compiled, machine)) {
    body += Text(kMargin, y + kRow - 8, panel.Title(), /*bold=*/true);
    y += kRow;
    for (const RdtPictureRow& row : panel.rows) {
      body += RowDrawing(panel, row, y);
      y += kRow;
    }
    y += kRow / 2;
    width = std::max(width, std::min(panel.ways, kMostWays * 2) * kCell);
  }
  return absl::StrFormat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%1$d\" height=\"%2$d\" "
      "viewBox=\"0 0 %1$d %2$d\" font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"%1$d\" height=\"%2$d\" fill=\"#ffffff\"/>\n%3$s</svg>\n",
      2 * kMargin + kLabel + width + kValue, y + kMargin, body);
}

}  // namespace plimsoll::qos
