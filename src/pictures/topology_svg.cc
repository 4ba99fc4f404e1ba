#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "pictures/topology.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::pictures {
namespace {

using resources::CpuSet;
using topology::Topology;
using topology::Zone;
using topology::ZoneResource;
using topology::ZoneTree;

constexpr int kCell = 32;  // a CPU's width
constexpr int kCellHeight = 24;
constexpr int kPad = 8;
constexpr int kMargin = 20;         // around everything
constexpr int kTitle = 22;          // of a zone
constexpr int kHead = 30;           // of the picture
constexpr int kLine = 20;           // of the legend
constexpr int kLetter = 7;          // about a letter's width
constexpr int kLeast = 420;         // the picture's width
constexpr size_t kMostStripes = 4;  // of one CPU
constexpr size_t kColours = 8;      // w0 to w7 of the style sheet

// The colours differ for the colour-blind too (Okabe and Ito's), then come lighter ones.
constexpr char kStyle[] = R"svg(<style>
text { font: 12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; }
.head { font-weight: 600; }
.cpu { text-anchor: middle; }
.page { fill: #ffffff; }
.zone { fill: #57606a; fill-opacity: 0.06; stroke: #b4bdc6; }
.theirs { fill: #ffffff; }
.others { fill: #c9d0d7; }
.edge { fill: none; stroke: #57606a; }
.none { fill: none; stroke: #57606a; stroke-dasharray: 3 2; }
.w0 { fill: #e69f00; } .w1 { fill: #56b4e9; } .w2 { fill: #35b88f; } .w3 { fill: #f0e442; }
.w4 { fill: #6aa5e0; } .w5 { fill: #f08a4b; } .w6 { fill: #cc79a7; } .w7 { fill: #b2df8a; }
@media (prefers-color-scheme: dark) {
text { fill: #e6eaef; }
.cpu.used { fill: #0e1217; }
.page { fill: #0e1217; }
.zone { fill: #98a2ad; stroke: #4a545f; }
.theirs { fill: #171c22; }
.others { fill: #4a545f; }
.edge, .none { stroke: #98a2ad; }
}
</style>
)svg";

std::string Escaped(absl::string_view text) {
  std::string clean;
  for (const char c : text) {
    clean.push_back(static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c);
  }
  return absl::StrReplaceAll(clean,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string Rectangle(int x, int y, int width, int height, absl::string_view style) {
  return absl::StrCat("<rect class=\"", style, "\" x=\"", x, "\" y=\"", y, "\" width=\"", width,
                      "\" height=\"", height, "\"/>\n");
}
std::string TextElement(int x, int y, absl::string_view text, absl::string_view style = "") {
  return absl::StrCat("<text x=\"", x, "\" y=\"", y, "\"",
                      style.empty() ? "" : absl::StrCat(" class=\"", style, "\""), ">",
                      Escaped(text), "</text>\n");
}
// A viewer's tooltip.
std::string Tip(absl::string_view text) {
  return absl::StrCat("<title>", Escaped(text), "</title>\n");
}
int WidthOf(absl::string_view text) {
  return static_cast<int>(text.size()) * kLetter;
}

std::string Count(size_t count, absl::string_view one) {
  return absl::StrCat(count, " ", one, count == 1 ? "" : "s");
}

// "2 packages, 2 NUMA nodes, 8 CPUs, memory 16 GiB".
std::string Summary(const ZoneTree& tree) {
  size_t packages = 0;
  size_t nodes = 0;
  ZoneResource memory = {.name = topology::kMemory, .capacity = {}};
  for (const topology::Zone& zone : tree.topology().zones) {
    packages += zone.type == topology::kPackage ? 1 : 0;
    nodes += zone.type == topology::kNumaNode ? 1 : 0;
    for (const ZoneResource& resource : zone.resources) {
      if (resource.name == topology::kMemory) memory.capacity = memory.capacity + resource.capacity;
    }
  }
  std::string text;
  if (packages > 0) absl::StrAppend(&text, Count(packages, "package"), ", ");
  if (nodes > 0) absl::StrAppend(&text, Count(nodes, "NUMA node"), ", ");
  absl::StrAppend(&text, Count(tree.Cpus().Size(), "CPU"));
  if (!memory.capacity.IsZero()) absl::StrAppend(&text, ", memory ", AmountText(memory));
  return text;
}

// A drawing with its upper left corner at 0, 0.
struct BoxArea {
  int width = 0;
  int height = 0;
  std::string body;
};

class Picture {
 public:
  Picture(const ZoneTree& tree, const CpuSet& theirs, const std::vector<Workload>& workloads)
      : tree_(tree), theirs_(theirs), workloads_(workloads) {}

  std::string Draw() const {
    std::vector<BoxArea> tops;
    for (size_t i = 0; i < tree_.topology().zones.size(); ++i) {
      if (!tree_.Parent(i)) tops.push_back(Zone(i));
    }
    const BoxArea zones = Grid(tops);
    const BoxArea legend = Legend();
    const std::string title = absl::StrCat("Topology: ", Summary(tree_));
    const int width =
        std::max({zones.width, legend.width, WidthOf(title) * 3 / 2, kLeast}) + 2 * kMargin;
    const int height = kHead + zones.height + legend.height + 3 * kMargin;
    return absl::StrCat(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"", Escaped(title),
        "\" width=\"", width, "\" height=\"", height, "\" viewBox=\"0 0 ", width, " ", height,
        "\">\n", kStyle, Rectangle(0, 0, width, height, "page"),
        TextElement(kMargin, kMargin + 12, title, "title"), At(kMargin, kMargin + kHead, zones),
        At(kMargin, kHead + zones.height + 2 * kMargin, legend), "</svg>\n");
  }

 private:
  static std::string At(int x, int y, const BoxArea& box) {
    return absl::StrCat("<g transform=\"translate(", x, ",", y, ")\">\n", box.body, "</g>\n");
  }

  // Arranges boxes row by row, with about as many rows as columns.
  static BoxArea Grid(const std::vector<BoxArea>& boxes) {
    BoxArea grid;
    const auto columns = static_cast<size_t>(std::ceil(std::sqrt(boxes.size())));
    int x = 0;
    int y = 0;
    int row = 0;
    for (size_t i = 0; i < boxes.size(); ++i) {
      if (i % columns == 0 && i > 0) {
        y += row + kPad;
        x = row = 0;
      }
      grid.body += At(x, y, boxes[i]);
      row = std::max(row, boxes[i].height);
      grid.width = std::max(grid.width, x + boxes[i].width);
      x += boxes[i].width + kPad;
    }
    grid.height = y + row;
    return grid;
  }

  BoxArea Zone(size_t index) const {
    const topology::Zone& zone = tree_.zone(index);
    std::vector<BoxArea> parts;
    for (const uint32_t cpu : tree_.OwnCpus(index).ToVector()) parts.push_back(Cpu(cpu));
    const BoxArea cells = parts.empty() ? BoxArea() : Grid(parts);
    parts.clear();
    for (const size_t child : tree_.Children(index)) parts.push_back(Zone(child));
    const BoxArea children = parts.empty() ? BoxArea() : Grid(parts);
    const std::string title = Title(zone);
    const int gap = cells.height > 0 && children.height > 0 ? kPad : 0;
    BoxArea box;
    box.width = std::max({cells.width, children.width, WidthOf(title)}) + 2 * kPad;
    box.height = kTitle + cells.height + gap + children.height + kPad;
    box.body =
        absl::StrCat("<g>", Tip(Attributes(zone)), Rectangle(0, 0, box.width, box.height, "zone"),
                     "</g>", TextElement(kPad, kTitle - 7, title, "head"), At(kPad, kTitle, cells),
                     At(kPad, kTitle + cells.height + gap, children));
    return box;
  }
  static std::string Title(const topology::Zone& zone) {
    std::string title = zone.name;
    for (const ZoneResource& resource : zone.resources) {
      if (resource.name == topology::kCpu || resource.capacity.IsZero()) continue;
      absl::StrAppend(&title, "  ", resource.name, " ", AmountText(resource));
    }
    return title;
  }
  static std::string Attributes(const topology::Zone& zone) {
    std::string text = absl::StrCat(zone.name, ", ", zone.type);
    for (const auto& [name, value] : zone.attributes)
      absl::StrAppend(&text, "\n", name, "=", value);
    return absl::StrReplaceAll(text, {{"\n", ", "}});
  }

  BoxArea Cpu(uint32_t cpu) const {
    std::vector<size_t> users;
    for (size_t i = 0; i < workloads_.size() && users.size() < kMostStripes; ++i) {
      if (IsPinned(workloads_[i]) && workloads_[i].cpus.Contains(cpu)) users.push_back(i);
    }
    BoxArea box = {.width = kCell, .height = kCellHeight, .body = ""};
    const bool is_theirs = theirs_.Contains(cpu);
    std::string tip = absl::StrCat("CPU ", cpu, is_theirs ? "" : ", not for pods");
    for (const size_t user : users) absl::StrAppend(&tip, ", ", workloads_[user].name);
    box.body = "<g>" + Tip(tip);
    box.body += Rectangle(0, 0, kCell, kCellHeight, is_theirs ? "theirs" : "others");
    const int stripe = users.empty() ? 0 : kCell / static_cast<int>(users.size());
    for (size_t i = 0; i < users.size(); ++i) {
      box.body += Rectangle(static_cast<int>(i) * stripe, 0, stripe, kCellHeight, Colour(users[i]));
    }
    box.body += Rectangle(0, 0, kCell, kCellHeight, "edge");
    box.body += TextElement(kCell / 2, kCellHeight - 8, absl::StrCat(cpu),
                            users.empty() ? "cpu" : "cpu used");
    box.body += "</g>\n";
    return box;
  }

  BoxArea Legend() const {
    BoxArea legend;
    legend.body = TextElement(0, 12, "CPUs and their holders", "head");
    legend.height = kLine;
    const auto line = [&](absl::string_view style, const std::string& text) {
      legend.body += Rectangle(0, legend.height, 14, 14, style);
      legend.body += Rectangle(0, legend.height, 14, 14, style == "none" ? "none" : "edge");
      legend.body += TextElement(22, legend.height + 11, text);
      legend.width = std::max(legend.width, 22 + WidthOf(text));
      legend.height += kLine;
    };
    line("theirs", "for pods");
    if (!tree_.Cpus().IsSubsetOf(theirs_)) line("others", "not for pods");
    for (size_t i = 0; i < workloads_.size(); ++i) {
      const Workload& workload = workloads_[i];
      const bool pinned = IsPinned(workload);
      line(pinned ? Colour(i) : "none",
           absl::StrCat(workload.name, ": ", pinned ? workload.cpus.ToString() : "all of them",
                        workload.memory.empty() ? "" : ", memory ", workload.memory));
    }
    return legend;
  }

  bool IsPinned(const Workload& workload) const { return !theirs_.IsSubsetOf(workload.cpus); }
  static std::string Colour(size_t workload) { return absl::StrCat("w", workload % kColours); }

  const ZoneTree& tree_;
  const CpuSet& theirs_;
  const std::vector<Workload>& workloads_;
};

}  // namespace

std::string TopologySvg(const Topology& topology, const CpuSet& theirs,
                        const std::vector<Workload>& workloads) {
  const auto tree = ZoneTree::Build(topology);
  if (!tree.ok()) return "";
  return Picture(*tree, theirs, workloads).Draw();
}

}  // namespace plimsoll::pictures
