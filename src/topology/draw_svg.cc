#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "topology/draw.h"
#include "topology/zone_tree.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;

constexpr int kCell = 26;  // a CPU's width
constexpr int kCellHeight = 20;
constexpr int kPad = 6;
constexpr int kTitle = 16;
constexpr int kLetter = 6;          // about a letter's width
constexpr size_t kMostStripes = 4;  // of one CPU

// Told apart by those who see colours differently too (Okabe and Ito's), then lighter ones.
constexpr std::array<const char*, 8> kColours = {"#e69f00", "#56b4e9", "#009e73", "#f0e442",
                                                 "#0072b2", "#d55e00", "#cc79a7", "#b2df8a"};

std::string Escaped(absl::string_view text) {
  std::string clean;
  for (const char c : text) {
    clean.push_back(static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c);
  }
  return absl::StrReplaceAll(clean,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string Rectangle(int x, int y, int width, int height, absl::string_view fill,
                      absl::string_view stroke) {
  return absl::StrCat("<rect x=\"", x, "\" y=\"", y, "\" width=\"", width, "\" height=\"", height,
                      "\" fill=\"", fill, "\" stroke=\"", stroke, "\"/>\n");
}
std::string Text(int x, int y, absl::string_view text) {
  return absl::StrCat("<text x=\"", x, "\" y=\"", y, "\">", Escaped(text), "</text>\n");
}

// Drawn with its upper left corner at 0, 0.
struct Box {
  int width = 0;
  int height = 0;
  std::string body;
};

class Picture {
 public:
  Picture(const ZoneTree& tree, const CpuSet& theirs, const std::vector<Workload>& workloads)
      : tree_(tree), theirs_(theirs), workloads_(workloads) {}

  std::string Draw() const {
    std::vector<Box> tops;
    for (size_t i = 0; i < tree_.topology().zones.size(); ++i) {
      if (!tree_.Parent(i)) tops.push_back(Zone(i));
    }
    const Box zones = Grid(tops);
    const Box legend = Legend();
    const int width = std::max(zones.width, legend.width) + 2 * kPad;
    const int height = zones.height + legend.height + 3 * kPad;
    return absl::StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"",
                        height, "\" font-family=\"sans-serif\" font-size=\"10\">\n",
                        Rectangle(0, 0, width, height, "white", "none"), At(kPad, kPad, zones),
                        At(kPad, zones.height + 2 * kPad, legend), "</svg>\n");
  }

 private:
  static std::string At(int x, int y, const Box& box) {
    return absl::StrCat("<g transform=\"translate(", x, ",", y, ")\">\n", box.body, "</g>\n");
  }

  // Row by row, about as high as wide.
  static Box Grid(const std::vector<Box>& boxes) {
    Box grid;
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

  Box Zone(size_t index) const {
    const topology::Zone& zone = tree_.zone(index);
    std::vector<Box> parts;
    for (const uint32_t cpu : tree_.OwnCpus(index).ToVector()) parts.push_back(Cpu(cpu));
    const Box cells = parts.empty() ? Box() : Grid(parts);
    parts.clear();
    for (const size_t child : tree_.Children(index)) parts.push_back(Zone(child));
    const Box children = parts.empty() ? Box() : Grid(parts);
    const std::string title = Title(zone);
    const int gap = cells.height > 0 && children.height > 0 ? kPad : 0;
    Box box;
    box.width = std::max({cells.width, children.width, static_cast<int>(title.size()) * kLetter}) +
                2 * kPad;
    box.height = kTitle + cells.height + gap + children.height + kPad;
    box.body = absl::StrCat(Rectangle(0, 0, box.width, box.height, "none", "#444444"),
                            Text(kPad, kTitle - 5, title), At(kPad, kTitle, cells),
                            At(kPad, kTitle + cells.height + gap, children));
    return box;
  }
  static std::string Title(const topology::Zone& zone) {
    std::string title = zone.name;
    for (const ZoneResource& resource : zone.resources) {
      if (resource.name == kCpu || resource.capacity.IsZero()) continue;
      absl::StrAppend(&title, "  ", resource.name, " ", resource.capacity.text());
    }
    return title;
  }

  Box Cpu(uint32_t cpu) const {
    std::vector<size_t> users;
    for (size_t i = 0; i < workloads_.size() && users.size() < kMostStripes; ++i) {
      if (IsPinned(workloads_[i]) && workloads_[i].cpus.Contains(cpu)) users.push_back(i);
    }
    Box box = {.width = kCell, .height = kCellHeight, .body = ""};
    const bool is_theirs = theirs_.Contains(cpu);
    box.body = Rectangle(0, 0, kCell, kCellHeight, is_theirs ? "white" : "#cccccc", "none");
    const int stripe = users.empty() ? 0 : kCell / static_cast<int>(users.size());
    for (size_t i = 0; i < users.size(); ++i) {
      box.body +=
          Rectangle(static_cast<int>(i) * stripe, 0, stripe, kCellHeight, Colour(users[i]), "none");
    }
    box.body += Rectangle(0, 0, kCell, kCellHeight, "none", is_theirs ? "#222222" : "#aaaaaa");
    box.body += Text(4, 14, absl::StrCat(cpu));
    return box;
  }

  Box Legend() const {
    Box legend;
    const auto line = [&](absl::string_view colour, const std::string& text) {
      legend.body += Rectangle(0, legend.height, 12, 12, colour, "#444444");
      legend.body += Text(18, legend.height + 10, text);
      legend.width = std::max(legend.width, 18 + static_cast<int>(text.size()) * kLetter);
      legend.height += 16;
    };
    line("white", "pods'");
    if (!tree_.Cpus().IsSubsetOf(theirs_)) line("#cccccc", "not pods'");
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
  static const char* Colour(size_t workload) { return kColours[workload % kColours.size()]; }

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

}  // namespace plimsoll::topology
