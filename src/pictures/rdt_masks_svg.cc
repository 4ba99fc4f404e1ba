// The RDT picture as SVG: a card for each panel, with colours for a light and a dark page.
#include <algorithm>
#include <bit>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "pictures/rdt_masks.h"

namespace plimsoll::pictures {
namespace {

using RowKind = RdtPictureRow::Kind;

constexpr int kMaskMargin = 20;  // around everything, and between cards
constexpr int kPadding = 18;     // in a card
constexpr int kMaskTitle = 28;   // from a card's first line to the axis
constexpr int kAxis = 18;        // from the axis to the rows
constexpr int kRow = 26;         // of a partition
constexpr int kClassRow = 22;    // of a class
constexpr int kBar = 16;         // a partition's bar height
constexpr int kClassBar = 10;    // a class's bar height
constexpr int kIndent = 16;      // of a class's name
constexpr int kGap = 14;         // between columns
constexpr int kStrip = 520;      // about the width of the ways, or of all bandwidth
constexpr int kMaskColours = 6;  // classes p0 to p5 of the style sheet
constexpr size_t kLongest = 40;  // characters of a name

// The colours also differ for people who don't see red and green.
constexpr char kMaskStyle[] = R"svg(<style>
text { font: 13px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1f2328; }
.title { font-size: 14px; font-weight: 600; }
.axis { font-size: 10px; fill: #6b7480; text-anchor: middle; }
.class { fill: #4b535d; }
.value { font: 12px ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace; }
.count { font-size: 12px; fill: #6b7480; }
.page { fill: #ffffff; }
.card { fill: #f6f8fa; stroke: #d5dbe1; }
.track { fill: #e6eaee; }
.cuts { stroke: #f6f8fa; stroke-width: 1.5; fill: none; }
.p0 { fill: #0072b2; } .p1 { fill: #e69f00; } .p2 { fill: #009e73; }
.p3 { fill: #c2578f; } .p4 { fill: #3f9fd6; } .p5 { fill: #d55e00; }
.all { fill: #8a939d; }
.back { fill: #e6eaee; } .free { stroke: #b4bdc6; } .devices { stroke: #c62828; }
.free, .devices { stroke-width: 3; }
@media (prefers-color-scheme: dark) {
text { fill: #e6eaef; }
.axis, .count { fill: #98a2ad; }
.class { fill: #c3cad2; }
.page { fill: #0e1217; }
.card { fill: #171c22; stroke: #2d343c; }
.track { fill: #262d35; }
.cuts { stroke: #171c22; }
.p0 { fill: #3f9ee0; } .p1 { fill: #f0b440; } .p2 { fill: #2fbf92; }
.p3 { fill: #e08dbb; } .p4 { fill: #8ccdf5; } .p5 { fill: #f07f38; }
.all { fill: #77828e; }
.back { fill: #262d35; } .free { stroke: #4a545f; } .devices { stroke: #ef6060; }
}
</style>
<defs>
<pattern id="free" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect class="back" width="7" height="7"/><path class="free" d="M0 0V7"/></pattern>
<pattern id="devices" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect class="back" width="7" height="7"/><path class="devices" d="M0 0V7"/></pattern>
</defs>
)svg";

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// Cuts between characters.
std::string Shortened(const std::string& label) {
  if (label.size() <= kLongest) return label;
  size_t end = kLongest - 1;
  while (end > 0 && (static_cast<unsigned char>(label[end]) & 0xc0) == 0x80) --end;
  return label.substr(0, end) + "…";
}

std::string Text(int x, int y, const char* style, const std::string& text) {
  return absl::StrFormat("<text x=\"%d\" y=\"%d\"%s>%s</text>\n", x, y,
                         *style == '\0' ? "" : absl::StrCat(" class=\"", style, "\""),
                         Escaped(text));
}

// The fill of a bar.
std::string FillOf(const RdtPictureRow& row) {
  switch (row.kind) {
    case RowKind::kDevices:
      return "fill=\"url(#devices)\"";
    case RowKind::kFree:
      return "fill=\"url(#free)\"";
    case RowKind::kNoClass:
      return "class=\"all\"";
    case RowKind::kPartition:
      return absl::StrCat("class=\"p", row.partition % kMaskColours, "\"");
    case RowKind::kClass:
      return absl::StrCat("class=\"p", row.partition % kMaskColours, "\" fill-opacity=\"0.6\"");
  }
  return "";
}

std::string Bar(int x, int y, int width, int height, const std::string& fill) {
  return absl::StrFormat("<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" %s/>\n", x, y,
                         width, height, fill);
}

// The columns' positions, the same in all panels so that they can be compared.
struct Columns {
  int label = kMaskMargin + kPadding;
  int strip = 0;
  int value = 0;
  int count = 0;
  int right = 0;  // of the cards
};

int CellWidth(const RdtPicturePanel& panel) {
  return std::clamp(kStrip / std::max(panel.ways, 1), 8, 26);
}

int StripWidth(const RdtPicturePanel& panel) {
  return panel.ways == 0 ? kStrip : panel.ways * CellWidth(panel);
}

std::string CountText(const RdtPicturePanel& panel, uint64_t mask) {
  return absl::StrCat(std::popcount(mask), " of ", panel.ways);
}

Columns ColumnsOf(const std::vector<RdtPicturePanel>& panels) {
  size_t label = 8;
  size_t value = 4;
  size_t count = 0;
  int strip = 0;
  for (const RdtPicturePanel& panel : panels) {
    strip = std::max(strip, StripWidth(panel));
    for (const RdtPictureRow& row : panel.rows) {
      label = std::max(label, std::min(row.label.size(), kLongest) +
                                  (row.kind == RowKind::kClass ? kIndent / 7 : 0));
      value = std::max(value, panel.ValueText(row.value).size());
      if (panel.ways > 0) count = std::max(count, CountText(panel, row.value).size());
    }
  }
  Columns columns;
  columns.strip = columns.label + static_cast<int>(label) * 8 + kGap;
  columns.value = columns.strip + strip + kGap;
  columns.count = columns.value + static_cast<int>(value) * 8 + kGap / 2;
  columns.right = columns.count + static_cast<int>(count) * 7 + kPadding;
  return columns;
}

// The value at the strip's right end. "No limit" would leave no room for the others, so it is
// ignored.
uint64_t MostOf(const RdtPicturePanel& panel) {
  if (!panel.mbps) return 100;
  uint64_t most = 1;
  for (const RdtPictureRow& row : panel.rows) {
    if (row.value != std::numeric_limits<uint32_t>::max()) most = std::max(most, row.value);
  }
  return most;
}

// Labels the ways, or the bandwidth.
std::string Axis(const RdtPicturePanel& panel, const Columns& columns, int y) {
  std::string svg;
  if (panel.ways == 0) {
    for (int quarter = 0; quarter <= 4; ++quarter) {
      const uint64_t value = MostOf(panel) * static_cast<uint64_t>(quarter) / 4;
      svg += Text(columns.strip + kStrip * quarter / 4, y, "axis",
                  panel.mbps ? absl::StrCat(value) : absl::StrCat(value, "%"));
    }
    return svg;
  }
  const int cell = CellWidth(panel);
  for (int way = panel.ways - 1; way >= 0; --way) {
    if (cell < 16 && way % 4 != 0 && way != panel.ways - 1) continue;
    svg += Text(columns.strip + (panel.ways - 1 - way) * cell + cell / 2, y, "axis",
                absl::StrCat(way));
  }
  return svg;
}

// Draws the ways of a row: each run of neighbours is one bar, with cuts between ways.
std::string Ways(const RdtPicturePanel& panel, const RdtPictureRow& row, int x, int y, int height) {
  const int cell = CellWidth(panel);
  std::string svg;
  std::string cuts;
  for (int way = panel.ways - 1; way >= 0; --way) {
    if (way > 0)
      absl::StrAppendFormat(&cuts, "M%d %dv%d", x + (panel.ways - way) * cell, y, height);
    const auto has = [&](int at) { return at >= 0 && ((row.value >> at) & 1) != 0; };
    if (!has(way) || (way + 1 < panel.ways && has(way + 1))) continue;
    int last = way;
    while (has(last - 1)) --last;
    svg += Bar(x + (panel.ways - 1 - way) * cell, y, (way - last + 1) * cell, height, FillOf(row));
  }
  if (!cuts.empty()) absl::StrAppend(&svg, "<path class=\"cuts\" d=\"", cuts, "\"/>\n");
  return svg;
}

std::string RowDrawing(const RdtPicturePanel& panel, const RdtPictureRow& row,
                       const Columns& columns, int y) {
  const bool is_class = row.kind == RowKind::kClass;
  const int height = is_class ? kClassBar : kBar;
  const int top = y + ((is_class ? kClassRow : kRow) - height) / 2;
  const int base = top + height / 2 + 5;  // of the text
  const std::string value = panel.ValueText(row.value);
  std::string svg = absl::StrCat(
      "<g><title>", Escaped(row.label), ": ", value,
      panel.ways > 0 ? absl::StrCat(", ", CountText(panel, row.value), " ways") : "", "</title>\n");
  svg += Text(columns.label + (is_class ? kIndent : 0), base, is_class ? "class" : "",
              Shortened(row.label));
  svg += Bar(columns.strip, top, StripWidth(panel), height, "class=\"track\"");
  if (panel.ways > 0) {
    svg += Ways(panel, row, columns.strip, top, height);
    svg += Text(columns.value, base, "value", value);
    svg += Text(columns.count, base, "count", CountText(panel, row.value));
  } else {
    const uint64_t most = MostOf(panel);
    const int width = static_cast<int>(std::min(row.value, most) * kStrip / most);
    if (width > 0) svg += Bar(columns.strip, top, width, height, FillOf(row));
    svg += Text(columns.value, base, "value", value);
  }
  return svg + "</g>\n";
}

int HeightOf(const RdtPicturePanel& panel) {
  int height = kMaskTitle + kAxis + kPadding;
  for (const RdtPictureRow& row : panel.rows) {
    height += row.kind == RowKind::kClass ? kClassRow : kRow;
  }
  return height;
}

std::string Card(const RdtPicturePanel& panel, const Columns& columns, int y) {
  std::string svg = absl::StrFormat(
      "<rect class=\"card\" x=\"%d.5\" y=\"%d.5\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n",
      kMaskMargin, y, columns.right - kMaskMargin, HeightOf(panel));
  svg += Text(columns.label, y + kMaskTitle - 2, "title", panel.Title());
  y += kMaskTitle + kAxis;
  svg += Axis(panel, columns, y - 2);
  for (const RdtPictureRow& row : panel.rows) {
    svg += RowDrawing(panel, row, columns, y);
    y += row.kind == RowKind::kClass ? kClassRow : kRow;
  }
  return svg;
}

}  // namespace

std::string RdtSvg(const qos::RdtCompiled& compiled, const linux::ResctrlInfo& machine) {
  const std::vector<RdtPicturePanel> panels = PictureRdt(compiled, machine);
  const Columns columns = ColumnsOf(panels);
  std::string body;
  int y = kMaskMargin;
  for (const RdtPicturePanel& panel : panels) {
    body += Card(panel, columns, y);
    y += HeightOf(panel) + kMaskMargin;
  }
  if (panels.empty()) {
    body += Text(kMaskMargin, y + kMaskTitle - 8, "", "Nothing is restricted on the machine.");
    y += kMaskTitle + kMaskMargin;
  }
  return absl::StrFormat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"Shares of cache ways "
      "and memory bandwidth\" width=\"%1$d\" height=\"%2$d\" viewBox=\"0 0 %1$d %2$d\">\n"
      "%3$s<rect class=\"page\" width=\"%1$d\" height=\"%2$d\"/>\n"
      "%4$s</svg>\n",
      columns.right + kMaskMargin, y, kMaskStyle, body);
}

}  // namespace plimsoll::pictures
